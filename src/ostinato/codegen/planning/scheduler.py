"""Scheduling: tiled statements become proved trees of loops."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from ostinato.codegen.ir.extents import Sizes
from ostinato.codegen.ir.system import Statement
from ostinato.codegen.ir.tree import Tree
from ostinato.codegen.masks.early_exits import ends_rows
from ostinato.codegen.memory.coalesce import updates_last
from ostinato.codegen.scheduling.align import aligned
from ostinato.codegen.scheduling.demanded_points import computed_where_read, copied_where_read
from ostinato.codegen.scheduling.deps import Dep, Unit, dependences
from ostinato.codegen.scheduling.epilogues import join_epilogues, units_of
from ostinato.codegen.scheduling.legality import check_schedule
from ostinato.codegen.scheduling.regions import Scheduler, Unordered, cycle_error
from ostinato.codegen.systems.delay import delay, untwin
from ostinato.codegen.systems.layout import lay_out
from ostinato.codegen.systems.masked_sums import masked_sums
from ostinato.codegen.systems.matmul_form import as_folds, find_products
from ostinato.codegen.systems.partial_folds import split_folds
from ostinato.codegen.systems.prepare import needed, prepare
from ostinato.codegen.systems.split import split_cases, with_cases
from ostinato.codegen.systems.tile import Tiled
from ostinato.codegen.systems.value_numbering import merged, same_in_loops
from ostinato.codegen.target import Target
from ostinato.pdg.errors import CycleError
from ostinato.pdg.index import Dim
from ostinato.pdg.pass_record import ALL_PASSES, Passes


@dataclass(frozen=True)
class Scheduled:
    """Statements in their final form, the trees that compute them, and what these respect.

    ``placed`` are the statements as they are stored, with the axes named as in the system. ``same``
    gives for statements that are not computed the equal one that is. ``wishes`` are dims over whose
    steps work would be spread (see `ostinato.codegen.scheduling.hoist`).
    """

    statements: dict[str, Statement]
    placed: dict[str, Statement]
    units: list[Unit]
    deps: list[Dep]
    trees: tuple[Tree, ...]
    same: Mapping[str, str] = field(default_factory=dict[str, str])
    wishes: tuple[Dim, ...] = ()


def schedule(
    tiled: Tiled,
    outputs: frozenset[str],
    hints: Mapping[str, int],
    target: Target,
    passes: Passes = ALL_PASSES,
    exact: bool = False,
) -> Scheduled:
    """Order all statements, and prove the order; of equal ones in the same loops one is left.

    Only then work leaves loops over steps: before, what is computed twice would. Sums of ``exact``
    products add their terms one after the other.

    Errors: CycleError if statements depend on each other so that no order computes them.
    """
    search = _Search(tiled, outputs, hints, target, passes, exact)
    spreads = "hoisted steps" not in passes.without
    statements = passes.made("normal form", prepare(tiled.statements, passes))
    found = search.ordered(statements)
    same = passes.optional("value numbering", {}, same_in_loops, statements, found.trees, outputs)
    if same:
        with suppress(CycleError):
            fewer = search.ordered(merged(statements, same, outputs), spreads)
            found = replace(fewer, same=same)
    elif found.wishes and spreads:
        found = search.ordered(statements, spreads)
    if found.wishes and spreads:
        passes.made("hoisted steps", found)
    check_schedule(found.trees, found.units, found.deps)
    return passes.made("proof of order", found)


@dataclass
class _Tried:
    """The statements that were taken apart, restricted, or made: each change is tried once."""

    apart: frozenset[str] = frozenset()
    restricted: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Search:
    """The search for an order of a tiled program."""

    tiled: Tiled
    outputs: frozenset[str]
    hints: Mapping[str, int]
    target: Target
    passes: Passes
    exact: bool

    def ordered(self, statements: dict[str, Statement], spreads: bool = False) -> Scheduled:
        """Order statements.

        Where a component has no order, values move to the steps that read them, cases are taken
        apart, and values are computed at demanded points only.
        """
        tried = _Tried()
        while True:
            try:
                return self.scheduled(statements, spreads)
            except Unordered as found:
                statements = self.apart(statements, found, tried)

    def apart(
        self, statements: dict[str, Statement], found: Unordered, tried: _Tried
    ) -> dict[str, Statement]:
        """Equal statements of which more may have an order.

        Errors: CycleError if there are none.
        """
        outputs, made, spans = self.outputs, self.passes.made, self.tiled.spans
        renamed = untwin(statements, found.names - outputs)
        if renamed is not None:
            return made("renamed dimensions", renamed)
        moved = delay(statements, found.names, held=outputs)
        if moved != statements:
            return made("delayed values", needed(moved, outputs))
        cases = with_cases(statements, found.names - tried.apart, found.names)
        if cases:
            apart = split_cases(statements, cases)
            tried.apart |= cases.keys() | (apart.keys() - statements.keys())
            return made("cases apart", needed(apart, outputs))
        names = (found.names & statements.keys()) - outputs - tried.restricted
        tried.restricted |= found.names
        fewer = computed_where_read(statements, names, outputs, spans) if names else statements
        if fewer == statements:
            fewer, parts = copied_where_read(statements, found.names, tried.parts, spans)
            tried.parts |= parts
        if fewer == statements:
            raise cycle_error(found) from None
        return made("demanded points", needed(fewer, outputs))

    def scheduled(self, prepared: Mapping[str, Statement], spreads: bool) -> Scheduled:
        """Order statements in the form that they have.

        Errors: Unordered.
        """
        run, tiled, target = self.passes, self.tiled, self.target
        split = run.optional("layout", dict(prepared), lay_out, prepared, target, self.outputs)
        folds = split_folds(split, tiled.tiles, run, target.spread > 1)
        split = run.made("partial folds", folds)
        sizes = Sizes(split, self.hints)
        split, products = run.optional(
            "products", (as_folds(split), {}), find_products, split, sizes, run, self.exact
        )
        split = run.optional(
            "masked sums", split, masked_sums, split, products, self.outputs, target
        )
        alone = (split, products, units_of(split, products))
        statements, products, units = run.optional(
            "epilogues", alone, join_epilogues, split, products, target
        )
        deps = run.made("dependences", dependences(units, tiled.spans))
        sizes = Sizes(statements, self.hints, tiled.spans, products)
        ends = partial(ends_rows, statements)
        loops = tiled.spans, tiled.tiles, sizes, target, ends, tiled.points, tiled.outermost
        scheduler = Scheduler(*loops, spreads)
        trees = run.made("loops", scheduler.trees(units, deps))
        trees = run.optional("late updates", trees, updates_last, trees, deps)
        trees, statements = run.made("names of axes", aligned(trees, statements))
        return Scheduled(statements, split, units, deps, trees, wishes=tuple(scheduler.wishes))

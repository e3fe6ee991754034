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
from ostinato.codegen.scheduling.deps import Dep, Unit, dependences
from ostinato.codegen.scheduling.epilogues import join_epilogues
from ostinato.codegen.scheduling.legality import check_schedule
from ostinato.codegen.scheduling.regions import Scheduler, Unordered, cycle_error
from ostinato.codegen.systems.delay import delay
from ostinato.codegen.systems.layout import lay_out
from ostinato.codegen.systems.masked_sums import masked_sums
from ostinato.codegen.systems.matmul_form import find_products
from ostinato.codegen.systems.partial_folds import split_folds
from ostinato.codegen.systems.prepare import needed, prepare
from ostinato.codegen.systems.rename_extra_dims import untwin
from ostinato.codegen.systems.split import split_cases
from ostinato.codegen.systems.tile import Tiled
from ostinato.codegen.systems.value_numbering import merged, same_in_loops
from ostinato.codegen.target import Target
from ostinato.pdg.errors import CycleError
from ostinato.pdg.index import Dim


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
    tiled: Tiled, outputs: frozenset[str], hints: Mapping[str, int], target: Target
) -> Scheduled:
    """Order all statements, and prove the order; of equal ones in the same loops one is left.

    Only then work leaves loops over steps: before, what is computed twice would.

    Errors: CycleError if statements depend on each other so that no order computes them.
    """
    statements = prepare(tiled.statements)
    found = _ordered(tiled, statements, outputs, hints, target)
    same = same_in_loops(statements, found.trees, outputs)
    if same:
        with suppress(CycleError):
            fewer = _ordered(tiled, merged(statements, same, outputs), outputs, hints, target, True)
            found = replace(fewer, same=same)
    elif found.wishes:
        found = _ordered(tiled, statements, outputs, hints, target, True)
    check_schedule(found.trees, found.units, found.deps)
    return found


def _ordered(
    tiled: Tiled,
    statements: dict[str, Statement],
    outputs: frozenset[str],
    hints: Mapping[str, int],
    target: Target,
    spreads: bool = False,
) -> Scheduled:
    """Order statements.

    Where a component has no order, values move to the steps that read them, and cases are taken
    apart.
    """
    assembled: frozenset[str] = frozenset()
    while True:
        try:
            return _scheduled(tiled, statements, outputs, hints, target, spreads)
        except Unordered as found:
            renamed = untwin(statements, found.names - outputs)
            if renamed is not None:
                statements = renamed
                continue
            moved = delay(statements, found.names, held=outputs)
            if moved == statements:
                whole = found.names - assembled
                assembled |= whole
                apart = split_cases(statements, whole)
                if apart is None:
                    raise cycle_error(found) from None
                moved = apart
            statements = needed(moved, outputs)


def _scheduled(
    tiled: Tiled,
    prepared: Mapping[str, Statement],
    outputs: frozenset[str],
    hints: Mapping[str, int],
    target: Target,
    spreads: bool,
) -> Scheduled:
    split = split_folds(lay_out(prepared, target), tiled.tiles)
    split, products = find_products(split, Sizes(split, hints))
    split = masked_sums(split, products, outputs, target)
    statements, products, units = join_epilogues(split, products, target)
    deps = dependences(units, tiled.spans)
    sizes = Sizes(statements, hints, tiled.spans, products)
    ends_early = partial(ends_rows, statements)
    scheduler = Scheduler(tiled.spans, tiled.tiles, sizes, target, ends_early, spreads)
    trees = updates_last(scheduler.trees(units, deps), deps)
    trees, statements = aligned(trees, statements)
    return Scheduled(statements, split, units, deps, trees, wishes=tuple(scheduler.wishes))

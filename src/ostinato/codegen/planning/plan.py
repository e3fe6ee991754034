"""From a system of equations to loops, kernels, a driver and a place for every tensor."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

from ostinato.codegen.ir.changed_elements import Test
from ostinato.codegen.ir.extents import Spans
from ostinato.codegen.ir.system import Load, Statement, System
from ostinato.codegen.ir.tree import Kernel, Loop, sites
from ostinato.codegen.ir.values import value_symbols
from ostinato.codegen.masks.dead_rows import dead_rows
from ostinato.codegen.masks.early_exits import End, early_ends
from ostinato.codegen.masks.first_products import beginnings
from ostinato.codegen.masks.guards import guards
from ostinato.codegen.masks.kept_elements import Clause, kept_elements
from ostinato.codegen.memory.apart import steps_apart
from ostinato.codegen.memory.coalesce import Coalesced, coalesced
from ostinato.codegen.memory.reuse import check_storage, prover, tightened
from ostinato.codegen.memory.storage import Storage, input_storage, place_tensors, scratches
from ostinato.codegen.planning.kernel_partition import drive
from ostinato.codegen.planning.liveness import lifetimes, whole_lives
from ostinato.codegen.planning.planned import Plan as Plan
from ostinato.codegen.planning.scheduler import Scheduled, schedule
from ostinato.codegen.scheduling.legality import check_schedule
from ostinato.codegen.systems.axes import whole_operands
from ostinato.codegen.systems.carried import carried_dims
from ostinato.codegen.systems.entries_in_turn import InTurn, entries_in_turn, few_changed
from ostinato.codegen.systems.partial_folds import with_fills
from ostinato.codegen.systems.parts_apart import parts_apart
from ostinato.codegen.systems.prepare import pad_outputs, without_single_steps
from ostinato.codegen.systems.rows_at_points import rows_at_points
from ostinato.codegen.systems.tile import Tiled, tile
from ostinato.codegen.systems.tile_choice import in_steps, without_lone_points
from ostinato.codegen.systems.tiled_rows import long_rows
from ostinato.codegen.target import Target
from ostinato.pdg.condition import ALWAYS, Cond, every
from ostinato.pdg.index import Dim, Expr, Extent, expr, symbols
from ostinato.pdg.pass_record import ALL_PASSES, Passes
from ostinato.runtime.machine_code.ports import Field


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What the planner may choose.

    ``target`` is the kind of machine. ``widths`` maps a dim's name to its tile width where that dim
    is tiled; ``workers`` is the number of threads that tiles should suffice for. ``exact`` lets no
    operation round otherwise than it is written: no product and sum are one operation, no zero
    changes its sign. ``passes`` says how the passes are run. With ``verify`` isl checks
    the order and the storage of every value, also where the loops alone show them. Every step of
    the dim ``streamed`` completes a record while later ones are computed, where that can be.
    """

    target: Target
    widths: Mapping[str, int] = field(default_factory=dict[str, int])
    workers: int = 2
    exact: bool = False
    passes: Passes = ALL_PASSES
    verify: bool = False
    streamed: str = ""


def plan(system: System, options: PlanOptions) -> Plan:
    """Schedule a system, prove the schedule, and decide where its values live.

    Errors: CycleError if statements depend on each other so that no order computes them.
    """
    run, target, exact = options.passes, options.target, options.exact
    system = _prepared(system, target, run)
    system = run.optional("few changed", system, few_changed, system, exact)
    found = run.optional("entries in turn", system, entries_in_turn, system, target, exact)
    made = _planned(found, options)
    owners = {name: s.owner for name, s in made.storage.items()}
    groups = found.shared if isinstance(found, InTurn) else ()
    kept = [names for names in groups if len({owners.get(name, "") for name in names}) > 1]
    if not kept:
        return made
    whole = (f"{_called(system, *names)}: others keep what it was" for names in kept)
    return replace(_planned(system, options), passed_over=tuple(whole))


def _called(system: System, table: str, *others: str) -> str:
    """That sums at positions of a table are added to all of it, and where."""
    label, where = system.statements[table].label or table, system.statements[others[-1]].where
    return f"`{label}` is added to as a whole, and not at its places only ({where})"


def _planned(given: System, options: PlanOptions) -> Plan:
    """The plan of a prepared system."""
    target, run, exact = options.target, options.passes, options.exact
    system = run.optional("rows at points", given, rows_at_points, given)
    if not exact:  # sums of tiles add up in another order
        system = run.optional("tiles of rows", system, long_rows, system, target)
    tiled = run.made("tiles", _tiled(system, options))
    found = schedule(tiled, frozenset(system.outputs.values()), system.hints, target, run, exact)
    held = frozenset(s.name for s in found.statements.values() if s.kind == "input")
    outputs = frozenset(system.outputs.values()) - held
    placed = _placed(found, tiled, held, outputs, options)
    trees, storage = placed.trees, placed.storage
    statements, deps, spans = found.statements, found.deps, tiled.spans
    pieces = tiled.pieces | system.segments
    needed = run.optional("guards", {}, guards, statements, outputs, spans, trees)
    needed |= {n: every(needed.get(n, ALWAYS), cond) for n, cond in placed.only.items()}
    driven = drive(trees, statements, storage, deps, target, outputs, run, tiled.outermost)
    run.made("kernels", driven)
    spared = _spared(driven.kernels, statements, storage, outputs, needed, run)
    alive = driven, storage, deps, held, outputs
    made = Plan(
        statements,
        storage,
        driven.kernels,
        driven.steps,
        tuple(_input(n, statements[t], storage[t]) for n, t in system.inputs.items()),
        tuple(
            _output(n, system.statements[t], found.placed[t], storage[t], pieces)
            for n, t in system.outputs.items()
        ),
        _extents(statements, spans, needed),
        run.optional("lifetimes", whole_lives(driven, storage), lifetimes, *alive),
        driven.accesses,
        target,
        needed,
        exact,
        {outer: dim for dim, (outer, *_) in tiled.pieces.items()},
        dict(tiled.pieces),
        tiled.short,
        same=found.same,
        ranks={n: _ranks(given.statements[n], system.axis_of) for n in given.statements},
        only=placed.only,
        without=run.without,
        **spared,
    )
    return run.made("plan", made)


class _Spared(TypedDict):
    """What need not be computed, besides statements at points where nobody needs them."""

    ends: dict[Loop, End]
    living: dict[str, Load]
    begun: dict[str, Loop]
    limits: dict[Clause, tuple[Test, ...]]


def _spared(
    kernels: Sequence[Kernel],
    statements: Mapping[str, Statement],
    storage: Mapping[str, Storage],
    outputs: frozenset[str],
    needed: Mapping[str, Cond],
    run: Passes,
) -> _Spared:
    whole, places = [k for k in kernels if not k.sliced], (statements, storage)
    ends = run.optional("early exits", {}, early_ends, whole, *places, outputs, needed)
    return {
        "ends": ends,
        "living": run.optional("dead rows", {}, dead_rows, *places, ends, outputs, needed),
        "begun": run.optional("first products", {}, beginnings, kernels, *places, needed, ends),
        "limits": run.optional("kept elements", {}, kept_elements, kernels, *places),
    }


def _tiled(system: System, options: PlanOptions) -> Tiled:
    """The statements over tiles; a dim that is streamed has none, if a recurrence goes along it."""
    outermost = None
    if options.streamed:
        dims = frozenset[Dim]().union(*carried_dims(system.statements).values())
        outermost = next((d for d in dims if d.name == options.streamed), None)
    if outermost is not None:
        system = in_steps(system, outermost)
    found = tile(system, options.widths, options.workers, options.target)
    return replace(found, outermost=outermost)


def _prepared(system: System, target: Target, run: Passes) -> System:
    """The system with whole boxes and operands, and without what runs only once."""
    system = run.made("padded outputs", pad_outputs(system))
    system = run.made("whole operands", whole_operands(system))
    system = run.optional("parts apart", system, parts_apart, system)
    system = run.optional("single steps", system, without_single_steps, system)
    return without_lone_points(system, target)


def _placed(
    found: Scheduled,
    tiled: Tiled,
    held: frozenset[str],
    outputs: frozenset[str],
    options: PlanOptions,
) -> Coalesced:
    """The trees with fills and without copies that cost nothing, and where every value lives."""
    statements, deps, run = found.statements, found.deps, options.passes
    if options.verify:
        check_schedule(found.trees, found.units, deps, by_isl=True)
    storage = {n: input_storage(statements[n]) for n in sorted(held)}
    storage |= place_tensors(found.trees, found.units, deps, outputs, tiled.spans)
    run.made("storage", storage)
    trees = run.made("fills", with_fills(found.trees, statements))
    proofs, places = prover(trees), sites(found.trees)
    storage = run.optional(
        "fewer slots", storage, tightened, storage, proofs, places, deps, outputs
    )
    storage = {n: replace(s, axes=statements[n].result_axes) for n, s in storage.items()}
    check_storage(prover(trees, by_isl=True) if options.verify else proofs, storage, deps)
    run.made("proof of storage", storage)
    alone = Coalesced(trees, storage)
    made = run.optional("shared places", alone, coalesced, trees, storage, deps, proofs, outputs)
    kept, target = outputs | held, options.target
    storage = run.optional(
        "steps apart", made.storage, steps_apart, made.storage, statements, kept, target
    )
    beside = run.made("scratch", scratches(found.trees, statements, target))
    return replace(made, storage=storage | beside)


def _input(name: str, s: Statement, at: Storage) -> Field:
    shape = _shape(s.result_dims, s)
    axes = tuple((k,) for k in range(len(shape)))
    return Field(name, s.name, at.dtype, at.shape, shape, axes)


def _shape(dims: Sequence[Dim], s: Statement) -> tuple[Expr, ...]:
    return (*(expr(d.extent) for d in dims), *(a.pad for a in s.result_axes))


def _output(
    name: str,
    given: Statement,
    stored: Statement,
    at: Storage,
    pieces: Mapping[Dim, tuple[Dim, ...]],
) -> Field:
    """Where the indices of the user's array went: a dim may be a tile and a place in it."""
    order = (*stored.result_dims, *(a.index for a in stored.result_axes))
    number = {index: k for k, index in enumerate(order)}
    dims = _asked(given.result_dims, pieces)
    axes = tuple(
        tuple(number[piece] for piece in _stored(index, pieces, number))
        for index in (*dims, *(a.index for a in given.result_axes))
    )
    return Field(name, stored.name, at.dtype, at.shape, _shape(dims, given), axes)


def _stored(
    index: Dim, pieces: Mapping[Dim, tuple[Dim, ...]], at: Container[Dim]
) -> tuple[Dim, ...]:
    """The stored indices that stand for one, the most significant first."""
    if index in at:
        return (index,)
    return tuple(x for piece in pieces[index] for x in _stored(piece, pieces, at))


def _asked(dims: tuple[Dim, ...], pieces: Mapping[Dim, tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """The dims that the user's array has, where some stand in segments."""
    for whole, parts in reversed(list(pieces.items())):
        for k in range(len(dims)):
            if dims[k : k + len(parts)] == parts:
                dims = (*dims[:k], whole, *dims[k + len(parts) :])
    return dims


def _ranks(given: Statement, axis_of: Mapping[tuple[str, Dim], Dim]) -> dict[Dim, int]:
    """Which axis of the lowered statement an index is, or a dim of rows."""
    ranks = {a.index: k for k, a in enumerate(given.result_axes)}
    rows = {d: index for (name, d), index in axis_of.items() if name == given.name}
    return {**ranks, **{d: ranks[index] for d, index in rows.items() if index in ranks}}


def _extents(
    statements: Mapping[str, Statement], spans: Spans, needed: Mapping[str, Cond]
) -> tuple[str, ...]:
    found = set[Dim | Extent]().union(*(cond.symbols for cond in needed.values()))
    for span in spans.values():
        found |= symbols(span.hi)
    for s in statements.values():
        for axis in s.axes:
            found |= symbols(axis.size) | symbols(axis.pad)
        for cond, value in s.clauses:
            found |= cond.symbols | value_symbols(value)
    return tuple(sorted({e.name for e in found if isinstance(e, Extent)}))

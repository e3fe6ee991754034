"""A program as rows: one row per node, its analyses, its definitions, and what to vectorise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import assert_never

from ostinato.pdg.build import const
from ostinato.pdg.condition import Cond
from ostinato.pdg.constant import as_real
from ostinato.pdg.functions import NUMBERS
from ostinato.pdg.index import Dim, Expr, Index, Slice, expr
from ostinato.pdg.node import (
    Affine,
    Along,
    Broadcast,
    Case,
    Concat,
    Const,
    Gather,
    Host,
    Input,
    Iota,
    Linear,
    Map,
    Matmul,
    Node,
    Part,
    Pdg,
    Random,
    Read,
    Rec,
    Reduce,
    Reshape,
    Scan,
    Transpose,
    postorder,
)
from ostinato.pdg.pass_record import ALL_PASSES, Passes
from ostinato.pdg.separate import separate_dims
from ostinato.rewrite.load.affine_steps import add_distances, add_positions, add_steps, run_dims
from ostinato.rewrite.load.components import Chain, Vertex, chains
from ostinato.rewrite.load.defined_along import partial_dims
from ostinato.rewrite.load.dependence import Reaches, contained, reaches
from ostinato.rewrite.load.joined_products import add_joins, find_joins
from ostinato.rewrite.load.known_prefix import split_prefixes
from ostinato.rewrite.load.mask_ranges import add_masks
from ostinato.rewrite.load.matrix_lines import add_lines
from ostinato.rewrite.load.merged_cases import batched_cases
from ostinato.rewrite.load.orders import order_rows
from ostinato.rewrite.load.point_choices import add_choices
from ostinato.rewrite.load.positions import add_lags
from ostinato.rewrite.load.range_elements import element_rows
from ostinato.rewrite.load.range_rows import (
    constants_of_ranges,
    name_ranges,
    range_rows,
    tallies,
    tile_dims,
    tile_rows,
)
from ostinato.rewrite.load.tables import Loaded, Recurrence, Tables, nest_order, rows
from ostinato.rewrite.relations import saying
from ostinato.rewrite.relations.meanings import Among

Change = Callable[[Pdg, Mapping[Node, Reaches], Mapping[Vertex, Chain]], Pdg]
CHANGES: dict[str, Change] = {"merged cases": batched_cases, "known prefixes": split_prefixes}


def load(pdg: Pdg, passes: Passes = ALL_PASSES) -> Loaded:
    """Rows for everything a program reaches."""
    if pdg.reads_outside:
        from ostinato.pdg.demand.inside import inside

        pdg = passes.made("outside reads", inside(pdg))
    reach = reaches(pdg)
    chained = chains(pdg, reach)
    for name, change in CHANGES.items():
        changed = passes.optional(name, pdg, change, pdg, reach, chained)
        if changed is not pdg:
            pdg, reach = changed, reaches(changed)
            chained = chains(pdg, reach)
    partly = partial_dims(pdg)
    joins, chained = passes.optional(
        "joined products", ((), chained), find_joins, pdg, partly, reach, chained
    )
    carried = _carried(pdg, chained)
    tiles = passes.optional("tiles of ranges", {}, tile_dims, pdg)
    dims = (*_all_dims(pdg), *tiles.values())
    loaded = Loaded(pdg, Tables(dims), chained, carried, partly, separate_dims(pdg))
    order = nest_order(loaded.tables.dims, carried.keys() | run_dims(pdg), _split_dims(pdg))
    loaded.tables.nest.update({loaded.tables.bit(d): k for k, d in enumerate(order)})
    _load_program(loaded)
    add_distances(loaded, partial(_load_node, loaded))
    add_positions(loaded, partial(_load_node, loaded))
    add_lines(loaded, partial(_load_node, loaded))
    _load_units(loaded)
    add_masks(loaded, partial(_load_node, loaded))
    add_lags(loaded, partial(_load_node, loaded))
    add_choices(loaded, reach, partial(_load_node, loaded))
    add_steps(loaded, reach, partial(_load_node, loaded))
    add_joins(loaded, joins, partial(_load_node, loaded))
    _load_twins(loaded)
    _load_wishes(loaded, reach)
    name_ranges(loaded.tables, loaded.ids)
    for found in (
        tile_rows(loaded.tables, pdg, tiles),
        element_rows(loaded.tables, pdg.nodes()),
        rows(loaded.tables, range_rows),
        order_rows(loaded.tables),
    ):
        for relation, more in found.items():
            loaded.rows.setdefault(relation, []).extend(more)
    beside = constants_of_ranges(loaded.ids, loaded.rows), tallies(loaded.tables, loaded.ids)
    for relation, cells, unit in list(itertools.chain(*beside)):
        if unit not in loaded.ids:
            _load_node(loaded, unit)
        loaded.row(relation, *cells, loaded.ids[unit])
    return passes.made("rows", loaded)


def _load_program(loaded: Loaded) -> None:
    """The rows of the nodes of a program, and of what defines its recurrences."""
    for name, equation in loaded.pdg.equations.items():
        loaded.twins[name] = [len(loaded.tables.recs)]
        loaded.tables.recs.append(Recurrence(name, equation.rec))
    for node in loaded.pdg.nodes():
        if node not in loaded.ids:
            _load_node(loaded, node)
    for name, equation in loaded.pdg.equations.items():
        for k, (_, right) in enumerate(equation.cases):
            loaded.row("raw_define", loaded.twins[name][0], k, loaded.ids[right])


def _all_dims(pdg: Pdg) -> tuple[Dim, ...]:
    found = set(pdg.dims())
    for equation in pdg.equations.values():
        for cond, _ in equation.cases:
            found |= cond.dims
    return tuple(sorted(found, key=lambda d: d.serial))


def _load_node(loaded: Loaded, node: Node) -> None:
    tables = loaded.tables
    number = _row_of(loaded, node, [loaded.ids[a] for a in node.args])
    loaded.ids[node] = number
    loaded.row("raw_dtype", number, node.dtype)
    known = as_real(node.op.values) if isinstance(node.op, Const) else None
    if known is not None:
        loaded.row("raw_value", number, repr(known))
    if isinstance(node.op, Const) and all(map(math.isfinite, node.op.values)):
        loaded.row("raw_bounded", number)
    loaded.row("raw_facts", number, tables.mask(node.domain), loaded.shape(node.shape))


def _load_units(loaded: Loaded) -> None:
    """Kinds of functions, the number one of every type, and shapes of axes of size 1.

    Every dimension may become one more axis.
    """
    nodes = list(loaded.ids)
    for name, claim in saying(Among).items():
        loaded.rows[name] = [(fn,) for fn in claim.names]
    for dtype in NUMBERS:
        if all(n.dtype != dtype for n in nodes):
            continue
        unit = const(1, dtype)
        if unit not in loaded.ids:
            _load_node(loaded, unit)
        loaded.row("raw_unit", dtype, loaded.ids[unit])
    most = max((n.rank for n in nodes), default=0) + len(loaded.tables.dims)
    for rank in range(1 + most):
        loaded.row("raw_ones", rank, loaded.shape((expr(1),) * rank))


def _axis_mask(axes: Sequence[int]) -> int:
    return sum(1 << (-a - 1) for a in axes)


def _row_of(loaded: Loaded, node: Node, args: Sequence[int]) -> int:
    """Add the row of one node (several for a read of several dimensions); returns its id."""
    if isinstance(node.op, Read):
        return _load_read(loaded, node.op.at, args[0])
    number = loaded.fresh()
    if isinstance(node.op, Concat):
        joined = args[0]
        for k, arg in enumerate(args[1:], 2):
            to = number if k == len(args) else loaded.fresh()
            loaded.row("raw_cat", to, -node.op.axis, joined, arg)
            joined = to
        return number
    if isinstance(node.op, Const) and _is_number(node):
        inner = const(node.op.values[0], node.dtype)
        if inner not in loaded.ids:
            _load_node(loaded, inner)
        loaded.row("raw_reshape", number, 0, loaded.shape(node.shape), loaded.ids[inner])
        return number
    relation, fields = _fields(loaded, node)
    loaded.row(f"raw_{relation}", number, *fields, *args)
    return number


def _is_number(node: Node) -> bool:
    """Whether a literal is a single number with axes of size 1."""
    single = isinstance(node.op, Const) and len(node.op.values) == 1
    return single and node.rank > 0 and all(s == expr(1) for s in node.shape)


def _fields(loaded: Loaded, node: Node) -> tuple[str, tuple[int | str, ...]]:
    """The operator and the fields before its operands."""
    tables = loaded.tables
    match node.op:
        case Input() | Const() | Affine() | Iota() | Random():
            tables.leaves.append(node)
            return "leaf", (len(tables.leaves) - 1,)
        case Rec(name):
            return "rec", (loaded.twins[name][0],)
        case Map(fn):
            name = f"cast:{node.dtype}" if fn == "cast" else fn
            return f"map{len(node.args)}", (name,)
        case Host():
            tables.leaves.append(node)
            number = len(tables.leaves) - 1
            return (f"host{len(node.args)}" if node.args else "leaf"), (number,)
        case Reduce(fn, axes):
            return "red", (fn, _axis_mask(axes))
        case Matmul():
            return "mm", ()
        case Reshape(rank, shape):
            return "reshape", (rank, loaded.shape(shape))
        case Transpose((-1, -2)):
            return "tr", ()
        case Transpose(perm):
            return "perm", (tables.id(perm),)
        case Broadcast(shape):
            return "bcast", (loaded.shape(shape),)
        case Part(axis, at):
            return ("cut" if isinstance(at, Slice) else "part"), (-axis, tables.id(at))
        case Gather(axis, _):  # rewritten programs clamp
            return "gather", (-axis,)
        case Along(fn, axis, size):
            return f"along{len(node.args)}", (fn, -axis, tables.id(size))
        case Case(cond):
            return "case", (tables.id(cond),)
        case Scan(fn, dim, reverse):
            return "running", (fn, tables.bit(dim), int(reverse))
        case Linear(dim, reverse):
            return "lin", (tables.bit(dim), int(reverse))
        case Read() | Concat():
            raise AssertionError(f"{node} is loaded as several rows")
        case other:
            assert_never(other)


def _load_read(loaded: Loaded, at: tuple[tuple[Dim, Index], ...], arg: int) -> int:
    """One substitution after another where none sees the dimensions of an earlier one."""
    steps = _sequential(at)
    if steps is None:
        number = loaded.fresh()
        loaded.row("raw_look", number, loaded.tables.id(at), arg)
        return number
    for dim, index in steps:
        number = loaded.fresh()
        op = "sl" if isinstance(index, Slice) else "at"
        loaded.row(f"raw_{op}", number, loaded.tables.bit(dim), loaded.tables.id(index), arg)
        arg = number
    return arg


def _sequential(at: tuple[tuple[Dim, Index], ...]) -> list[tuple[Dim, Index]] | None:
    """An order of single substitutions that means the same: points first, outer axes last."""
    points = [(d, e) for d, e in at if isinstance(e, Expr)]
    ordered: list[tuple[Dim, Index]] = []
    while points:
        free = next(
            (p for p in points if all(q is p or q[0] not in p[1].dims for q in points)), None
        )
        if free is None:
            return None
        points.remove(free)
        ordered.append(free)
    ordered += [(d, s) for d, s in reversed(at) if isinstance(s, Slice)]
    for k, (dim, _) in enumerate(ordered):
        if any(dim in index.dims for _, index in ordered[:k]):
            return None
    return ordered


def _batchable(loaded: Loaded, name: str) -> tuple[Dim, ...]:
    """The dimensions that may become axes of a recurrence, outermost first."""
    equation = loaded.pdg.equations[name]
    own = 1 << list(loaded.pdg.equations).index(name)
    fixed = {d for d, recs in loaded.carried.items() if recs & own}
    fixed |= loaded.partial[equation.rec] | loaded.loops
    fixed = fixed.union(*(loaded.partial[right] for _, right in equation.cases))
    for size in equation.rec.shape:
        fixed |= size.dims
    for cond, _ in equation.cases:
        fixed |= cond.dims
    free = [d for d in equation.rec.domain if d not in fixed]
    tables = loaded.tables
    return tuple(sorted(free, key=lambda d: tables.nest[tables.bit(d)]))


def _split_dims(pdg: Pdg) -> frozenset[Dim]:
    """Dimensions in the conditions of cases."""
    conds = (node.op.cond for node in pdg.nodes() if isinstance(node.op, Case))
    return frozenset(d for c in conds for d in c.dims)


def _carried(pdg: Pdg, chained: Mapping[Vertex, Chain]) -> dict[Dim, int]:
    bit = {name: 1 << k for k, name in enumerate(pdg.equations)}
    out: dict[Dim, int] = {}
    for (name, _), chain in chained.items():
        for c in chain:
            out[c.dim] = out.get(c.dim, 0) | bit[name]
    return out


def _load_twins(loaded: Loaded) -> None:
    tables = loaded.tables
    for outer, inner in itertools.combinations(
        sorted(tables.nest, key=lambda d: tables.nest[d]), 2
    ):
        loaded.row("inside", inner, outer)
    for bit in tables.nest:
        if loaded.loops.isdisjoint(tables.dims_in(bit)):
            loaded.row("joint", bit)
    for name, equation in loaded.pdg.equations.items():
        axes: tuple[Dim, ...] = ()
        for dim in reversed(_batchable(loaded, name)):
            axes = (dim, *axes)
            number = len(tables.recs)
            loaded.row("batch", loaded.twins[name][-1], tables.bit(dim), number)
            loaded.twins[name].append(number)
            tables.recs.append(Recurrence(name, equation.rec, axes))


def _load_wishes(loaded: Loaded, reach: Mapping[Node, Reaches]) -> None:
    """Which dimensions each node should become an axis over, from the definitions it serves."""
    tables = loaded.tables
    wanted: set[int] = set()
    for node, dims in _wishes(loaded, reach).items():
        mask = tables.mask(dims - loaded.partial[node] - loaded.loops)
        if mask:
            loaded.row("raw_want", loaded.ids[node], mask)
            wanted.add(mask)
    streamed = _streamed(loaded.chains)
    for node, number in loaded.ids.items():
        mask = tables.mask(_free(loaded, node, reach) - streamed - loaded.loops)
        if mask:
            loaded.row("raw_free", number, mask)
            wanted.add(mask)
    done: set[int] = set()
    for mask in sorted(wanted):
        while mask and mask not in done:
            done.add(mask)
            bit = max((d for d in tables.nest if mask & d), key=lambda d: tables.nest[d])
            loaded.row("innermost", mask, bit)
            mask &= ~bit


def _wishes(loaded: Loaded, reach: Mapping[Node, Reaches]) -> dict[Node, frozenset[Dim]]:
    """The wishes of all definitions; a dimension around another one is never gathered.

    Such a dimension counts iterations: its values stream out, and a history would grow with a run.
    """
    pdg = loaded.pdg
    streamed = _streamed(loaded.chains)
    wishes: dict[Node, frozenset[Dim]] = {}
    groups: dict[Chain, list[Node]] = {}
    for name, equation in pdg.equations.items():
        for case, (_, right) in enumerate(equation.cases):
            groups.setdefault(loaded.chains[name, case], []).append(right)
    for chain, roots in groups.items():
        inside = _inside(pdg, chain)
        for node, single in _at_single_points(tuple(roots)).items():
            kept = frozenset(d for d in node.domain if _may_gather(node, inside.get(d), reach))
            wishes[node] = wishes.get(node, frozenset()) | kept - streamed - single
    outputs = tuple(node for _, node in pdg.outputs)
    enclosing = _enclosing(loaded)
    for node, single in _at_single_points(outputs).items():
        if node not in wishes:
            wishes[node] = frozenset(node.domain) - streamed - enclosing - single
    return wishes


def _at_single_points(roots: tuple[Node, ...]) -> dict[Node, frozenset[Dim]]:
    """For every node that roots reach the dimensions along which they need one point only."""
    out = {root: frozenset[Dim]() for root in roots}
    for node in reversed(list(postorder(roots))):
        inside = out[node]
        if isinstance(node.op, Read):
            inside = frozenset(
                d
                for d in inside | {d for d, _ in node.op.at}
                if not isinstance(at := dict(node.op.at).get(d, expr(d)), Slice)
                and at.dims <= inside
            )
        for arg in node.args:
            out[arg] = out[arg] & inside if arg in out else inside
    return out


def _enclosing(loaded: Loaded) -> frozenset[Dim]:
    """Dimensions that carry a definition with work over other dimensions in each of its steps.

    What only the outputs need is computed step by step along them, so that it can stream out.
    """
    rights: dict[frozenset[Dim], list[Node]] = {}
    for (name, case), chain in loaded.chains.items():
        right = loaded.pdg.equations[name].cases[case][1]
        rights.setdefault(frozenset(c.dim for c in chain), []).append(right)
    out: set[Dim] = set()
    for own, roots in rights.items():
        if any(not own.issuperset(node.domain) for node in postorder(tuple(roots))):
            out |= own
    return frozenset(out)


def _streamed(carried: Mapping[Vertex, Chain]) -> frozenset[Dim]:
    """Dimensions around a carried one: they count iterations, whose values stream out."""
    return frozenset(c[0].dim for c in carried.values() if len(c) > 1)


def _free(loaded: Loaded, node: Node, reach: Mapping[Node, Reaches]) -> frozenset[Dim]:
    """The dimensions of which all points exist before the recurrences that they carry run."""
    needed = contained(reach.get(node, {}))
    bound = {d for d, recs in loaded.carried.items() if recs & needed}
    whole = frozenset(node.domain) - loaded.partial.get(node, frozenset(node.domain))
    return whole - bound


def _inside(pdg: Pdg, chain: Chain) -> dict[Dim, int]:
    """For every dimension of a chain the recurrences (bits) of its group."""
    bit = {name: 1 << k for k, name in enumerate(pdg.equations)}
    return {c.dim: sum(bit[n] for n in {name for name, _ in c.group}) for c in reversed(chain)}


def _may_gather(node: Node, inside: int | None, reach: Mapping[Node, Reaches]) -> bool:
    """Whether a definition may use all points of ``node`` along a dimension at once.

    Along one that carries the definition, with the recurrences ``inside``, only products free of
    them are worth a history.
    """
    if inside is None:
        return True
    return isinstance(node.op, Matmul) and not contained(reach[node]) & inside


def conditions(loaded: Loaded, number: int) -> tuple[Cond, ...]:
    """The conditions of the cases of a recurrence id."""
    name = loaded.tables.recs[number].name
    return tuple(cond for cond, _ in loaded.pdg.equations[name].cases)

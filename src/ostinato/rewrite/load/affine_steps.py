"""Recurrences that read one step of themselves: what the laws of the family affine start from.

``x[d] = s`` at the first step (the last point of a loop that runs backwards) and ``x[d] = q``
elsewhere, where only ``q`` reads ``x``, at the step before. That the first step is one where ``s``
holds, and that the cases leave no point open, is proved with isl for all extents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ostinato.pdg import build
from ostinato.pdg.bounds import simplified
from ostinato.pdg.condition import Cond, equal, every, negation
from ostinato.pdg.constant import only_zeros
from ostinato.pdg.demand.demand import box
from ostinato.pdg.functions import POSITIONS, has_derivative
from ostinato.pdg.index import Dim, Slice, expr
from ostinato.pdg.isl import Set, condition_set
from ostinato.pdg.node import Affine, Const, Iota, Node, Pdg, Read, Reduce, Reshape, postorder
from ostinato.rewrite.load.components import Carried, Chain, Vertex
from ostinato.rewrite.load.dependence import Reaches, contained
from ostinato.rewrite.load.tables import Loaded


@dataclass(frozen=True, slots=True)
class Step:
    """A recurrence over ``dim``: ``start`` where ``cond`` holds, else ``right``.

    ``is_only``: the condition holds at the first step and nowhere else.
    """

    name: str
    dim: Dim
    reverse: bool
    cond: Cond
    start: Node
    right: Node
    is_only: bool


def add_steps(
    loaded: Loaded, reach: Mapping[Node, Reaches], add_node: Callable[[Node], None]
) -> None:
    """Rows for the recurrences of a program that may be linear ones."""
    tables, zeros = loaded.tables, set[str]()
    for step in steps(loaded.pdg, loaded.chains, reach):
        nothing = build.const(0, step.start.dtype)
        for node in postorder((step.right, nothing)):
            if node not in loaded.ids:
                add_node(node)
        if nothing.dtype not in zeros:
            zeros.add(nothing.dtype)
            loaded.row("raw_zero", nothing.dtype, loaded.ids[nothing])
        rec, bit = loaded.twins[step.name][0], tables.bit(step.dim)
        before = tables.id(expr(step.dim) + (1 if step.reverse else -1))
        cond, backwards = tables.id(step.cond), int(step.reverse)
        loaded.row("neighbour", rec, bit, before, backwards)
        loaded.row("raw_body", rec, cond, loaded.ids[step.start], loaded.ids[step.right])
        if step.is_only:
            loaded.row("only", cond, bit, backwards)
        for node in beside(step, reach, list(loaded.pdg.equations).index(step.name)):
            loaded.row("raw_clear", rec, loaded.ids[node])
            loaded.row("raw_gone" if is_zero(node) else "raw_some", rec, loaded.ids[node])


def add_distances(loaded: Loaded, add_node: Callable[[Node], None]) -> None:
    """Counts of the steps from the point on, where a program has indices to compute them."""
    here = (node.op.of.as_dim() for node in list(loaded.ids) if isinstance(node.op, Affine))
    for dim in dict.fromkeys(here):
        counts = None if dim is None else build.iota(expr(dim.extent) - dim)
        rest = None if dim is None else Slice(expr(dim), expr(dim.extent))
        if counts is not None and rest in loaded.tables.attributes and counts not in loaded.ids:
            add_node(counts)


def add_positions(loaded: Loaded, add_node: Callable[[Node], None]) -> None:
    """The indices of dimensions that slices follow whose elements are counted from their first.

    And those at which the place of the greatest so far may be.
    """
    nodes = list(loaded.ids)
    sizes = {node.op.size for node in nodes if isinstance(node.op, Iota)}
    places = any(isinstance(n.op, Reduce) and n.op.fn in POSITIONS for n in nodes)
    slices = [a for a in loaded.tables.attributes if isinstance(a, Slice)]
    for part in slices if sizes or places else ():
        begins = part.lo == expr(0) or build.affine(part.lo) in loaded.ids
        counted = begins and part.step == 1 and part.size in sizes
        if counted or (places and _is_prefix(part)):
            for dim in sorted(part.dims, key=lambda d: d.serial):
                here = build.affine(expr(dim))
                if here not in loaded.ids:
                    add_node(here)


def _is_prefix(part: Slice) -> bool:
    """Whether a slice has all points up to the one of a dimension."""
    dim = (part.hi - 1).as_dim()
    return dim is not None and part == Slice(expr(0), expr(dim) + 1)


def steps(
    pdg: Pdg, chains: Mapping[Vertex, Chain], reach: Mapping[Node, Reaches]
) -> Iterator[Step]:
    """The recurrences of a program with a first step and one case, or several, from the second."""
    for place, name in enumerate(pdg.equations):
        found = _step(
            pdg, name, [_reads(reach, r, place) for _, r in pdg.equations[name].cases], chains
        )
        if found is not None:
            yield found


def _reads(reach: Mapping[Node, Reaches], right: Node, place: int) -> bool:
    return bool(contained(reach[right]) >> place & 1)


def _step(pdg: Pdg, name: str, reads: list[bool], chains: Mapping[Vertex, Chain]) -> Step | None:
    equation = pdg.equations[name]
    if not has_derivative(equation.rec.dtype) or all(reads) or not any(reads):
        return None
    carrier = _carrier(name, [chains[name, k] for k, does in enumerate(reads) if does])
    if carrier is None:
        return None
    dim, reverse = carrier.dim, carrier.sign < 0
    whole = box(equation.rec.domain)
    cases: list[tuple[Cond, Node, bool]] = []
    earlier: list[Cond] = []
    for (cond, right), does in zip(equation.cases, reads, strict=True):
        cases.append((simplified(every(cond, *map(negation, earlier))), right, does))
        earlier.append(cond)
    first = equal(expr(dim), expr(dim.extent) - 1 if reverse else 0)
    beginning = whole & condition_set(whole.dims, first)
    begins = [c for c in cases if not c[2] and _holds(c[0], beginning)]
    if not begins or not _covered(whole, [cond for cond, _ in equation.cases]):
        return None
    cond, start, _ = begins[0]
    rest = sorted((c for c in cases if c is not begins[0]), key=lambda c: c[2])  # free ones first
    right = rest[-1][1]
    for other, value, _ in reversed(rest[:-1]):
        right = build.case(other, value, right, equation.rec.where)
    is_only = _holds(first, whole & condition_set(whole.dims, cond))
    return Step(name, dim, reverse, cond, start, right, is_only)


def _carrier(name: str, chains: list[Chain]) -> Carried | None:
    """The innermost dimension that carries a recurrence, which carries nothing else."""
    found = {(c[-1].dim, c[-1].sign) if c else None for c in chains}
    if len(found) > 1 or not all(chains):
        return None
    last = chains[0][-1]
    alone = all({member for member, _ in c[-1].group} == {name} for c in chains)
    return last if last.sign and alone else None


def _holds(cond: Cond, points: Set) -> bool:
    return (points - condition_set(points.dims, cond)).is_empty()


def _covered(points: Set, conds: list[Cond]) -> bool:
    """Whether cases have all points; the last one may have whatever is left."""
    for cond in reversed(conds):
        points = points - condition_set(points.dims, cond)
        if points.is_empty():
            return True
    return False


def beside(step: Step, reach: Mapping[Node, Reaches], place: int) -> Iterator[Node]:
    """Operands that do not read the recurrence, of operators that do."""
    seen: set[Node] = set()
    for node in postorder((step.right,)):
        if _mentions(node, reach, place):
            for arg in node.args:
                if arg not in seen and not _mentions(arg, reach, place):
                    seen.add(arg)
                    yield arg


def _mentions(node: Node, reach: Mapping[Node, Reaches], place: int) -> bool:
    """Whether a node reads a recurrence; cases of this module are not in ``reach``."""
    if node in reach:
        return _reads(reach, node, place)
    return any(_mentions(arg, reach, place) for arg in node.args)


def is_zero(node: Node) -> bool:
    """Whether a value is nothing but zeros, as it is written."""
    while isinstance(node.op, Reshape):
        (node,) = node.args
    return isinstance(node.op, Const) and only_zeros(node.op.values)


def run_dims(pdg: Pdg) -> frozenset[Dim]:
    """Dimensions along which something folds what lies before or after the point.

    Or everything, with weights that may depend on the point.
    """
    here = {n.op.of.as_dim() for n in pdg.nodes() if isinstance(n.op, Affine)}
    reads = (node.op.at for node in pdg.nodes() if isinstance(node.op, Read))
    slices = ((d, i) for at in reads for d, i in at if isinstance(i, Slice))
    return frozenset(d for d, i in slices if d in here or d in i.dims)

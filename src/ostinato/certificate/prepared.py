"""That a program whose cases were drawn anew is the source, point by point.

Before rules run, cases that a parallel dimension tells apart may become one, and values of steps
that are known may be written out beside those that are computed. Nothing else may have changed: at
every point both programs apply the same operators to the same values, once it is followed which
case holds there. A recurrence may be replaced by what the source says it is, and a value by that
element of its history.

Claims are worked off one by one: two values, and the points at which they must be the same (a set
of isl, for all extents). What solves the source's equations then solves the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ostinato.pdg import build
from ostinato.pdg.affine import is_quasi_affine
from ostinato.pdg.condition import Cond, equal, negation
from ostinato.pdg.demand import box, read_relation
from ostinato.pdg.index import Dim, Expr, Index, Slice, expr
from ostinato.pdg.isl import Set, proves, relation
from ostinato.pdg.naming import called
from ostinato.pdg.node import Case, Equation, Host, Linear, Node, Part, Pdg, Read, Rec, Scan

Claim = tuple[Node, Node, Set]  # a value of the new program, one of the source, where they agree


class Changed(Exception):
    """The prepared program is not the source; the text names the value."""


def check_prepared(source: Pdg, prepared: Pdg) -> str:
    """Show that both programs have the same outputs.

    Errors: Changed.
    """
    _check_frame(source, prepared)
    work = _Work(source)
    for (_, old), (_, new) in zip(source.outputs, prepared.outputs, strict=True):
        work.claim(new, old, box(old.domain))
    for name, equation in prepared.equations.items():
        for right, points in _pieces(equation, box(equation.rec.domain)):
            for old, here in _pieces(source.equations[name], points):
                work.claim(right, old, here)
    return f"the same at every point, by {work.run()} claims"


def _check_frame(source: Pdg, prepared: Pdg) -> None:
    def about(pdg: Pdg) -> list[object]:
        return [(name, x.domain, x.shape, x.dtype) for name, x in pdg.outputs]

    if about(source) != about(prepared):
        raise Changed("the prepared program has other outputs")
    if source.minimum_extents != prepared.minimum_extents:
        raise Changed("the prepared program has other least extents")
    for name, equation in prepared.equations.items():
        if name not in source.equations or source.equations[name].rec is not equation.rec:
            raise Changed(f"`{name}` is no recurrence of the source")


def _pieces(equation: Equation, points: Set) -> Iterator[tuple[Node, Set]]:
    """The right sides of an equation, and the points at which each is the one that holds."""
    for cond, right in equation.cases:
        yield right, points.where(cond)
        points = points.where(negation(cond))


@dataclass
class _Work:
    """Claims to show, and what was shown or is about to be."""

    source: Pdg
    _open: list[Claim] = field(default_factory=list[Claim])
    _known: dict[tuple[Node, Node], Set] = field(default_factory=dict[tuple[Node, Node], Set])

    def claim(self, new: Node, old: Node, points: Set) -> None:
        """Two values agree at these points, given over any dimensions."""
        if new is old:
            return
        here = points.onto(build.order({*new.domain, *old.domain}))
        here = here.assume(self.source.minimum_extents)
        known = self._known.get((new, old))
        if here.is_empty() or (known is not None and here.is_subset(known)):
            return
        self._known[new, old] = here if known is None else here | known
        self._open.append((new, old, here))

    def run(self) -> int:
        """Work off all claims; return how many there were."""
        count = 0
        while self._open:
            count += 1
            self._step(*self._open.pop())
        return count

    def _step(self, new: Node, old: Node, points: Set) -> None:
        element = _element(new)
        if element is not None:
            self.claim(element, old, points)
        elif isinstance(new.op, Case):
            for side, cond in _sides(new.op.cond, new):
                self.claim(side, old, points.where(cond))
        elif isinstance(old.op, Case):
            for side, cond in _sides(old.op.cond, old):
                self.claim(new, side, points.where(cond))
        elif isinstance(old.op, Rec):
            for side, here in self._defined(old, points):
                self.claim(new, side, here)
        elif isinstance(new.op, Rec):
            for side, here in self._defined(new, points):
                self.claim(side, old, here)
        elif isinstance(new.op, Read) or isinstance(old.op, Read):
            self._reads(new, old, points)
        else:
            self._operators(new, old, points)

    def _defined(self, rec: Node, points: Set) -> list[tuple[Node, Set]]:
        """What the source says a recurrence is, all over some points."""
        assert isinstance(rec.op, Rec), f"{rec} is no recurrence"
        equation = self.source.equations[rec.op.name]
        if not points.onto(rec.domain).is_subset(box(rec.domain)):
            raise Changed(f"{called(rec)} is followed out of its domain")
        rest = points
        for cond, _ in equation.cases:
            rest = rest.where(negation(cond))
        if not rest.is_empty():
            raise Changed(f"{called(rec)} is needed where it has no equation")
        if any(right is rec for _, right in equation.cases):
            raise Changed(f"{called(rec)} is defined by itself")
        return list(_pieces(equation, points))

    def _reads(self, new: Node, old: Node, points: Set) -> None:
        """Reads of the same points; one that moves along no dimension of its operand is none."""
        (at, x), (by, y) = _read(new), _read(old)
        joined: dict[Dim, Index] = {}
        for dim in {**at, **by}:
            mine, other = at.get(dim, expr(dim)), by.get(dim, expr(dim))
            free = x if dim not in at else y
            missing = dim not in at or dim not in by
            joined[dim] = other if dim not in at else mine
            ignored = missing and dim not in free.domain and not isinstance(joined[dim], Slice)
            if not (ignored or _same(mine, other, points)):
                raise Changed(f"{called(new)} is read at other points than {called(old)}")
        dims = build.order({*x.domain, *y.domain})
        reached = read_relation(tuple(joined.items()), points.dims, dims)
        self.claim(x, y, reached.apply(points))

    def _operators(self, new: Node, old: Node, points: Set) -> None:
        same = new.op == old.op and len(new.args) == len(old.args)
        types = (new.shape, new.dtype) == (old.shape, old.dtype)
        calls = not isinstance(new.op, Host) or new.domain == old.domain
        if not (same and types and calls and new.args):
            raise Changed(f"{called(new)} takes the place of {called(old)}")
        if isinstance(new.op, Scan | Linear):
            points = _span(points, new.op.dim, new.op.reverse)
        for mine, other in zip(new.args, old.args, strict=True):
            self.claim(mine, other, points)


def _sides(cond: Cond, node: Node) -> Iterator[tuple[Node, Cond]]:
    yield node.args[0], cond
    yield node.args[1], negation(cond)


def _element(node: Node) -> Node | None:
    """What a node is an element of: ``x[0:n][d]`` along d is x."""
    inner = node.args[0] if isinstance(node.op, Part) else None
    if inner is None or not isinstance(node.op, Part) or not isinstance(inner.op, Read):
        return None
    (dim, steps), *more = inner.op.at
    begun = isinstance(steps, Slice) and (steps.lo, steps.step) == (expr(0), 1) and not more
    is_first = node.op.axis == -inner.rank and node.op.at == expr(dim)
    return inner.args[0] if begun and is_first else None


def _read(node: Node) -> tuple[Mapping[Dim, Index], Node]:
    """The substitutions of a read and its operand; none for any other value."""
    return (dict(node.op.at), node.args[0]) if isinstance(node.op, Read) else ({}, node)


def _same(mine: Index, other: Index, points: Set) -> bool:
    """Whether two indices are equal at these points."""
    if isinstance(mine, Slice) or isinstance(other, Slice):
        return mine == other
    quasi_affine = is_quasi_affine(mine) and is_quasi_affine(other)
    return mine == other or (quasi_affine and proves(equal(mine, other), points))


def _span(points: Set, dim: Dim, reverse: bool) -> Set:
    """The points and all before them, or after them, along a dimension inside its box."""
    steps = Dim(f"{dim}_")
    moved: list[Expr] = [expr(d) for d in points.dims]
    k = points.dims.index(dim)
    moved[k] = moved[k] + steps if reverse else moved[k] - steps
    size = expr(dim.extent) - dim if reverse else expr(dim) + 1
    return relation(points.dims, points.dims, moved, within=[(steps, size)]).apply(points)

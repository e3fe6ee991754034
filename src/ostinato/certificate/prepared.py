"""That a program whose cases were drawn anew is the source, point by point.

Before rules run, cases that a parallel dimension tells apart may become one, values of steps that
are known may be written out beside those that are computed, and so may values outside their box.
Nothing else may have changed: at every point both programs apply the same operators to the same
values, once it is followed which case holds there. A recurrence may be replaced by what the source
says it is, a value by that element of its history, and a read of an operator by the operator of
reads (`ostinato.pdg.demand.elsewhere`).

Claims are worked off one by one: two values, and the points at which they must be the same (a set
of isl, for all extents). What solves the source's equations then solves the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import cast

from ostinato.pdg import build
from ostinato.pdg.condition import Cond, equal, negation
from ostinato.pdg.demand.demand import box, read_relation
from ostinato.pdg.demand.elsewhere import elsewhere
from ostinato.pdg.index import Dim, Expr, Index, Slice, expr
from ostinato.pdg.intervals import is_quasi_affine
from ostinato.pdg.isl import Set, box_cond, proves, relation
from ostinato.pdg.naming import called
from ostinato.pdg.node import (
    Affine,
    Case,
    Equation,
    Host,
    Iota,
    Linear,
    Node,
    Part,
    Pdg,
    Read,
    Rec,
    Scan,
)

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
        if name not in source.equations or source.equations[name].rec != equation.rec:
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
        if new == old:
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
        if any(right == rec for _, right in equation.cases):
            raise Changed(f"{called(rec)} is defined by itself")
        return list(_pieces(equation, points))

    def _reads(self, new: Node, old: Node, points: Set) -> None:
        """Reads of the same points, or else of the same elements, or operators of reads."""
        together = self._together(new, old, points)
        if together is not None:
            self.claim(*together)
        elif _slices(new) or _slices(old):
            self.claim(*_elements(new, old, points))
        else:
            mine, other = _written_out(new), _written_out(old)
            if (mine, other) == (new, old):
                raise Changed(f"{called(new)} is read at other points than {called(old)}")
            self.claim(mine, other, points)

    def _together(self, new: Node, old: Node, points: Set) -> Claim | None:
        """The operands of two reads and the points at which both read them.

        A read that moves along no dimension of its operand is none.
        """
        (at, x), (by, y) = _read(new), _read(old)
        joined: dict[Dim, Index] = {}
        for dim in {**at, **by}:
            mine, other = at.get(dim, expr(dim)), by.get(dim, expr(dim))
            free = x if dim not in at else y
            missing = dim not in at or dim not in by
            joined[dim] = other if dim not in at else mine
            ignored = missing and dim not in free.domain and not isinstance(joined[dim], Slice)
            if not (ignored or _same(mine, other, points)):
                return None
        dims = build.order({*x.domain, *y.domain})
        reached = read_relation(tuple(joined.items()), points.dims, dims)
        return x, y, reached.apply(points)

    def _operators(self, new: Node, old: Node, points: Set) -> None:
        same = len(new.args) == len(old.args) and _same_operator(new, old, points)
        calls = not isinstance(new.op, Host) or new.domain == old.domain
        ends = isinstance(new.op, Affine | Iota)  # have no operands, and their numbers are the same
        if not (same and calls and (new.args or ends)):
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


def _slices(node: Node) -> list[tuple[Dim, Slice]]:
    """The slices of a read, in the order of its axes."""
    at = node.op.at if isinstance(node.op, Read) else ()
    return [(d, i) for d, i in at if isinstance(i, Slice)]


def _steps(node: Node) -> dict[Dim, Expr]:
    """The indices of a read that are no slices."""
    at = node.op.at if isinstance(node.op, Read) else ()
    return {d: i for d, i in at if isinstance(i, Expr)}


def _written_out(node: Node) -> Node:
    """A read of an operator as the operator of reads; any other value itself."""
    return elsewhere(node.args[0], _steps(node)) if isinstance(node.op, Read) else node


def _elements(new: Node, old: Node, points: Set) -> Claim:
    """Two reads of slices as reads of one element, at a place that both slices have."""
    mine, other = _slices(new), _slices(old)
    if len(mine) != len(other):
        raise Changed(f"{called(new)} has other slices than {called(old)}")
    found: list[dict[Dim, Expr]] = [_steps(new), _steps(old)]
    for (d, left), (e, right) in zip(mine, other, strict=True):
        if not _same(left.size, right.size, points):
            raise Changed(f"{called(new)} has other sizes than {called(old)}")
        place = Dim(f"{d}_")
        points = points.onto((*points.dims, place)).where(box_cond((place,), {place: left.size}))
        for to, dim, steps in zip(found, (d, e), (left, right), strict=True):
            to[dim] = steps.lo + expr(place) * steps.step
    ways = (build.read(x.args[0], [*at.items()]) for x, at in zip((new, old), found, strict=True))
    return next(ways), next(ways), points


def _same_operator(new: Node, old: Node, points: Set) -> bool:
    """Whether two operators are equal, their indices and sizes at these points."""
    if type(new.op) is not type(old.op) or new.dtype != old.dtype or new.rank != old.rank:
        return False
    mine, other = _parts(new.op), _parts(old.op)
    pairs = [*zip(mine, other, strict=False), *zip(new.shape, old.shape, strict=True)]
    return len(mine) == len(other) and all(
        _same(a, b, points) if isinstance(a, Expr | Slice) and isinstance(b, Expr | Slice)
        else a == b
        for a, b in pairs
    )  # fmt: skip


def _parts(of: object) -> list[object]:
    """The fields of an operator's record, and what stands in tuples of them."""
    if isinstance(of, tuple):
        return [part for each in cast(tuple[object, ...], of) for part in _parts(each)]
    if isinstance(of, Dim | Expr | Slice) or not is_dataclass(of):
        return [of]
    return [part for each in fields(of) for part in _parts(getattr(of, each.name))]


def _same(mine: Index, other: Index, points: Set) -> bool:
    """Whether two indices are equal at these points."""
    if isinstance(mine, Slice) and isinstance(other, Slice):
        ends = _same(mine.lo, other.lo, points) and _same(mine.hi, other.hi, points)
        return mine.step == other.step and ends
    if isinstance(mine, Slice) or isinstance(other, Slice):
        return False
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

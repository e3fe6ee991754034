"""Elements of nodes as values: movement dissolves into the indices of loads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from ostinato.codegen.ir.system import (
    Axis,
    Call,
    Choice,
    Draw,
    Literal_,
    Load,
    Pick,
    Position,
    Statement,
    Value,
    children,
)
from ostinato.codegen.lowering.axis_indices import (
    ONE,
    Digit,
    Digits,
    linear,
    match_products,
    respell,
)
from ostinato.codegen.lowering.integer_nodes import clamped, literal
from ostinato.codegen.lowering.stored import Places, Point, known_fold
from ostinato.pdg.condition import ALWAYS, Cond
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.index import Dim, Expr, Extent, Slice, expr, product
from ostinato.pdg.index_functions import applied
from ostinato.pdg.node import (
    MOVES,
    Affine,
    Broadcast,
    Case,
    Const,
    Gather,
    Iota,
    Map,
    Matmul,
    Node,
    Part,
    Pdg,
    Read,
    Reduce,
    Reshape,
    Transpose,
)
from ostinato.pdg.origin import Origin
from ostinato.pdg.upper_bound import upper_bound


class Picks(Places):
    """The computed indices of a program; equal values along equal axes share one."""

    def __init__(
        self, pdg: Pdg, batched: dict[str, tuple[Dim, ...]], separate: frozenset[Dim]
    ) -> None:
        super().__init__(pdg, batched, separate)
        self.picks: dict[tuple[Value, Expr], Pick] = {}
        self.picked_indices: set[Dim | Extent] = set()

    def position(self, chosen: Value, x: Node, axis: int, point: Point) -> Digits:
        """A computed position of an axis of a node, clamped to it."""
        return self.divided(chosen, [c.size.at(point) for c in self.structures[x][axis]])

    def divided(self, chosen: Value, sizes: Sequence[Expr]) -> Digits:
        """A computed position as digits of the sizes, clamped to them: divided at run time."""
        if len(sizes) < 2:
            return tuple(Digit(self.pick(chosen, size), size) for size in sizes)
        wide = chosen if chosen.dtype == "int64" else Call("cast", (chosen,), "int64")
        last, first = Position(product(sizes) - 1, "int64"), Literal_(0, "int64")
        rest: Value = Call("maximum", (Call("minimum", (wide, last), "int64"), first), "int64")
        out: list[Digit] = []
        for size in reversed(sizes[1:]):
            steps = (rest, Position(size, "int64"))
            out.append(Digit(self.pick(Call("mod", steps, "int64"), size), size))
            rest = Call("floordiv", steps, "int64")
        out.append(Digit(self.pick(rest, sizes[0]), sizes[0]))
        return tuple(reversed(out))

    def respelled(self, digits: Digits, sizes: Sequence[Expr], node: Node) -> Digits:
        """The same position in digits of other sizes; the run divides by symbolic ones."""
        own = respell(digits, sizes)
        if own is not None:
            return own
        if self.is_picked(digits):
            raise _unknown_split(node, digits)
        return self.divided(Position(linear(digits), "int64"), sizes)

    def is_picked(self, digits: Digits) -> bool:
        """Whether a position mentions a computed index."""
        return any(d.at.dims & self.picked_indices for d in digits)

    def pick(self, chosen: Value, size: Expr) -> Expr:
        """The index that stands for a value along an axis."""
        known = self.picks.get((chosen, size))
        if known is None:
            most = upper_bound(size)
            axis = Axis(Dim(f"pick{len(self.picks)}", size=most), size, most)
            known = self.picks[chosen, size] = Pick(axis, chosen)
            self.picked_indices.add(axis.index)
        return expr(known.axis.index)

    def mentioned(self, exprs: Sequence[Expr]) -> tuple[Pick, ...]:
        """The computed indices in expressions, each after those that its size mentions."""
        found = {d for e in exprs for d in e.dims} & self.picked_indices
        out: list[Pick] = []
        for pick in reversed(self.picks.values()) if found else ():
            if pick.axis.index in found:
                found |= pick.axis.size.dims & self.picked_indices
                out.append(pick)
        return tuple(reversed(out))

    def is_loose(self, value: Value) -> bool:
        """Whether a computed index stands outside a load: no expression can say its value."""
        match value:
            case Literal_() | Load() | Call():
                own: frozenset[Dim | Extent] = frozenset()
            case Position(of):
                own = frozenset(of.dims)
            case Draw():
                own = frozenset(d for e in (*value.point, value.element) for d in e.dims)
            case Choice(cond):
                own = cond.symbols
            case unknown:
                assert_never(unknown)
        return not own.isdisjoint(self.picked_indices) or any(map(self.is_loose, children(value)))


class Elements(Picks):
    """Reads of any node at any indices, and the statements made so far."""

    def __init__(
        self, pdg: Pdg, batched: dict[str, tuple[Dim, ...]], separate: frozenset[Dim]
    ) -> None:
        super().__init__(pdg, batched, separate)
        self.statements: dict[str, Statement] = {}
        self.copies: dict[Node, Node] = {}

    def load(self, node: Node, point: Point, digits: Sequence[Digits]) -> Load:
        """Read a stored node; the digits are respelled to its own components."""
        frame = self.frame(node)
        at = dict(point)
        axes: list[Expr] = []
        for position, spelled in zip(frame.positions, digits, strict=True):
            sizes = [c.size.at(point) for _, c in position]
            own = self.respelled(spelled, sizes, node)
            for (index, c), digit in zip(position, own, strict=True):
                if c.label == index:
                    at[index] = digit.at
                else:
                    axes.append(digit.at)
        dims = tuple(at[d] for d in frame.dims)
        picks = self.mentioned((*dims, *axes))
        return Load(self.name(node), dims, tuple(axes), node.dtype, picks=picks)

    def gathered(self, node: Node, point: Point, digits: Sequence[Digits]) -> Value:
        """The element of a gather: its operand at an index that is computed.

        What is no read of one stored tensor becomes one first: an index expression of a computed
        index stands nowhere but in loads.
        """
        assert isinstance(node.op, Gather), f"{node} is no gather"
        (x, index), axis = node.args, node.op.axis
        chosen = self.value(index, point, narrow(index, digits, axis))
        inner = list(narrow(x, digits, axis))
        inner[axis] = self.position(chosen, x, axis, point)
        found = self.value(x, point, inner)
        if isinstance(found, Literal_ | Load) and not self.is_loose(found):
            return found
        return self.load(self.copied(x), point, inner)

    def picked(self, x: Node, point: Point, digits: Sequence[Digits]) -> Value:
        """The element of a node at computed indices, which stand nowhere but in loads."""
        found = self.value(x, point, digits)
        return self.load(self.copied(x), point, digits) if self.is_loose(found) else found

    def copied(self, x: Node) -> Node:
        """A stored node equal to ``x``."""
        if self.stored(x):
            return x
        if x not in self.copies:
            copy = Node(
                Map("stop_gradient"), (x,), x.domain, x.shape, x.dtype, Origin(x.where, x.label)
            )
            self.copies[x] = copy
            self.structures[copy] = self.structures[x]
            self.copy(copy, x)
        return self.copies[x]

    def copy(self, copy: Node, x: Node, inside: Cond = ALWAYS) -> None:
        """Store ``x`` where the condition holds, and zeros elsewhere."""
        frame = self.frame(copy)
        body = self.value(x, frame.point(), narrow(x, frame.digits()))
        padding = () if inside == ALWAYS else ((ALWAYS, Literal_(0, x.dtype)),)
        self.statements[self.name(copy)] = Statement(
            self.name(copy), "map", frame.dims, frame.axes, ((inside, body), *padding), x.dtype,
            self.lanes(frame), where=x.where, label=x.label,
        )  # fmt: skip

    def value(self, node: Node, point: Point, digits: Sequence[Digits]) -> Value:
        """The element of a node at a point and a position of each axis."""
        while not self.stored(node) and self.is_moved(node):
            flat = tuple(d for position in digits for d in position)
            node, (point, digits) = node.args[0], self.source(node, point, digits)
            if not self.is_picked(flat) and any(map(self.is_picked, digits)):
                return self.picked(node, point, digits)
        if self.stored(node):
            return self.load(node, point, digits)
        match node.op:
            case Const(values):
                return Literal_(values[0], node.dtype)
            case Affine(of):
                return Position(of.at(point))
            case Iota():
                return Position(linear(digits[0]))
            case Reduce() | Matmul() if (known := known_fold(node)) is not None:
                return known
            case Map("stop_gradient"):
                return self.value(node.args[0], point, digits)
            case Map(fn):
                args = tuple(self.value(a, point, narrow(a, digits)) for a in node.args)
                return Call(fn, args, node.dtype)
            case Case(cond):
                a, b = (self.value(x, point, digits) for x in node.args)
                return Choice(cond.at(point), a, b, node.dtype)
            case Gather():
                return self.gathered(node, point, digits)
            case _:
                raise AssertionError(f"{node} has no value of its own")

    def is_moved(self, node: Node) -> bool:
        """Whether a node only moves elements of its operand."""
        return isinstance(node.op, MOVES) or self.is_elsewhere(node)

    def affine(self, node: Node, point: Point, digits: Sequence[Digits]) -> Expr:
        """The index expression of an integer node that is one."""
        match node.op:
            case Const():
                return literal(node, tuple(digits))
            case Affine(of):
                return of.at(point)
            case Iota():
                return linear(digits[0])
            case Map(fn):
                args = [self.affine(a, point, narrow(a, digits)) for a in node.args]
                return applied(fn, args)
            case _:
                return self.affine(node.args[0], *self.source(node, point, digits))

    def source(
        self, node: Node, point: Point, digits: Sequence[Digits]
    ) -> tuple[Point, Sequence[Digits]]:
        """The point and the digits at which a movement operator reads its operand."""
        x = node.args[0]
        inner = list(digits)
        match node.op:
            case Read(at):
                there = dict(point)
                for dim, index in at:
                    if isinstance(index, Slice):
                        k = linear(inner.pop(0))
                        there[dim] = index.lo.at(point) + k * index.step
                    else:
                        there[dim] = index.at(point)
                return there, inner
            case Reshape(rank, shape):
                keep = len(inner) - len(shape)
                flat = tuple(d for p in inner[keep:] for d in p)
                old = [s.at(point) for s in x.shape[x.rank - rank :]]
                return point, (*inner[:keep], *self.spread(flat, old, node))
            case Transpose(perm):
                keep = len(inner) - len(perm)
                back = [inner[keep + perm.index(k)] for k in range(-len(perm), 0)]
                return point, (*inner[:keep], *back)
            case Broadcast():
                return point, narrow(x, digits)
            case Part(axis, Slice(lo, _, step)):
                size = x.shape[axis].at(point)
                start = lo.at(point)
                at_slice = Digit(start + linear(inner[axis]) * step, size)
                inner[axis] = () if size == ONE else (at_slice,)
                return point, inner
            case Part(axis, at_):
                assert isinstance(at_, Expr), "slices are handled above"
                digit = Digit(at_.at(point), x.shape[axis].at(point))
                inner.insert(len(inner) + axis + 1, () if digit.size == ONE else (digit,))
                return point, inner
            case Gather(axis, _):
                by = node.args[1]
                where = self.affine(by, point, narrow(by, digits, axis))
                size = x.shape[axis].at(point)
                taken = list(narrow(x, digits, axis))
                inside = Digit(clamped(where, size, self.axis_sizes), size)
                taken[axis] = () if size == ONE else (inside,)
                return point, taken
            case _:
                raise AssertionError(f"{node} is stored, not moved")

    def spread(self, flat: Digits, sizes: Sequence[Expr], node: Node) -> tuple[Digits, ...]:
        """Regroup the digits of a reshape result into the operand's axes."""
        wanted = [s for s in sizes if s != ONE]
        groups = match_products([d.size for d in flat], wanted)
        if groups is not None:  # whole axes merged: the operand may know the same components
            runs = iter(tuple(flat[k] for k in run) for run, _ in groups)
        else:
            runs = iter((digit,) for digit in self.respelled(flat, wanted, node))
        return tuple(() if s == ONE else next(runs) for s in sizes)


def narrow(x: Node, digits: Sequence[Digits], keep: int = 0) -> tuple[Digits, ...]:
    """The digits of an operand: none where its axis has size 1 and repeats."""
    return tuple(
        () if size == ONE and k - x.rank != keep else d
        for k, (size, d) in enumerate(zip(x.shape, digits, strict=True))
    )


def _unknown_split(node: Node, digits: Digits) -> ShapeError:
    sizes = ", ".join(str(d.size) for d in digits)
    return ShapeError(
        f"`{node}` is reshaped across axes of sizes {sizes}, which are known only at run time",
        "Reshape so that whole axes merge or split.",
        node.where,
    )

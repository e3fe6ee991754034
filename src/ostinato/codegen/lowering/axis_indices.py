"""The indices behind the axes of a node: which axes are time dimensions that became vectors.

An axis position of a node is made of *components*, outermost first: none for an axis of size 1, one
for an ordinary axis, several where a reshape merged axes (rows ``T * B`` are the components ``t``
and ``b``). A component that ranges over all points of a time dimension is *labelled* with it, so
that ``vec(x, b)`` has the index ``b`` again and movement dissolves into index expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from ostinato.pdg.index import Dim, Expr, Slice, expr, floordiv, mod, product
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
    Random,
    Read,
    Rec,
    Reduce,
    Reshape,
    Scan,
    Transpose,
)

ONE = expr(1)


@dataclass(frozen=True, slots=True)
class Component:
    """One index of an axis: its size, and the time dimension it stands for, if any."""

    size: Expr
    label: Dim | None = None


Position = tuple[Component, ...]
Structure = tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class Digit:
    """The value of one component index, as an expression of the reader's indices."""

    at: Expr
    size: Expr


Digits = tuple[Digit, ...]


def linear(digits: Digits) -> Expr:
    """The row-major position that the digits spell."""
    out = expr(0)
    for digit in digits:
        out = out * digit.size + digit.at
    return out


def respell(digits: Digits, sizes: Sequence[Expr]) -> Digits | None:
    """The same position in digits of other sizes; None if it would divide by a symbolic size."""
    if tuple(d.size for d in digits) == tuple(sizes):
        return digits
    groups = match_products([d.size for d in digits], sizes)
    if groups is not None:
        return tuple(Digit(linear(tuple(digits[k] for k in g)), s) for g, s in groups)
    position = linear(digits)
    out: list[Digit] = []
    for k in reversed(range(len(sizes))):
        if k == 0:
            out.append(Digit(position, sizes[0]))
        elif sizes[k].is_const and sizes[k].const > 0:
            out.append(Digit(mod(position, sizes[k].const), sizes[k]))
            position = floordiv(position, sizes[k].const)
        else:
            return None
    return tuple(reversed(out))


def match_products(
    fine: Sequence[Expr], coarse: Sequence[Expr], whole: bool = True
) -> list[tuple[tuple[int, ...], Expr]] | None:
    """Runs of ``fine``, all of it if ``whole``, with the products ``coarse``, or None."""
    out: list[tuple[tuple[int, ...], Expr]] = []
    k = 0
    for size in coarse:
        run: list[int] = []
        while product(fine[j] for j in run) != size:
            if k == len(fine):
                return None
            run.append(k)
            k += 1
        out.append((tuple(run), size))
    return out if k == len(fine) or not whole else None


def plain(shape: Sequence[Expr]) -> Structure:
    """One unlabelled component per axis that is longer than one."""
    return tuple(() if size == ONE else (Component(size),) for size in shape)


def _merge(options: Sequence[Position]) -> Position:
    """The most informative description of an axis: labelled first, then the finest."""
    present = [p for p in options if p]
    if not present:
        return ()
    return max(present, key=lambda p: (sum(c.label is not None for c in p), len(p)))


def _aligned(parts: Sequence[Structure], lead: int) -> list[Position]:
    """The merged leading ``lead`` positions of operands of equal rank."""
    return [_merge([s[k] for s in parts]) for k in range(lead)]


def _read(at: Sequence[tuple[Dim, object]], inner: Structure) -> Structure:
    leading: list[Position] = []
    for dim, index in at:
        if isinstance(index, Slice):
            full = index == dim.whole
            size = index.size
            leading.append(() if size == ONE else (Component(size, dim if full else None),))
    points = {d: e for d, e in at if isinstance(e, Expr)}
    rest = tuple(
        tuple(Component(c.size.at(points), c.label) for c in position) for position in inner
    )
    return (*leading, *rest)


def _reshaped(op: Reshape, inner: Structure) -> Structure:
    """Merged axes keep their components; split axes keep those that a run of them matches."""
    keep, old = inner[: len(inner) - op.rank], inner[len(inner) - op.rank :]
    flat = tuple(c for position in old for c in position)
    runs = iter(_runs(flat, [s for s in op.shape if s != ONE]))
    return (*keep, *(() if s == ONE else next(runs) for s in op.shape))


def _runs(flat: Position, sizes: Sequence[Expr]) -> Iterator[Position]:
    """The components that make each size; a plain one where components are cut into sizes."""
    if not sizes:
        return
    for many in range(1, len(sizes) + 1):
        found = match_products([c.size for c in flat], [product(sizes[:many])], whole=False)
        if found is not None:
            run = found[0][0]
            yield from [flat[: len(run)]] if many == 1 else plain(sizes[:many])
            yield from _runs(flat[len(run) :], sizes[many:])
            return
    yield from plain(sizes)


def _sized(structure: Structure, shape: Sequence[Expr]) -> Structure:
    """Forget components whose product is not the axis size (a broadcast axis, a slice)."""
    return tuple(
        position
        if product(c.size for c in position) == size
        else (() if size == ONE else (Component(size),))
        for position, size in zip(structure, shape, strict=True)
    )


def structure(node: Node, inner: Sequence[Structure], batched: Sequence[Dim] = ()) -> Structure:
    """The structure of a node, given those of its operands.

    ``batched`` names the leading axes of a recurrence that rewriting made from dimensions.
    """
    return _sized(_structure(node, inner, batched), node.shape)


def _structure(node: Node, inner: Sequence[Structure], batched: Sequence[Dim]) -> Structure:
    match node.op:
        case Rec():
            rows: Structure = tuple((Component(expr(d.extent), d),) for d in batched)
            return (*rows, *plain(node.shape[len(batched) :]))
        case Input() | Const() | Affine() | Iota() | Random() | Host():
            return plain(node.shape)
        case Read(at):
            return _read(at, inner[0])
        case Map() | Case() | Linear():
            return tuple(_aligned(inner, node.rank))
        case Scan():
            return inner[0]
        case Reduce(_, axes):
            rank = len(inner[0])
            return tuple(p for k, p in enumerate(inner[0]) if k - rank not in axes)
        case Matmul():
            lead = _aligned(inner, node.rank - 2)
            return (*lead, inner[0][-2], inner[1][-1])
        case Reshape() as op:
            return _reshaped(op, inner[0])
        case Transpose(perm):
            keep = len(inner[0]) - len(perm)
            return (*inner[0][:keep], *(inner[0][p] for p in perm))
        case Broadcast():
            return inner[0]
        case Concat(axis):
            merged = _aligned(inner, node.rank)
            merged[axis] = ()
            return tuple(merged)
        case Part(axis, at):
            out = list(inner[0])
            if isinstance(at, Slice):
                out[axis] = (Component(at.size),)
            else:
                del out[axis]
            return tuple(out)
        case Gather(axis, _):
            merged = _aligned(inner, node.rank)
            merged[axis] = inner[1][axis]
            return tuple(merged)
        case Along(_, axis, size):
            merged = _aligned(inner, node.rank)
            merged[axis] = () if size == ONE else (Component(size),)
            return tuple(merged)
        case other:
            assert_never(other)

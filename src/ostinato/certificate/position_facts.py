"""What integers and truth values say of positions, computed anew: masks of ranges, and lags.

An element of a tensor of counts and indices is followed to the leaves, with a symbol for its
position. isl decides which positions a truth value keeps; a number rises evenly with the lag where
the point cancels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ostinato.certificate.index_facts import Numbers
from ostinato.certificate.matrix_facts import line_rows
from ostinato.pdg import isl
from ostinato.pdg.build import const, map_node
from ostinato.pdg.condition import (
    ALWAYS,
    Compare,
    Cond,
    Every,
    at_least,
    equal,
    every,
    negation,
    some,
)
from ostinato.pdg.index import Dim, Expr, Slice, expr, floordiv, maximum, minimum, mod
from ostinato.pdg.intervals import Interval, interval
from ostinato.pdg.node import (
    Affine,
    Broadcast,
    Const,
    Iota,
    Map,
    Node,
    Part,
    Read,
    Reshape,
    Transpose,
)
from ostinato.rewrite.engine.egglog_session import Row
from ostinato.rewrite.relations import saying
from ostinato.rewrite.relations.meanings import Among, AsMany, Steps

_INT32, _ONE, _HELD = Interval(-(2**31), 2**31 - 1), expr(1), 2**24
Known = Expr | Cond
Add = Callable[[Node], int]


class Unknown(Exception):
    """An element that is no index expression, and no condition on one."""


def known(node: Node, at: Sequence[Expr]) -> Known:
    """An element of a tensor at positions, at any point.

    Errors: Unknown.
    """
    found = _known(node, at)
    if isinstance(found, Expr) and not interval(found).within(_INT32):
        raise Unknown(f"{found} may leave its type")
    return found


def _known(node: Node, at: Sequence[Expr]) -> Known:
    match node.op:
        case Affine(of) if node.dtype == "int32":
            return of
        case Iota():
            return at[0]
        case Const(values) if len(set(values)) == 1 and float(values[0]).is_integer():
            return expr(int(values[0]))
        case Map(fn):
            return _function(fn, node, [(a, _thin(a, at)) for a in node.args])
        case Broadcast():
            return known(node.args[0], _thin(node.args[0], at))
        case Transpose(perm):
            places = [at[len(at) - len(perm) + perm.index(k - len(perm))] for k in range(len(perm))]
            return known(node.args[0], (*at[: len(at) - len(perm)], *places))
        case Reshape():
            (x,) = node.args
            long = [i for i, size in zip(at, node.shape, strict=True) if size != _ONE]
            if [s for s in node.shape if s != _ONE] != [s for s in x.shape if s != _ONE]:
                raise Unknown("a reshape of several axes")
            return known(x, [expr(0) if size == _ONE else long.pop(0) for size in x.shape])
        case Part(axis, Slice(lo, _, step)):
            moved = [i * step + lo if k - len(at) == axis else i for k, i in enumerate(at)]
            return known(node.args[0], moved)
        case Part(axis, Expr() as index):
            place = len(at) + 1 + axis
            return known(node.args[0], (*at[:place], index, *at[place:]))
        case Read(pairs):
            return _read(node, pairs, at)
        case _:
            raise Unknown(f"{node.op}")


def _thin(x: Node, at: Sequence[Expr]) -> list[Expr]:
    """Positions in an operand, whose axes of size 1 repeat."""
    return [expr(0) if size == _ONE else i for size, i in zip(x.shape, at, strict=True)]


def _read(node: Node, pairs: Sequence[tuple[Dim, Expr | Slice]], at: Sequence[Expr]) -> Known:
    places, there = list(at), dict[Dim, Expr]()
    for dim, index in pairs:
        there[dim] = index.lo + places.pop(0) * index.step if isinstance(index, Slice) else index
    inner = known(node.args[0], places)
    if not isinstance(inner, Expr):
        raise Unknown("a truth value at another point")
    return inner.at(there)


def _function(fn: str, node: Node, args: Sequence[tuple[Node, Sequence[Expr]]]) -> Known:
    if node.dtype != "bool" and node.dtype != "int32":
        raise Unknown("no integer")
    if fn in _COMPARED:
        literal = any(isinstance(x.op, Const) for x, _ in args)
        pair = [_compared(x, at, literal) for x, at in args]
        return _COMPARED[fn](*pair)
    values = [known(x, at) for x, at in args]
    match fn, values:
        case "not", [c] if not isinstance(c, Expr):
            return negation(c)
        case (("and" | "or"), _):
            conds = [v for v in values if not isinstance(v, Expr)]
            return every(*conds) if fn == "and" else some(*conds)
        case _:
            numbers = [v for v in values if isinstance(v, Expr)]
            if len(numbers) < len(values):
                raise Unknown(fn)
            return _number(fn, numbers)


def _compared(x: Node, at: Sequence[Expr], literal: bool) -> Expr:
    """An integer, which may be rounded where it is compared with a number that floats hold."""
    if literal and isinstance(x.op, Map) and x.op.fn == "cast" and x.dtype.startswith("float"):
        (x,) = x.args
    found = known(x, at)
    if not isinstance(found, Expr) or (isinstance(x.op, Const) and abs(found.const) > _HELD):
        raise Unknown("no integer")
    if x.dtype not in ("int32", "float32", "float64"):
        raise Unknown("another type")
    return found


_COMPARED: dict[str, Callable[[Expr, Expr], Cond]] = {
    "ge": at_least,
    "gt": lambda a, b: at_least(a, b + 1),
    "le": lambda a, b: at_least(b, a),
    "lt": lambda a, b: at_least(b, a + 1),
    "eq": equal,
    "ne": lambda a, b: negation(equal(a, b)),
}


def _number(fn: str, values: Sequence[Expr]) -> Expr:
    match fn, values:
        case "neg", [a]:
            return -a
        case "abs", [a]:
            return maximum(a, -a)
        case "cast", [a]:
            return a
        case "add", [a, b]:
            return a + b
        case "sub", [a, b]:
            return a - b
        case "mul", [a, b] if a.is_const or b.is_const:
            return a * b
        case (("minimum" | "maximum"), [a, b]):
            return minimum(a, b) if fn == "minimum" else maximum(a, b)
        case (("floordiv" | "mod"), [a, b]) if b.is_const and b.const > 0:
            return floordiv(a, b.const) if fn == "floordiv" else mod(a, b.const)
        case _:
            raise Unknown(fn)


@dataclass(frozen=True)
class _Vector:
    """A tensor with one axis that is not of size 1, and its element at a position of it."""

    node: Node
    axis: int
    place: Dim
    element: Known

    @property
    def size(self) -> Expr:
        return self.node.shape[self.axis]


def _vectors(nodes: Sequence[Node]) -> Iterator[_Vector]:
    for node in nodes:
        long = [k - node.rank for k, size in enumerate(node.shape) if size != _ONE]
        if len(long) != 1 or node.dtype not in ("bool", "int32"):
            continue
        place = Dim("place", size=node.shape[long[0]])
        at = [expr(place) if k - node.rank == long[0] else expr(0) for k in range(node.rank)]
        try:
            yield _Vector(node, long[0], place, known(node, at))
        except Unknown:
            continue


def position_rows(nodes: dict[Node, int], numbers: Numbers, add: Add) -> dict[str, list[Row]]:
    """All rows about positions; ``add`` gives nodes that laws need numbers."""
    out = line_rows(nodes, numbers, add)
    vectors = list(_vectors(list(nodes)))
    for v in vectors:
        if not isinstance(v.element, Expr):
            _masks(v, v.element, nodes, numbers, add, out)
    _lags(vectors, nodes, numbers, add, out)
    for name, claim in saying(Among).items():
        out[name] = [(fn,) for fn in claim.names]
    for node in list(nodes):
        if isinstance(node.op, Const) and all(0 < x < math.inf for x in node.op.values):
            out.setdefault("raw_positive", []).append((nodes[node],))
            if all(0.01 <= x <= 100 for x in node.op.values):
                out.setdefault("raw_gentle", []).append((nodes[node],))
    return out


# ------------------------------------------------------------------ masks


def _masks(
    v: _Vector,
    cond: Cond,
    nodes: dict[Node, int],
    numbers: Numbers,
    add: Add,
    out: dict[str, list[Row]],
) -> None:
    """The ranges that a truth value keeps, and those that its opposite keeps."""
    dims = [d for d in numbers.dims if expr(d.extent) == v.size]
    opposite = map_node("not", [v.node])
    for kept, node in ((cond, v.node), (negation(cond), opposite)):
        parts = _kept(v, kept) if dims else ()
        if not parts:
            continue
        number = nodes[node] if node in nodes else add(node)
        if node is opposite:
            out.setdefault("raw_opposite", []).append((nodes[v.node], number))
        ids = [numbers.of(part) for part in parts]
        name = "raw_keeps" if len(parts) == 1 else "raw_keeps_both"
        out.setdefault(name, []).append((number, -v.axis, *ids))
        for part, dim in itertools.product(ids, dims):
            out.setdefault("kept", []).append((part,))
            out.setdefault("section", []).append((numbers.of(v.size), part))
            out.setdefault("piece", []).append((numbers.of(dim.whole), part, part))


def _kept(v: _Vector, cond: Cond) -> tuple[Slice, ...]:
    """The one or two ranges of positions at which a condition holds, at every point of the box."""
    dims = (*v.node.domain, v.place)
    box = isl.domain_set(dims, {v.place: v.size})
    kept = box.where(cond)
    pieces = kept.gist(box).pieces()
    if kept.is_empty() or kept.is_equal(box) or len(pieces) > 2:
        return ()
    choices = [list(_candidates(piece, v)) for piece in pieces]
    for found in itertools.product(*choices):
        for parts in itertools.permutations(found):
            if _is_kept(parts, kept, v):
                return parts
    return ()


def _candidates(piece: Cond, v: _Vector) -> Iterator[Slice]:
    """Ranges between the bounds of a conjunction, cut where the axis ends."""
    lows, highs = list[Expr](), list[Expr]()
    for part in piece.of if isinstance(piece, Every) else (piece,):
        slope = dict(part.of.terms).get(v.place, 0) if isinstance(part, Compare) else 0
        if not isinstance(part, Compare) or not slope:
            continue
        rest = part.of - expr(v.place) * slope
        if v.place in rest.dims:
            return
        for sign in (1, -1) if part.kind == "eq" else (1,):
            if slope * sign > 0:
                lows.append(-floordiv(rest * sign, slope * sign))
            else:
                highs.append(floordiv(rest * sign, -slope * sign) + 1)
    zero, size = expr(0), v.size
    low = [*lows, maximum(*lows, 0), *(minimum(x, size) for x in lows)] if lows else [zero]
    high = [*highs, minimum(*highs, size), *(maximum(x, 0) for x in highs)] if highs else [size]
    yield from (Slice(a, b) for a in low for b in high)


def _is_kept(parts: Sequence[Slice], kept: isl.Set, v: _Vector) -> bool:
    """Whether ranges in order, inside the axis, hold exactly what is kept."""
    ends = [expr(0), *(e for p in parts for e in (p.lo, p.hi)), v.size]
    ordered = every(*(at_least(b, a) for a, b in itertools.pairwise(ends)))
    points = isl.domain_set(v.node.domain)
    held = some(*(every(at_least(v.place, p.lo), at_least(p.hi - 1, v.place)) for p in parts))
    box = isl.domain_set(kept.dims, {v.place: v.size})
    in_order = points.is_subset(isl.condition_set(points.dims, ordered))
    return in_order and box.where(held).is_equal(kept)


# ------------------------------------------------------------------ lags


def _lags(
    vectors: Sequence[_Vector],
    nodes: dict[Node, int],
    numbers: Numbers,
    add: Add,
    out: dict[str, list[Row]],
) -> None:
    """Ranges that one step enters at every point, and what rises evenly with the lag in them."""
    kinds = [steps for steps in saying(Steps).values() if steps.gains]
    for name, claim in saying(AsMany).items():
        for dim, pair in itertools.product(numbers.dims, claim.ranges):
            ends = (each.ends(expr(0), expr(dim), expr(dim.extent)) for each in pair)
            parts = [Slice(*each) for each in ends]
            if all(part in numbers.known for part in parts):
                cells = numbers.bit(dim), *map(numbers.of, parts)
                out.setdefault(name, []).append(cells)
    for dim, steps in itertools.product(numbers.dims, kinds):
        lo, hi = steps.ends(expr(0), expr(dim), expr(dim.extent))
        if Slice(lo, hi) not in numbers.known:
            continue
        part, back = numbers.of(Slice(lo, hi)), steps.gains == "first"
        enters = lo if back else hi - 1
        cells = (numbers.bit(dim), part, numbers.of(enters), int(back))
        out.setdefault("enters", []).append(cells)
        before = {dim: expr(dim) + (1 if back else -1)}
        some = at_least(hi - 1, lo), at_least(hi.at(before) - 1, lo.at(before))
        conds = (ALWAYS, ALWAYS) if enters == expr(dim) else some
        out.setdefault("some_where", []).append((part, *map(numbers.of, conds)))
        for v in vectors:
            if v.axis != -v.node.rank or not isinstance(v.element, Expr):
                continue
            for name, first in (("raw_lagged", expr(0)), ("raw_lagged_in", lo)):
                size = hi - lo if name == "raw_lagged" else expr(dim.extent)
                found = _rise(v, first, hi - lo, back) if v.size == size else None
                if found is not None:
                    shape = (_ONE,) * (v.node.rank - 1)
                    ids = [add(const(k, "int32", shape)) for k in found]
                    row = (nodes[v.node], numbers.bit(dim), part, *ids)
                    out.setdefault(name, []).append(row)


def _rise(v: _Vector, first: Expr, steps: Expr, back: bool) -> tuple[int, int] | None:
    """By how much an element rises with every lag, and what it is where it enters."""
    lag = Dim("lag")
    place = first + (expr(lag) if back else steps - 1 - lag)
    assert isinstance(v.element, Expr), "a truth value does not rise"
    value = v.element.at({v.place: place})
    rise = dict(value.terms).get(lag, 0)
    start = value - expr(lag) * rise
    return (rise, start.const) if rise and start.is_const else None

"""Integer nodes that are index expressions of counters: a gather by one is a read elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from ostinato.codegen.lowering.axis_indices import Digits, linear
from ostinato.pdg import isl
from ostinato.pdg.condition import at_least
from ostinato.pdg.constant import uniform
from ostinato.pdg.index import Dim, Expr, Slice, expr, maximum, minimum
from ostinato.pdg.intervals import (
    LARGEST,
    Interval,
    extreme,
    hull,
    interval,
    is_quasi_affine,
    magnitude,
)
from ostinato.pdg.node import (
    MOVES,
    Affine,
    Broadcast,
    Const,
    Dtype,
    Iota,
    Map,
    Node,
    Part,
    Read,
    Reshape,
    Transpose,
    postorder,
)

SIGNED: dict[Dtype, int] = {"int32": 2**31, "int64": LARGEST}  # an unsigned number is none
LONGEST = 64  # operators of an expression; what has more is computed like any other tensor
_SAME = ("stop_gradient", "cast", "neg")
_TWO = ("add", "sub", "minimum", "maximum")
_At = Mapping[Dim, Interval]


class Affinities:
    """Which integer nodes are index expressions, asked often and answered once.

    An expression never wraps around, and a tensor of integers does. So a node is an expression only
    if it is proved that none of the numbers that it is computed from leaves its type.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Node, tuple[tuple[Dim, Interval], ...]], Interval | None] = {}

    def holds(self, node: Node) -> bool:
        """Whether every element is an index expression of its place, and not a long one."""
        if sum(1 for _ in islice(postorder((node,)), LONGEST + 1)) > LONGEST:
            return False
        return self._interval(node, {}) is not None

    def _interval(self, node: Node, at: _At) -> Interval | None:
        """The integers that the elements may be, if they are expressions that never wrap.

        ``at`` says where the dimensions of a node are read, if not in their box.
        """
        own = {d: i for d, i in at.items() if d in node.domain}
        key = node, tuple(sorted(own.items(), key=lambda pair: pair[0].serial))
        if key not in self._known:
            most = SIGNED.get(node.dtype, 0)
            found = self._computed(node, own) if most else None
            if found is not None and not found.within(Interval(-most, most - 1)):
                found = None
            self._known[key] = found
        return self._known[key]

    def _computed(self, node: Node, at: _At) -> Interval | None:
        match node.op:
            case Affine(of) if magnitude(of) < LARGEST:
                return interval(of, at)
            case Iota(size):
                return Interval(0, max(0, min(interval(size, at).high, 2**31 - 1) - 1))
            case Const(values):
                even = _progression(node) is not None
                return hull(Interval(int(v), int(v)) for v in values) if even else None
            case Map(fn) if fn in (*_SAME, *_TWO, "mul", "floordiv", "mod"):
                args = [self._interval(a, at) for a in node.args]
                known = [a for a in args if a is not None]
                return _applied(fn, node, known) if len(known) == len(args) else None
            case Read(pairs):
                there = dict(at)
                for dim, index in pairs:
                    ends = (index.lo, index.hi - 1) if isinstance(index, Slice) else (index,)
                    there[dim] = hull(interval(e, at) for e in ends)
                return self._interval(node.args[0], there)
            case Reshape() | Transpose() | Broadcast() | Part():
                return self._interval(node.args[0], at)
            case _:
                return None


def _applied(fn: str, node: Node, args: list[Interval]) -> Interval | None:
    """The integers that a function of integers may be."""
    match fn, args:
        case "neg", [x]:
            return -x
        case "add", [x, y]:
            return x + y
        case "sub", [x, y]:
            return x - y
        case "mul", [x, y]:
            return None if [whole(a) for a in node.args] == [None, None] else x * y
        case "floordiv" | "mod", [x, _]:
            by = whole(node.args[1])
            return None if by is None or by <= 0 else x // by if fn == "floordiv" else x % by
        case "minimum" | "maximum", [x, y]:
            return extreme(fn[:3], (x, y))
        case _:
            return args[0]


def whole(node: Node) -> int | None:
    """The integer that a node is everywhere, or None."""
    while isinstance(node.op, MOVES):
        node = node.args[0]
    match node.op:
        case Affine(of) if of.is_const:
            return of.const
        case Const(values) if uniform(values):
            return int(values[0])
        case _:
            return None


def _progression(node: Node) -> tuple[int, int] | None:
    """First number and step of a literal whose numbers rise evenly in row-major order."""
    assert isinstance(node.op, Const), f"{node} is no literal"
    values = [int(v) for v in node.op.values]
    step = values[1] - values[0] if len(values) > 1 else 0
    even = all(v == values[0] + k * step for k, v in enumerate(values))
    return (values[0], step) if even else None


def literal(node: Node, digits: tuple[Digits, ...]) -> Expr:
    """The number of an even literal at a place."""
    found = _progression(node)
    assert found is not None, f"{node} rises unevenly"
    first, step = found
    return expr(first) + linear(tuple(d for position in digits for d in position)) * step


def clamped(at: Expr, size: Expr, axes: Mapping[Dim, Expr]) -> Expr:
    """``at`` forced into ``[0, size)``, as far as it is not proved to lie there.

    ``axes`` are the sizes of the axis indices; other dims have their extents.
    """
    if not _proved(at, at, size, axes):
        at = maximum(at, 0)
    last = size - 1
    return at if _proved(last - at, at, size, axes) else minimum(at, last)


def _proved(value: Expr, at: Expr, size: Expr, axes: Mapping[Dim, Expr]) -> bool:
    """Whether an expression is never negative in the box of the indices."""
    dims = at.dims | size.dims
    while more := {m for d in dims if d in axes for m in axes[d].dims} - dims:
        dims = dims | more
    sizes = {d: axes[d] for d in dims if d in axes}
    mentioned = [at, size, *sizes.values()]
    if not all(map(is_quasi_affine, mentioned)):
        return False
    ordered = tuple(sorted(dims, key=lambda d: d.serial))
    box = isl.domain_set(ordered, sizes).assume({})
    return box.is_subset(isl.condition_set(ordered, at_least(value, 0)))

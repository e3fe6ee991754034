"""Integer nodes that are index expressions of counters: a gather by one is a read elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from ostinato.codegen.lowering.structure import Digits, linear
from ostinato.pdg import isl
from ostinato.pdg.affine import is_quasi_affine
from ostinato.pdg.condition import at_least
from ostinato.pdg.constant import uniform
from ostinato.pdg.index import (
    Dim,
    Expr,
    dims_of,
    expr,
    floordiv,
    maximum,
    minimum,
    mod,
)
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

VIEWS = Read | Reshape | Transpose | Broadcast | Part
SIGNED = ("int32", "int64")  # an unsigned number wraps where an expression does not
_SAME = ("stop_gradient", "cast", "neg")
_TWO = ("add", "sub", "minimum", "maximum")


class Affinities:
    """Which integer nodes are index expressions, asked often and answered once."""

    def __init__(self) -> None:
        self._known: dict[Node, bool] = {}

    def holds(self, node: Node) -> bool:
        """Whether every element is an index expression of its place."""
        if node not in self._known:
            self._known[node] = node.dtype in SIGNED and self._is_affine(node)
        return self._known[node]

    def _is_affine(self, node: Node) -> bool:
        match node.op:
            case Affine() | Iota():
                return True
            case Const():
                return _progression(node) is not None
            case Map(fn) if fn in (*_SAME, *_TWO):
                return all(self.holds(a) for a in node.args)
            case Map("mul"):
                factors = [whole(a) for a in node.args]
                return all(map(self.holds, node.args)) and factors != [None, None]
            case Map("floordiv" | "mod"):
                by = whole(node.args[1])
                return self.holds(node.args[0]) and by is not None and by > 0
            case op if isinstance(op, VIEWS):
                return self.holds(node.args[0])
            case _:
                return False


def whole(node: Node) -> int | None:
    """The integer that a node is everywhere, or None."""
    while isinstance(node.op, VIEWS):
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


def applied(fn: str, args: list[Expr]) -> Expr:
    """An integer function of index expressions."""
    match fn, args:
        case "stop_gradient" | "cast", [x]:
            return x
        case "neg", [x]:
            return -x
        case "add", [x, y]:
            return x + y
        case "sub", [x, y]:
            return x - y
        case "mul", [x, y]:
            return x * y
        case "floordiv", [x, y]:
            return floordiv(x, y.as_int())
        case "mod", [x, y]:
            return mod(x, y.as_int())
        case "minimum" | "maximum", [x, y]:
            return minimum(x, y) if fn == "minimum" else maximum(x, y)
        case _:
            raise AssertionError(f"{fn} of {len(args)} expressions is no expression")


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
    dims = dims_of(at) | dims_of(size)
    while more := {m for d in dims if d in axes for m in dims_of(axes[d])} - dims:
        dims = dims | more
    sizes = {d: axes[d] for d in dims if d in axes}
    mentioned = [at, size, *sizes.values()]
    if not all(map(is_quasi_affine, mentioned)):
        return False
    ordered = tuple(sorted(dims, key=lambda d: d.serial))
    box = isl.domain_set(ordered, sizes).assume({})
    return box.is_subset(isl.condition_set(ordered, at_least(value, 0)))

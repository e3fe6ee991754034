"""The reverse of functions of a whole axis: most are a linear recurrence that runs backwards.

With ``y[k] = f(x[k], y[k - 1])`` the adjoint that arrives at step ``k`` is ``r[k] = up[k] +
gate[k + 1] * r[k + 1]``, where the gate is the derivative by the earlier value. Nothing is divided,
so zeros need no special case.
"""

from __future__ import annotations

from ostinato.pdg.arithmetic import Algebra, full
from ostinato.pdg.build import ONE, affine, along, const, gather, iota, map_node, pad_rank, reshape
from ostinato.pdg.grad.gathers import clamped, taken
from ostinato.pdg.index import Expr
from ostinato.pdg.node import Affine, Along, Broadcast, Gather, Iota, Map, Node, Read, Reshape


def positions(size: Expr, axis: int, where: str = "") -> Node:
    """0, 1, ..., along an axis, as int32 with size-1 axes behind."""
    return reshape(iota(size), (size, *(ONE,) * (-axis - 1)), where=where)


def flip(x: Node, axis: int, where: str = "") -> Node:
    """Return ``x`` with an axis (negative) in reverse order."""
    size = x.shape[axis]
    if size == ONE:
        return x
    backwards = map_node("sub", [affine(size - 1), iota(size)], where=where)
    index = reshape(backwards, (size, *(ONE,) * (-axis - 1)), where=where)
    return gather(x, pad_rank(index, x.rank), axis, where)


def is_flip(node: Node) -> bool:
    """Whether a gather puts an axis in reverse order."""
    if not isinstance(node.op, Gather):
        return False
    axis, (x, index) = node.op.axis, node.args
    size = x.shape[axis]
    while _repeats(index):
        (index,) = index.args
    others = (s for k, s in enumerate(index.shape) if k != index.rank + axis)
    if index.rank < -axis or index.shape[axis] != size or any(s != ONE for s in others):
        return False  # not all positions in each row
    index = _source(index)
    if not isinstance(index.op, Map) or index.op.fn != "sub":
        return False
    last, count = map(_source, index.args)
    return last.op == Affine(size - 1) and count.op == Iota(size)


def _repeats(x: Node) -> bool:
    """Whether a value only repeats its operand along other axes, counted from the right."""
    if isinstance(x.op, Read):
        return not any(dim in x.args[0].domain for dim, _ in x.op.at)
    return isinstance(x.op, Broadcast)


def _source(x: Node) -> Node:
    while isinstance(x.op, Reshape):
        (x,) = x.args
    return x


def along_back(node: Node, k: int, up: Node) -> Node:
    """The contribution of a function of a whole axis to its operand ``k``; ``up`` may be thin."""
    assert isinstance(node.op, Along), f"{node} is no function of an axis"
    a, operand, axis = Algebra(node.where), node.args[k], node.op.axis
    value = _scattered(node, up) if node.op.fn == "scatter" else _swept(node, k, wide(node, up))
    here = list(node.shape)
    here[axis] = operand.shape[axis]
    return a.fit(value, tuple(here), operand.shape)


def wide(node: Node, up: Node) -> Node:
    """An adjoint of a node with its axis, along which a function works, at full size."""
    assert isinstance(node.op, Along | Gather), f"{node} works along no axis"
    axis = node.op.axis
    return full(up, (node.shape[axis], *up.shape[up.rank + axis + 1 :]), node.where)


def _swept(node: Node, k: int, up: Node) -> Node:
    """The reverse of a recurrence along the axis."""
    assert isinstance(node.op, Along), f"{node} is no function of an axis"
    a, x, axis = Algebra(node.where), node.args[-1], node.op.axis
    match node.op.fn:
        case "sum":
            total = along("sum", [flip(up, axis, node.where)], axis, where=node.where)
            return flip(total, axis, node.where)
        case "prod":
            return a.mul(_carried(node, up, x), _earlier(node, a.number(1, x)))
        case "max" | "min":
            gate = _kept(node, x)
            own = a.sub(a.number(1, gate), gate)
            return a.mul(_carried(node, up, gate), own)
        case "logsumexp":
            gate = _ratio(a, _earlier(node, node), node)
            return a.mul(_carried(node, up, gate), _ratio(a, x, node))
        case "linear":
            carried = _carried(node, up, node.args[0])
            return carried if k == 1 else a.mul(carried, _earlier(node, a.number(0, x)))
        case other:
            raise AssertionError(f"no derivative of {other} along an axis")


def _carried(node: Node, up: Node, gate: Node) -> Node:
    """``r[k] = up[k] + gate[k + 1] * r[k + 1]``, from the last position backwards."""
    assert isinstance(node.op, Along), f"{node} is no function of an axis"
    a, axis, size = Algebra(node.where), node.op.axis, node.op.size
    place = positions(size, axis, node.where)
    later = a.map("minimum", a.map("sub", affine(size), place), affine(size - 1))
    turned = gather(gate, pad_rank(later, gate.rank), axis, node.where)
    gain = a.choose(_is_first(node), a.number(0, gate), turned)
    run = along("linear", [gain, flip(up, axis, node.where)], axis, where=node.where)
    return flip(run, axis, node.where)


def _is_first(node: Node) -> Node:
    assert isinstance(node.op, Along), f"{node} is no function of an axis"
    a = Algebra(node.where)
    place = positions(node.op.size, node.op.axis, node.where)
    return pad_rank(a.map("eq", place, const(0, "int32")), node.rank)


def _earlier(node: Node, first: Node) -> Node:
    """The result at the position before, and ``first`` before the first."""
    assert isinstance(node.op, Along), f"{node} is no function of an axis"
    a, axis = Algebra(node.where), node.op.axis
    place = positions(node.op.size, axis, node.where)
    before = a.map("maximum", a.map("sub", place, const(1, "int32")), a.number(0, place))
    index = pad_rank(before, node.rank)
    return a.choose(_is_first(node), first, gather(node, index, axis, node.where))


def _kept(node: Node, x: Node) -> Node:
    """How much of a running extreme comes from the position before: ties share evenly."""
    assert isinstance(node.op, Along), f"{node} is no function of an axis"
    a = Algebra(node.where)
    one, half, zero = (a.number(n, x) for n in (1, 0.5, 0))
    before = _earlier(node, node)
    wins = a.map("gt" if node.op.fn == "max" else "lt", before, x)
    gate = a.choose(wins, one, a.choose(a.map("eq", before, x), half, zero))
    return a.choose(_is_first(node), zero, gate)


def _ratio(a: Algebra, part: Node, total: Node) -> Node:
    """``exp(part - total)``: 1 where both are the same infinity."""
    same = a.map("eq", part, total)
    return a.map("exp", a.choose(same, a.number(0, total), a.sub(part, total)))


def _scattered(node: Node, up: Node) -> Node:
    """Each update gets the adjoint of the place it went to."""
    assert isinstance(node.op, Along), f"{node} is no function of an axis"
    a, index, axis = Algebra(node.where), node.args[1], node.op.axis
    each = up  # thin: the same for every place
    if up.shape[axis] != ONE:
        each = taken(up, clamped(node, index, node.op.size), axis, node.op.size, node.where)
    inside = a.map("ge", index, a.number(0, index))
    size = pad_rank(affine(node.op.size), index.rank)
    inside = a.map("and", inside, a.map("lt", index, size))
    return a.choose(inside, each, a.number(0, each))

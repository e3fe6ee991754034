"""Instances of squared distances from means over ranges, and of products of two distances."""

from __future__ import annotations

from functools import partial

from ostinato.pdg.build import ONE, affine, const, map_node, reduce_node, reshape
from ostinato.pdg.index import ExprLike, expr, maximum, minimum
from ostinato.pdg.node import Node, Pdg
from tests.rewrite.instances.incremental import ranged
from tests.rewrite.instances.instance import Instance, Sizes, T, fires, program, silent, tensor

Range = tuple[ExprLike, ExprLike]
_HERE, _END = expr(T), expr(T.extent)
_SO_FAR: Range = (0, _HERE + 1)
_TO_COME: Range = (_HERE, _END)


def _map(fn: str, *args: Node) -> Node:
    return map_node(fn, list(args))


def _count(part: Range) -> Node:
    return _map_cast(affine(expr(part[1]) - part[0]))


def _map_cast(x: Node) -> Node:
    return map_node("cast", [x], "float32")


def _row(x: Node) -> Node:
    return reshape(x, (ONE, *x.shape))


def _mean(x: Node, count: Node) -> Node:
    """The mean along the first axis, which is kept."""
    total = reduce_node("sum", x, [-x.rank])
    return _map("div", _row(total), reshape(count, (ONE,) * x.rank))


def _mean_then_row(x: Node, count: Node) -> Node:
    total = reduce_node("sum", x, [-x.rank])
    return _row(_map("div", total, reshape(count, (ONE,) * total.rank)))


def _spread(z: Sizes, part: Range, counted: Range | None = None) -> Node:
    """The sum of the products of two distances, by columns."""
    count = _count(counted or part)
    distances = list[Node]()
    for name in "xz":
        x = ranged(tensor(name, (z.k,), (T,)), *part)
        distances.append(_map("sub", x, _mean(x, count)))
    return reduce_node("sum", _map("mul", *distances), [-2])


def _squares(z: Sizes, part: Range) -> Node:
    """The sum of the squares of the distances of numbers."""
    x = ranged(tensor("x", (), (T,)), *part)
    distance = _map("sub", x, _mean(x, _count(part)))
    return reduce_node("sum", _map("mul", distance, distance), [-1])


_CENTRES = ("incremental/mean", "algebra/quotient-reshaped", "algebra/reshape-twice")


@fires(_CENTRES[0])
def mean_with_its_axis_kept(z: Sizes) -> Node:
    return _spread(z, _SO_FAR)


@fires(*_CENTRES[:2], beside=_CENTRES)
def mean_beside_a_range(z: Sizes) -> Node:
    x = ranged(tensor("x", (z.k,), (T,)), *_SO_FAR)
    distance = _map("sub", x, _mean_then_row(x, _count(_SO_FAR)))
    return reduce_node("sum", _map("mul", distance, distance), [-2])


@fires(*_CENTRES[:2], beside=_CENTRES)
def mean_of_numbers_beside_a_range(z: Sizes) -> Node:
    x = ranged(tensor("x", (), (T,)), *_SO_FAR)
    distance = _map("sub", x, _mean_then_row(x, _count(_SO_FAR)))
    return reduce_node("sum", _map("mul", distance, distance), [-1])


@silent(_CENTRES[0])
def a_sum_over_another_count(z: Sizes) -> tuple[Node, ...]:
    """The count of another range, of nothing that a range has, and a mean of three steps."""
    x = ranged(tensor("x", (), (T,)), 0, 3)
    three = _map("sub", x, _mean(x, const(3.0, "float32")))
    squares = reduce_node("sum", _map("mul", three, three), [-1])
    return _spread(z, _SO_FAR, (0, _HERE + 2)), squares


_SHAPES: dict[str, tuple[Range, ...]] = {
    "so-far": (_SO_FAR, _TO_COME),
    "elsewhere": (
        *((0, _HERE), (0, _HERE - 1), (0, _HERE // 2 + 1), (_HERE + 1, _END)),
        *((maximum(_HERE - 1, 0), _END), (maximum(_HERE - 3, 0), _HERE)),
        (_HERE + 1, minimum(_HERE + 4, _END)),
    ),
    "window-halved": (
        *((maximum(_HERE - 3, 0), _HERE + 1), (_HERE, minimum(_HERE + 6, _END))),
        *((maximum(_HERE - 4, 0), _HERE + 1), (_HERE, minimum(_HERE + 7, _END))),
    ),
}


def _alone(z: Sizes, part: Range) -> Pdg:
    return program(_spread(z, part), _squares(z, part))


def _others(z: Sizes, part: Range) -> Pdg:
    """Distances from sums over another count, and a range of three steps."""
    three = _map("sub", ranged(tensor("x", (), (T,)), 0, 3), reshape(tensor("y", (), (T,)), (ONE,)))
    end = expr(part[1]) + 1
    return program(
        _spread(z, part, (part[0], end)), reduce_node("sum", _map("mul", three, three), [-1])
    )


SPREADS = tuple(
    found
    for name, parts in _SHAPES.items()
    for found in (
        *(
            Instance(
                f"spread {lo} to {hi} {name}",
                partial(_alone, part=(lo, hi)),
                (f"incremental/spread-{name}",),
                beside=_CENTRES,
            )
            for lo, hi in parts
        ),
        Instance(
            f"spread {name} about something else",
            partial(_others, part=parts[0]),
            idle=(f"incremental/spread-{name}",),
            beside=_CENTRES,
        ),
    )
)

"""Instances of the family incremental: sums of powers over ranges in tiles, and tiles of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

from ostinato.pdg.build import ONE, map_node, matmul, part, reduce_node, reshape, transpose
from ostinato.pdg.index import expr
from ostinato.pdg.node import Dtype, Node, Pdg
from tests.rewrite.instances.history import COLUMNS, two_points
from tests.rewrite.instances.incremental import until_now
from tests.rewrite.instances.instance import B, Instance, Sizes, T, all_of, program, tensor

Past = Callable[[Node], Node]
Rows = Callable[[Sizes, Past], Node]
MAX = "incremental/max-in-tiles"
_BEHIND = "incremental/tile-of-part"


def _powers(x: Node, fold: str = "max") -> Node:
    """``exp`` of rows, shifted by their greatest element."""
    most = reduce_node(fold, x, [-1])
    shift = reshape(most, (*most.shape, ONE))
    return map_node("exp", [map_node("sub", [x, shift])])


def _numbers(z: Sizes, past: Past) -> Node:
    return past(tensor("a", (), (T,)))


def _vectors(z: Sizes, past: Past) -> Node:
    return past(tensor("v", (z.k,), (T,)))


def _row(z: Sizes, past: Past) -> Node:
    """A matrix of one row."""
    x = _numbers(z, past)
    return reshape(x, (ONE, *x.shape))


def _columns(z: Sizes, past: Past) -> Node:
    """Scores that go along the columns of a matrix."""
    return transpose(_vectors(z, past), (-1, -2))


def _largest(z: Sizes, past: Past) -> Pdg:
    return program(_powers(_numbers(z, past)))


def _total(z: Sizes, past: Past, fold: str = "max") -> Pdg:
    return program(reduce_node("sum", _powers(_numbers(z, past), fold), [-1]))


def _product(z: Sizes, past: Past, fold: str = "max") -> Pdg:
    return program(matmul(_powers(_row(z, past), fold), _vectors(z, past)))


def _weighted(z: Sizes, past: Past, fold: str = "max") -> Pdg:
    powers = _powers(_numbers(z, past), fold)
    column = reshape(powers, (*powers.shape, ONE))
    return program(reduce_node("sum", map_node("mul", [column, _vectors(z, past)]), [-2]))


def _mean(z: Sizes, past: Past, along: bool = False) -> Pdg:
    """Powers, divided by their sum or by numbers along the range, times vectors."""
    powers = _powers(_row(z, past))
    total = reduce_node("sum", powers, [-1])
    below = _numbers(z, past) if along else reshape(total, (*total.shape, ONE))
    return program(matmul(map_node("div", [powers, below]), _vectors(z, past)))


def _both(rule: str, build: Callable[..., Pdg], *beside: str) -> tuple[Instance, ...]:
    """The rule fires on a range that grows, not on two steps, nor for another shift."""
    name = f"incremental/{rule}"
    ranges = partial(build, past=until_now), partial(build, past=two_points)
    idle = [Instance(f"{rule} of two steps", ranges[1], (), (name,), beside)]
    if rule in _SHIFTED:
        shifted = partial(ranges[0], fold="min")
        idle.append(Instance(f"{rule} with another shift", shifted, (), (name,), beside))
    return Instance(f"{rule} of a range", ranges[0], (name,), beside=beside), *idle


_SHIFTED = frozenset(
    f"{name}-in-tiles" for name in ("sum-of-powers", "softmax-product", "softmax-sum-of-vectors")
)
FOLDS = (
    *_both("max-in-tiles", _largest),
    *_both("sum-of-powers-in-tiles", _total),
    *_both("softmax-product-in-tiles", _product, "algebra/reshape-fewer"),
    *_both("softmax-sum-of-vectors-in-tiles", _weighted),
    *_both("quotient-leaves-product", _mean),
    Instance(
        "quotients along the range",
        partial(_mean, past=until_now, along=True),
        idle=("incremental/quotient-leaves-product",),
    ),
)


def _tile_of(
    rule: str, rows: Rows, beside: tuple[str, ...] = (), of: str = ""
) -> tuple[Instance, ...]:
    """The rule fires on rows of a range that grows, and not on rows of two steps."""
    name = f"incremental/tile-of-{rule}"

    def build(z: Sizes, past: Past) -> Pdg:
        return program(_powers(rows(z, past)))

    also = (MAX, *beside)
    return (
        Instance(
            f"tile of {rule} {of}".strip(), partial(build, past=until_now), (name,), beside=also
        ),
        Instance(
            f"no tile of {rule} {of}".strip(), partial(build, past=two_points), (), (name,), also
        ),
    )


_FUNCTION = {1: "tanh", 2: "mul", 3: "where"}


def _mapped(z: Sizes, past: Past, long: tuple[bool, ...]) -> Node:
    """A function of rows of which some are as long as the range, and others have one element."""
    first: Dtype = "bool" if len(long) == 3 else "float32"
    types: tuple[Dtype, ...] = (first, "float32", "float32")
    inputs = [tensor(n, (), (T,), types[k]) for k, n in zip(range(len(long)), "abc", strict=False)]
    pairs = zip(inputs, long, strict=True)
    return map_node(
        _FUNCTION[len(long)],
        [past(x) if is_long else reshape(x, (ONE,)) for x, is_long in pairs],
    )


def _scores(z: Sizes, past: Past) -> Node:
    """A query times keys, a matrix of one row."""
    return matmul(tensor("q", (1, z.k), (T,)), _columns(z, past))


def _first(x: Node) -> Node:
    """The first column of a matrix."""
    return part(x, -1, expr(0))


def _wide(z: Sizes, past: Past) -> Node:
    """Vectors as matrices of one row."""
    return reshape(_vectors(z, past), (ONE, expr(z.k)), 1)


def _block(z: Sizes, past: Past) -> Node:
    x = _numbers(z, past)
    return reshape(x, (ONE, ONE, *x.shape))


def _rows_of_all(z: Sizes, past: Past) -> Node:
    return all_of(past(tensor("a", (), (B, T))), B)


def _kinds(long: tuple[bool, ...]) -> str:
    return "".join("s" if is_long else "c" for is_long in long)


_PARTS = ("incremental/tile-of-operand", "incremental/tile-of-one-element")
ELEMENTWISE = tuple(
    found
    for count in _FUNCTION
    for long in product((True, False), repeat=count)
    if any(long)
    for found in _tile_of(f"map{count}", partial(_mapped, long=long), _PARTS, _kinds(long))
)
INWARDS = (
    *_tile_of("columns", _scores),
    *_tile_of(
        "rows",
        lambda z, past: _first(matmul(_vectors(z, past), tensor("q", (z.k, 1), (T,)))),
        (_BEHIND,),
    ),
    *_tile_of("transposed", _columns),
    *_tile_of(
        "transposed",
        lambda z, past: _first(transpose(_scores(z, past), (-1, -2))),
        (_BEHIND,),
        "rows",
    ),
    *_tile_of("moved", _columns, COLUMNS),
    *_tile_of("range", _numbers),
    *_tile_of("others", _rows_of_all),
    *_tile_of("reshaped", lambda z, past: _first(_first(_wide(z, past))), (_BEHIND,)),
    *_tile_of("row", _row),
    *_tile_of("row", _block, ("incremental/new-axes",), "in a block"),
    *_tile_of("part", lambda z, past: _first(_vectors(z, past)), of="behind"),
    *_tile_of("part", lambda z, past: part(_columns(z, past), -2, expr(0)), of="in front"),
    *_tile_of("operand", partial(_mapped, long=(True, False))),
    *_tile_of("one-element", partial(_mapped, long=(True, False))),
    *_tile_of("folded", lambda z, past: reduce_node("sum", _vectors(z, past), [-1])),
)

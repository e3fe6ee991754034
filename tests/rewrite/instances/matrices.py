"""Instances of products with matrices of weights, by their lines, and of products of factors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ostinato.pdg.build import (
    ONE,
    affine,
    along,
    concat,
    const,
    iota,
    map_node,
    matmul,
    part,
    reduce_node,
    reshape,
    transpose,
)
from ostinato.pdg.index import Slice, expr
from ostinato.pdg.node import Node, Pdg
from tests.rewrite.instances.incremental import ranged
from tests.rewrite.instances.instance import Instance, Sizes, T, program, tensor

_T, _HERE = expr(T.extent), expr(T)
_COUNT = iota(_T)
_COLUMNS, _ROWS = reshape(_COUNT, (ONE, _T)), reshape(_COUNT, (_T, ONE))
_ONE = const(1, "float32", (ONE, ONE))


def _map(fn: str, *args: Node) -> Node:
    return map_node(fn, list(args))


def _history(name: str, *shape: int) -> Node:
    return ranged(tensor(name, shape, (T,)), 0, _T)


def _weights() -> Node:
    """A number to the power of how far a column is ahead, beyond the diagonal."""
    ahead = map_node("cast", [_map("sub", _COLUMNS, _ROWS)], "float32")
    power = _map("pow", const(0.9, "float32", (ONE, ONE)), ahead)
    return _map("where", _map("ge", _COLUMNS, _ROWS), power, const(0, "float32", (ONE, ONE)))


def _data() -> Node:
    """A matrix of data, with a row for each step."""
    return ranged(tensor("m", (_T,), (T,)), 0, _T)


def _by_rows(z: Sizes, is_it: bool) -> Node:
    return matmul(_weights() if is_it else _data(), _history("x", z.k))


def _by_columns(z: Sizes, is_it: bool) -> Node:
    x = transpose(_history("x", z.k), (-1, -2))
    return matmul(x, _weights() if is_it else _data())


def _along(z: Sizes, start: float) -> Node:
    """Products of what is behind the point, from the point on."""
    g = ranged(tensor("g", (1,), (T,)), 0, _T - 1)
    behind = _map("gt", _ROWS, affine(T))
    chosen = _map("where", behind, concat([_ONE, g], -2), const(start, "float32", (ONE, ONE)))
    return _summed(part(along("prod", [chosen], -2), -2, Slice(_HERE, _T)))


def _down(z: Sizes, comparison: str) -> Pdg:
    """Products of what is between a column and the row, up to the row."""
    column = reshape(_history("g"), (_T, ONE))
    running = along("prod", [_map("where", _map(comparison, _ROWS, _COLUMNS), column, _ONE)], -2)
    line = reshape(part(running, -2, _HERE), (_T, ONE))
    term = _summed(part(line, -2, Slice(expr(0), _HERE + 1)))
    return program(term, matmul(running, _history("x", z.k)))


def _summed(x: Node) -> Node:
    return reduce_node("sum", x, [-2])


def _of(make: Callable[[Sizes, bool], Node], is_it: bool) -> Callable[[Sizes], Pdg]:
    return lambda z: program(make(z, is_it))


_MADE: dict[str, tuple[Callable[[Sizes], Pdg], Callable[[Sizes], Pdg]]] = {
    "product-by-rows": (_of(_by_rows, True), _of(_by_rows, False)),
    "product-by-columns": (_of(_by_columns, True), _of(_by_columns, False)),
    "decay-chain-along": (
        lambda z: program(_along(z, 1.0)),
        lambda z: program(_along(z, 2.0)),
    ),
    "decay-chain-down": (partial(_down, comparison="gt"), partial(_down, comparison="lt")),
}

MATRICES = tuple(
    Instance(
        f"{name}{' of something else' * (not is_it)}",
        build,
        (f"incremental/{name}",) if is_it else (),
        () if is_it else (f"incremental/{name}",),
        ("incremental/decaying-sum",),
    )
    for name, pair in _MADE.items()
    for is_it, build in zip((True, False), pair, strict=True)
)

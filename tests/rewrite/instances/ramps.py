"""Instances of triangular matrices of powers, products with them, and chains of factors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ostinato.pdg.build import (
    ONE,
    along,
    concat,
    const,
    iota,
    map_node,
    matmul,
    reduce_node,
    reshape,
    transpose,
)
from ostinato.pdg.index import ExprLike, expr
from ostinato.pdg.node import Node, Pdg
from tests.rewrite.instances.incremental import ranged
from tests.rewrite.instances.instance import B, Instance, Sizes, T, all_of, program, tensor

_T = expr(T.extent)
_STEPS = iota(_T)
_COLUMNS, _ROWS = reshape(_STEPS, (ONE, _T)), reshape(_STEPS, (_T, ONE))


def _map(fn: str, *args: Node) -> Node:
    return map_node(fn, list(args))


def _real(x: Node) -> Node:
    return map_node("cast", [x], "float32")


def _tr(x: Node) -> Node:
    return transpose(x, (-1, -2))


def _number(value: float, dtype: str = "float32") -> Node:
    return const([value], "int32" if dtype == "int32" else "float32", (ONE, ONE))


_AHEAD, _BEHIND = _map("sub", _COLUMNS, _ROWS), _map("sub", _ROWS, _COLUMNS)
_ZERO, _NONE, _G = _number(0, "int32"), _number(0.0), _number(0.9)
_FACING = _map("ge", _AHEAD, _ZERO)
_POWER = _map("pow", _G, _real(_AHEAD))
_RAMP = _map("where", _FACING, _POWER, _NONE)
_LONGER = reshape(iota(_T + 1), (_T + 1, ONE))
_BEYOND, _BEHIND_IT = _map("gt", _AHEAD, _ZERO), _map("lt", _AHEAD, _ZERO)
_ONE = _number(1.0)


def _exponents(g: Node, *, first: bool) -> Node:
    factors = (g, _real(_AHEAD)) if first else (_real(_AHEAD), g)
    return _map("exp", _map("mul", *factors))


def _history(x: Node) -> Node:
    return ranged(x, 0, _T)


def _along_rows(condition: Node, start: float = 1.0) -> Node:
    g = concat([const([1.0], "float32", (ONE,)), ranged(tensor("g", (), (T,)), 0, _T - 1)], -1)
    chosen = _map("where", condition, reshape(g, (ONE, _T)), _number(start))
    return along("prod", [chosen], -1)


def _along_columns(condition: Node, axis: int = -2) -> Node:
    column = reshape(_history(tensor("g", (), (T,))), (_T, ONE))
    return along("prod", [_map("where", condition, column, _ONE)], axis)


_RUNGS = _along_rows(_BEYOND)
_LADDER = _map("where", _FACING, _RUNGS, _NONE)
_BEYOND_REAL = _real(_BEYOND)


def _vectors(z: Sizes) -> Node:
    return _history(tensor("x", (z.k,), (T,)))


def _numbers() -> Node:
    return _history(tensor("x", (), (T,)))


# a name of a rule, what it must see, and something like it that it must not
_MADE: dict[str, tuple[Node, Node]] = {
    "lag-ahead": (_AHEAD, _map("sub", _COLUMNS, _LONGER)),
    "lag-behind": (_BEHIND, _map("sub", _LONGER, _COLUMNS)),
    "lag-negated": (_map("neg", _AHEAD), _map("abs", _AHEAD)),
    "lag-transposed": (_tr(_AHEAD), _tr(_map("abs", _AHEAD))),
    "lag-cast": (_real(_AHEAD), _real(_FACING)),
    "facing-ge": (_FACING, _map("ge", _AHEAD, _number(1, "int32"))),
    "facing-le": (_map("le", _AHEAD, _ZERO), _map("le", _AHEAD, _number(1, "int32"))),
    "facing-ahead": (_map("ge", _COLUMNS, _ROWS), _map("ge", _COLUMNS, _LONGER)),
    "facing-behind": (_map("ge", _ROWS, _COLUMNS), _map("ge", _LONGER, _COLUMNS)),
    "facing-not-behind": (_map("le", _ROWS, _COLUMNS), _map("le", _LONGER, _COLUMNS)),
    "facing-not-ahead": (_map("le", _COLUMNS, _ROWS), _map("le", _COLUMNS, _LONGER)),
    "beyond-gt": (_BEYOND, _map("gt", _AHEAD, _number(1, "int32"))),
    "beyond-lt": (_BEHIND_IT, _map("lt", _AHEAD, _number(1, "int32"))),
    "beyond-ahead": (_map("gt", _COLUMNS, _ROWS), _map("gt", _COLUMNS, _LONGER)),
    "beyond-behind": (_map("gt", _ROWS, _COLUMNS), _map("gt", _LONGER, _COLUMNS)),
    "beyond-not-behind": (_map("lt", _ROWS, _COLUMNS), _map("lt", _LONGER, _COLUMNS)),
    "beyond-not-ahead": (_map("lt", _COLUMNS, _ROWS), _map("lt", _COLUMNS, _LONGER)),
    "rungs-power": (_POWER, _map("pow", _real(_AHEAD), _G)),
    "rungs-exponents-last": (_exponents(_G, first=False), _exponents(_real(_AHEAD), first=True)),
    "rungs-exponents-first": (_exponents(_G, first=True), _exponents(_real(_AHEAD), first=True)),
    "rungs-along-rows": (_RUNGS, _along_rows(_BEYOND, 2.0)),
    "rungs-along-columns": (_along_columns(_BEHIND_IT), _along_columns(_BEYOND)),
    "rungs-product": (_map("mul", _POWER, _RUNGS), _map("mul", _POWER, _BEYOND_REAL)),
    "ladder": (_LADDER, _map("where", _FACING, _RUNGS, _ONE)),
    "ladder-masked": (_map("mul", _POWER, _real(_FACING)), _map("add", _POWER, _real(_FACING))),
    "ladder-masked-first": (_map("mul", _real(_FACING), _POWER), _map("mul", _POWER, _POWER)),
    "ladder-product": (_map("mul", _LADDER, _POWER), _map("mul", _RUNGS, _POWER)),
    "ladder-product-last": (_map("mul", _POWER, _LADDER), _map("mul", _POWER, _RUNGS)),
    "ladder-transposed": (_tr(_RAMP), _tr(_LADDER)),
}


def _made(z: Sizes, node: Node, uses: tuple[Node, ...] = ()) -> Pdg:
    return program(node, _vectors(z), *uses)


def _uses(name: str, m: Node) -> tuple[Node, ...]:
    """What another rule sees in a matrix, once it is known what the matrix is."""
    match name.partition("-")[0]:
        case "lag":
            return (_map("ge", m, _ZERO if m.dtype == "int32" else _NONE),)
        case "facing":
            rungs = _RUNGS, _along_columns(_BEHIND_IT)
            return tuple(_map("where", m, each, _NONE) for each in rungs)
        case "beyond":
            return _along_rows(m), _along_columns(m)
        case "rungs":
            facing = _FACING, _map("le", _AHEAD, _ZERO)
            return tuple(_map("where", each, m, _NONE) for each in facing)
        case _:
            return (matmul(m, reshape(_history(tensor("w", (), (T,))), (_T, ONE))),)


_SEES = tuple(f"incremental/{name}" for name in _MADE)


def _about(name: str, is_it: bool, build: Callable[[Sizes], Pdg]) -> Instance:
    """An instance on which a rule must fire, or must not."""
    rules = (f"incremental/{name}",)
    about = f"{name}{' of something else' * (not is_it)}"
    return Instance(about, build, rules if is_it else (), () if is_it else rules, _SEES)


MATRICES = tuple(
    _about(name, is_it, partial(_made, node=node, uses=_uses(name, node) if is_it else ()))
    for name, nodes in _MADE.items()
    for is_it, node in zip((True, False), nodes, strict=True)
)


def _grid() -> Node:
    return all_of(tensor("x", (), (B, T)), B, T)


_PRODUCTS: dict[str, Callable[[Sizes, Node], Node]] = {
    "ladder-times-vectors": lambda z, m: matmul(m, _vectors(z)),
    "ladder-times-column": lambda z, m: matmul(m, reshape(_numbers(), (_T, ONE))),
    "ladder-times-columns": lambda z, m: matmul(m, _tr(_grid())),
    "row-times-ladder": lambda z, m: matmul(reshape(_numbers(), (ONE, _T)), m),
    "rows-times-ladder": lambda z, m: matmul(_grid(), m),
    "row-times-ladder-transposed": lambda z, m: matmul(reshape(_numbers(), (ONE, _T)), _tr(m)),
    "rows-times-ladder-transposed": lambda z, m: matmul(_grid(), _tr(m)),
}


def _product(z: Sizes, make: Callable[[Sizes, Node], Node], m: Node) -> Pdg:
    return program(make(z, m))


def _ladders_for(name: str) -> tuple[Node, Node]:
    """A matrix whose product a rule knows, and one whose product it does not."""
    turned = name.startswith("row") and not name.endswith("transposed")
    return (_RAMP, _LADDER) if turned else (_LADDER, _RUNGS)


PRODUCTS = tuple(
    _about(name, is_it, partial(_product, make=make, m=m))
    for name, make in _PRODUCTS.items()
    for is_it, m in zip((True, False), _ladders_for(name), strict=True)
)


def _factors(z: Sizes, lo: ExprLike, hi: ExprLike) -> Node:
    g = ranged(tensor("g", (z.k,), (T,)), lo, hi)
    return along("prod", [g], -2)


def _weighted(z: Sizes, weights: Node, lo: ExprLike, last: bool) -> Node:
    x = ranged(tensor("x", (z.k,), (T,)), lo, _T)
    return reduce_node("sum", _map("mul", *((x, weights) if last else (weights, x))), [-2])


def _chained(z: Sizes, last: bool, before: bool, fold: bool) -> Pdg:
    """A step and the weighted sum of what follows; or weights that are no products."""
    here, x = expr(T), tensor("x", (z.k,), (T,))
    weights = _factors(z, here, _T - 1)
    if not fold:
        weights = _map("exp", ranged(tensor("g", (z.k,), (T,)), here, _T - 1))
    total = _weighted(z, weights, here + 1, last)
    return program(_map("add", *((total, x) if before else (x, total))))


CHAINS = tuple(
    _about(
        f"chained-step{'-before' * before}{'-last' * last}",
        fold,
        partial(_chained, last=last, before=before, fold=fold),
    )
    for last in (False, True)
    for before in (False, True)
    for fold in (True, False)
)

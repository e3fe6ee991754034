"""Instances of variances with weights that decay."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ostinato.pdg.build import ONE, affine, const, iota, map_node, reduce_node, reshape
from ostinato.pdg.index import expr
from ostinato.pdg.node import Node, Pdg
from tests.rewrite.instances.incremental import ranged
from tests.rewrite.instances.instance import Instance, Sizes, T, program, tensor

_RULE = ("incremental/spread-decaying",)
_BESIDE = (
    "incremental/ramp-of-counts",
    "incremental/decay-power",
    "incremental/decay-power-of-count",
)
_END = expr(T.extent)


def _map(fn: str, *args: Node) -> Node:
    return map_node(fn, list(args))


def _sum(x: Node) -> Node:
    return reduce_node("sum", x, [-1])


def _number(value: float) -> Node:
    return const([value], "float32", (ONE,))


def _past(of: str) -> Node:
    return ranged(tensor(of, (), (T,)), 0, expr(T) + 1)


def _ages() -> Node:
    return _map("sub", reshape(affine(T), (ONE,)), iota(expr(T) + 1))


def _variance(
    z: Sizes,
    of: str = "x",
    later: bool = False,
    first: float = 0.0,
    last: bool = False,
    total: bool = True,
) -> Pdg:
    """Sums of squared distances from a mean, which a change makes another one."""
    values, count = _past("x"), _ages()
    if later:
        values = ranged(tensor("x", (), (T,)), T, _END)
        count = iota(_END - T)
    age = map_node("cast", [_map("add", count, const([int(first)], "int32", (ONE,)))], "float32")
    weights = _map("pow", _number(0.9), age)
    others = values if of == "x" else _past(of)
    top = _map("mul", others, weights) if last else _map("mul", weights, others)
    mean = _map("div", _sum(top), _sum(weights if total else _map("mul", weights, weights)))
    distance = _map("sub", values, reshape(mean, (ONE,)))
    square = _map("mul", distance, distance)
    return program(_sum(_map("mul", *((square, weights) if last else (weights, square)))))


def _of(name: str, build: Callable[[Sizes], Pdg], fires: bool) -> Instance:
    rules = _RULE if fires else (), () if fires else _RULE
    return Instance(f"weighted variance {name}", build, *rules, beside=_BESIDE)


SPREADS = (
    _of("so far", _variance, True),
    _of("so far, weights last", partial(_variance, last=True), True),
    _of("to come", partial(_variance, later=True), True),
    _of("with later weights", partial(_variance, first=1.0), False),
    _of("from another mean", partial(_variance, of="z"), False),
    _of("by another sum", partial(_variance, total=False), False),
)

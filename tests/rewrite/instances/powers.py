"""Instances of powers of counts, and of sums of sums that are weighted with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ostinato.pdg.build import ONE, along, const, iota, map_node, reduce_node
from ostinato.pdg.index import expr
from ostinato.pdg.node import Node, Pdg
from tests.rewrite.instances.incremental import ranged
from tests.rewrite.instances.instance import Instance, Sizes, T, program, tensor

_LATER = expr(T.extent) - T


def _map(fn: str, *args: Node) -> Node:
    return map_node(fn, list(args))


def _number(value: float) -> Node:
    return const([value], "float32", (ONE,))


_G, _H = _number(0.9), _number(0.8)
_COUNT = map_node("cast", [iota(_LATER)], "float32")
_HALF = _map("mul", _COUNT, _number(0.5))
_MOVING = tensor("h", (1,), (T,))
_X = ranged(tensor("x", (), (T,)), T, T.extent)


def _power(base: Node, exponent: Node = _COUNT) -> Node:
    return _map("pow", base, exponent)


def _sum(x: Node) -> Node:
    return reduce_node("sum", x, [-1])


def _around(exponent: Node) -> Node:
    return _map("mul", _map("mul", _power(_G), _X), _power(_H, exponent))


def _weighted(h: Node, inner_last: bool, outer_last: bool) -> Node:
    inner = (_X, _power(_G)) if inner_last else (_power(_G), _X)
    sums = along("sum", [_map("mul", *inner)], -1)
    return _sum(_map("mul", *((sums, _power(h)) if outer_last else (_power(h), sums))))


def _weighted_pair(inner: bool, last: bool) -> tuple[Node, Node]:
    return _weighted(_H, inner, last), _weighted(_MOVING, inner, last)


# a name of a rule, what it must see, and something like it that it must not
_MADE: dict[str, Callable[[], tuple[Node, Node]]] = {
    "powers-of-one-count": lambda: (
        _map("mul", _power(_G), _power(_H)),
        _map("mul", _power(_G), _power(_H, _HALF)),
    ),
    "powers-around": lambda: (_around(_COUNT), _around(_HALF)),
    "exponential-of-count": lambda: (
        _map("exp", _map("mul", _COUNT, _G)),
        _map("exp", _map("add", _COUNT, _G)),
    ),
    "exponential-of-count-last": lambda: (
        _map("exp", _map("mul", _G, _COUNT)),
        _map("exp", _map("add", _G, _COUNT)),
    ),
    "powers-of-rest": lambda: (_sum(_power(_H)), _sum(_power(_MOVING))),
    **{
        f"weighted-sums{'-last' * last}{'-of-values' * inner}": partial(_weighted_pair, inner, last)
        for inner in (False, True)
        for last in (False, True)
    },
}


def _made(z: Sizes, node: Node) -> Pdg:
    return program(node, _X)


POWERS = tuple(
    Instance(
        f"{name}{' of something else' * (not is_it)}",
        partial(_made, node=node),
        (f"incremental/{name}",) if is_it else (),
        () if is_it else (f"incremental/{name}",),
    )
    for name, make in _MADE.items()
    for is_it, node in zip((True, False), make(), strict=True)
)

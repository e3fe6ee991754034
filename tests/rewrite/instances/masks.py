"""Instances of masks on positions: folds of what they keep, and masks that multiply."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ostinato.pdg.build import ONE, affine, const, iota, map_node, reduce_node
from ostinato.pdg.functions import fold_unit
from ostinato.pdg.index import expr
from ostinato.pdg.node import Node, Pdg
from tests.rewrite.instances.incremental import ranged
from tests.rewrite.instances.instance import Instance, Sizes, T, program, tensor

_T = expr(T.extent)


def _map(fn: str, *args: Node) -> Node:
    return map_node(fn, list(args))


def _all(name: str = "x") -> Node:
    return ranged(tensor(name, (), (T,)), 0, _T)


def _condition(fn: str) -> Node:
    return _map(fn, iota(_T), affine(T))


_SO_FAR, _OTHERS, _LATER = (_condition(fn) for fn in ("le", "ne", "gt"))
_DATA = ranged(tensor("c", (), (T,), "bool"), 0, _T)
_ZERO, _ONE = (const(value, "float32", (ONE,)) for value in (0.0, 1.0))


def _folded(fold: str, mask: Node, nothing: float | None = None) -> Node:
    unit = fold_unit(fold, "float32") if nothing is None else nothing
    kept = _map("where", mask, _all(), const(unit, "float32", (ONE,)))
    return reduce_node(fold, kept, [-1])


def _counted(mask: Node) -> Node:
    return reduce_node("sum", _map("where", mask, iota(_T), const(0, "int32", (ONE,))), [-1])


def _times(mask: Node, last: bool, nothing: Node | None = None) -> Node:
    """What a mask multiplies: as a number, or around what it keeps."""
    factor = map_node("cast", [mask], "float32")
    if nothing is not None:
        factor = _map("where", mask, _all("w"), nothing)
    return _map("mul", *((_all(), factor) if last else (factor, _all())))


Pair = tuple[Callable[[], Node], Callable[[], Node]]
_MADE: dict[str, Pair] = {
    "masked-fold": (lambda: _folded("max", _SO_FAR), lambda: _folded("max", _DATA)),
    "masked-fold of a sum": (lambda: _folded("sum", _SO_FAR), lambda: _folded("sum", _SO_FAR, 1.0)),
    "masked-folds": (lambda: _folded("min", _OTHERS), lambda: _folded("min", _SO_FAR)),
    "masked-folds of a product": (lambda: _folded("prod", _OTHERS), lambda: _folded("prod", _DATA)),
    "algebra/where-not of a mask": (
        lambda: _map("where", _LATER, _ZERO, _all()),
        lambda: _map("where", _DATA, _ZERO, _all()),
    ),
    "counts-in-part": (lambda: _counted(_SO_FAR), lambda: _counted(_DATA)),
    **{
        f"masked-number{'-last' * last}": (
            partial(_times, _SO_FAR, last),
            partial(_times, _DATA, last),
        )
        for last in (False, True)
    },
    **{
        f"masked-product{'-last' * last}": (
            partial(_times, _SO_FAR, last, _ZERO),
            partial(_times, _SO_FAR, last, _ONE),
        )
        for last in (False, True)
    },
}


def _rule_of(name: str) -> str:
    rule = name.partition(" ")[0].removesuffix("-last")
    return rule if "/" in rule else f"incremental/{rule}"


def _program(z: Sizes, make: Callable[[], Node]) -> Pdg:
    return program(make(), affine(T))


MASKS = tuple(
    Instance(
        f"{name}{' of something else' * (not is_it)}",
        partial(_program, make=make),
        (_rule_of(name),) if is_it else (),
        () if is_it else (_rule_of(name),),
        ("incremental/masked-fold", "incremental/tile-of-range"),
    )
    for name, pair in _MADE.items()
    for is_it, make in zip((True, False), pair, strict=True)
)

"""Instances of the family incremental: places of the greatest and the least of growing ranges."""

from __future__ import annotations

from functools import partial

from ostinato.pdg.build import along, gather, part, reduce_node
from ostinato.pdg.index import ExprLike, expr
from ostinato.pdg.node import Pdg
from tests.rewrite.instances.incremental import ranged, rows
from tests.rewrite.instances.instance import Instance, Sizes, T, program, tensor

_HERE, _END = expr(T), expr(T.extent)
_RANGES: dict[str, tuple[ExprLike, ExprLike]] = {
    "prefix": (0, _HERE + 1),
    "suffix": (_HERE, _END),
}


def _place(z: Sizes, fold: str, side: str) -> Pdg:
    return program(reduce_node(fold, ranged(rows(z), *_RANGES[side]), [-2]))


def _elsewhere(z: Sizes, fold: str, side: str) -> Pdg:
    """Places along the other axis, in the other range, and of a value without t."""
    (other,) = _RANGES.keys() - {side}
    return program(
        reduce_node(fold, ranged(rows(z), *_RANGES[side]), [-1]),
        reduce_node(fold, ranged(rows(z), *_RANGES[other]), [-2]),
        reduce_node(fold, ranged(tensor("w", (z.k,)), *_RANGES[side]), [-2]),
    )


_GREATEST = ("incremental/greatest-in-order",)


def _in_order(z: Sizes, place: ExprLike, by: str = "argsort", other: bool = False) -> Pdg:
    """An element of a range in order; ``other``: in the order of another range."""
    x = ranged(rows(z), 0, _HERE + 1)
    of = ranged(rows(z, "y"), 0, _HERE + 1) if other else x
    order = along(by, [of], -2)
    found = order if by == "max" else gather(x, order, -2)
    return program(part(found, -2, expr(place)))


def _on_top(z: Sizes, place: int) -> Pdg:
    """Outside the box a range is empty, and nothing is on top of it; so these are rows."""
    x = tensor("x", (z.m + 2, z.k), (T,))
    return program(part(gather(x, along("top", [x], -2, expr(2)), -2), -2, expr(place)))


IN_ORDER = (
    Instance("the last in order", partial(_in_order, place=_HERE), _GREATEST),
    Instance("the first on top", partial(_on_top, place=0), _GREATEST),
    Instance("the second on top", partial(_on_top, place=1), idle=_GREATEST),
    Instance("the first in order", partial(_in_order, place=0), idle=_GREATEST),
    Instance("the last maximum", partial(_in_order, place=_HERE, by="max"), idle=_GREATEST),
    Instance("another order", partial(_in_order, place=_HERE, other=True), idle=_GREATEST),
)

PLACES = tuple(
    found
    for fold in ("argmax", "argmin")
    for side in _RANGES
    for rule in (f"incremental/{side}-place",)
    for found in (
        Instance(f"{fold} of a {side}", partial(_place, fold=fold, side=side), (rule,)),
        Instance(f"{fold} of no {side}", partial(_elsewhere, fold=fold, side=side), idle=(rule,)),
    )
)

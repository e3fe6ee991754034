"""Instances of the family incremental: places of the greatest and the least of growing ranges."""

from __future__ import annotations

from functools import partial

from ostinato.pdg.build import reduce_node
from ostinato.pdg.index import ExprLike, expr
from ostinato.pdg.node import Pdg
from tests.rewrite.instances.incremental import ranged, rows
from tests.rewrite.instances.instance import Instance, Sizes, T, program, tensor

_HERE, _END = expr(T), expr(T.extent)
_RANGES: dict[str, tuple[ExprLike, ExprLike]] = {
    "prefix": (0, _HERE + 1),
    "suffix": (_HERE, _END),
}


def _place(z: Sizes, fold: str, part: str) -> Pdg:
    return program(reduce_node(fold, ranged(rows(z), *_RANGES[part]), [-2]))


def _elsewhere(z: Sizes, fold: str, part: str) -> Pdg:
    """Places along the other axis, in the other range, and of a value without t."""
    (other,) = _RANGES.keys() - {part}
    return program(
        reduce_node(fold, ranged(rows(z), *_RANGES[part]), [-1]),
        reduce_node(fold, ranged(rows(z), *_RANGES[other]), [-2]),
        reduce_node(fold, ranged(tensor("w", (z.k,)), *_RANGES[part]), [-2]),
    )


PLACES = tuple(
    found
    for fold in ("argmax", "argmin")
    for part in _RANGES
    for rule in (f"incremental/{part}-place",)
    for found in (
        Instance(f"{fold} of a {part}", partial(_place, fold=fold, part=part), (rule,)),
        Instance(f"{fold} of no {part}", partial(_elsewhere, fold=fold, part=part), idle=(rule,)),
    )
)

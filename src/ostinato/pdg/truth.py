"""Conditions on the point as tensors: the truth value that a condition has at every point."""

from __future__ import annotations

from functools import reduce
from typing import assert_never

from ostinato.pdg.build import affine, const, map_node
from ostinato.pdg.condition import Compare, Cond, Every, Negation, Some
from ostinato.pdg.node import Node


def truth(cond: Cond) -> Node:
    """The boolean that is true at the points where a condition holds."""
    match cond:
        case Compare(of, kind):
            return map_node(kind, [affine(of), const(0, "int32")])
        case Every(of_):
            return _joined("and", of_, True)
        case Some(of_):
            return _joined("or", of_, False)
        case Negation(of__):
            return map_node("not", [truth(of__)])
        case other:
            assert_never(other)


def _joined(fn: str, conds: tuple[Cond, ...], of_none: bool) -> Node:
    values = [truth(c) for c in conds] or [const(of_none, "bool")]
    return reduce(lambda a, b: map_node(fn, [a, b]), values)

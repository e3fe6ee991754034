"""Conditions on the point as tensors: the truth value that a condition has at every point.

A tensor computes an index expression in int32, a condition without bounds. What may leave int32 has
no truth value here: `b < 2**40` stays a condition.
"""

from __future__ import annotations

from functools import reduce
from typing import assert_never

from ostinato.pdg.build import affine, const, map_node
from ostinato.pdg.condition import Compare, Cond, Every, Negation, Some, compared
from ostinato.pdg.index import Expr
from ostinato.pdg.intervals import LONGEST, Interval, interval
from ostinato.pdg.node import Node

INT32 = Interval(-(2**31), 2**31 - 1)


def truth(cond: Cond) -> Node | None:
    """The boolean that is true at the points where a condition holds, if int32 can tell."""
    return _truth(cond) if all(map(_fits, compared(cond))) else None


def _fits(of: Expr) -> bool:
    """Whether an index is an int32 at all points of the box, and near it."""
    return abs(of.const) <= LONGEST and interval(of).within(INT32)


def _truth(cond: Cond) -> Node:
    match cond:
        case Compare(of, kind):
            return map_node(kind, [affine(of), const(0, "int32")])
        case Every(of_):
            return _joined("and", of_, True)
        case Some(of_):
            return _joined("or", of_, False)
        case Negation(of__):
            return map_node("not", [_truth(of__)])
        case other:
            assert_never(other)


def _joined(fn: str, conds: tuple[Cond, ...], of_none: bool) -> Node:
    values = [_truth(c) for c in conds] or [const(of_none, "bool")]
    return reduce(lambda a, b: map_node(fn, [a, b]), values)

"""Instances of the family incremental: folds over ranges that grow with the point."""

from __future__ import annotations

from ostinato.pdg.build import read, reduce_node
from ostinato.pdg.index import ExprLike, expr
from ostinato.pdg.node import Node
from tests.rewrite.instances.instance import Sizes, T, fires, silent, span, tensor


def ranged(x: Node, lo: ExprLike, hi: ExprLike) -> Node:
    """``x[lo:hi]`` along t."""
    return read(x, [(T, span(lo, hi))])


def rows(z: Sizes, name: str = "x") -> Node:
    return tensor(name, (z.k,), (T,))


def until_now(x: Node) -> Node:
    return ranged(x, 0, expr(T) + 1)


@fires("incremental/suffix-sum")
def sum_of_all_that_follows(z: Sizes) -> Node:
    return reduce_node("sum", ranged(rows(z), T, T.extent), [-2])


@silent("incremental/suffix-sum")
def sums_of_less_than_all_that_follows(z: Sizes) -> tuple[Node, ...]:
    later = ranged(rows(z), expr(T) + 1, T.extent)
    return reduce_node("sum", later, [-2]), reduce_node("max", ranged(rows(z), T, T.extent), [-2])

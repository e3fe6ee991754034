"""Instances of the family incremental: folds over ranges that grow with the point."""

from __future__ import annotations

from functools import partial

from ostinato.pdg.build import read, reduce_node
from ostinato.pdg.index import ExprLike, expr
from ostinato.pdg.node import Node, Pdg
from tests.rewrite.instances.instance import (
    Instance,
    Sizes,
    T,
    fires,
    program,
    silent,
    span,
    tensor,
)


def ranged(x: Node, lo: ExprLike, hi: ExprLike) -> Node:
    """``x[lo:hi]`` along t."""
    return read(x, [(T, span(lo, hi))])


def rows(z: Sizes, name: str = "x") -> Node:
    return tensor(name, (z.k,), (T,))


def until_now(x: Node) -> Node:
    return ranged(x, 0, expr(T) + 1)


def _prefix(z: Sizes, fold: str) -> Pdg:
    return program(reduce_node(fold, until_now(rows(z)), [-2]))


def _elsewhere(z: Sizes, fold: str) -> Pdg:
    """Folds over the other axis, over another range, and of a value without t."""
    return program(
        reduce_node(fold, until_now(rows(z)), [-1]),
        reduce_node(fold, ranged(rows(z), 0, T), [-2]),
        reduce_node(fold, until_now(tensor("w", (z.k,))), [-2]),
    )


def _prefixes(fold: str) -> tuple[Instance, Instance]:
    rule = f"incremental/prefix-{fold}"
    return (
        Instance(f"{fold} of everything so far", partial(_prefix, fold=fold), (rule,)),
        Instance(f"{fold} of other ranges", partial(_elsewhere, fold=fold), idle=(rule,)),
    )


PREFIXES = tuple(i for fold in ("sum", "prod", "max", "min") for i in _prefixes(fold))


@fires("incremental/suffix-sum")
def sum_of_all_that_follows(z: Sizes) -> Node:
    return reduce_node("sum", ranged(rows(z), T, T.extent), [-2])


@silent("incremental/suffix-sum")
def sums_of_less_than_all_that_follows(z: Sizes) -> tuple[Node, ...]:
    later = ranged(rows(z), expr(T) + 1, T.extent)
    return reduce_node("sum", later, [-2]), reduce_node("max", ranged(rows(z), T, T.extent), [-2])

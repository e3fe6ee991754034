"""Instances of the family incremental: folds over ranges that grow with the point."""

from __future__ import annotations

from functools import partial

from ostinato.pdg.build import const, iota, map_node, read, reduce_node, reshape
from ostinato.pdg.index import Expr, ExprLike, expr
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


def _weights(gamma: Node, count: Expr) -> Node:
    """``gamma ** 0, gamma ** 1, ...``."""
    return map_node("pow", [gamma, map_node("cast", [iota(count)], "float32")])


def _discounted(
    z: Sizes, shape: tuple[int, ...], gamma: Node, lag: int = 0, weights_first: bool = False
) -> Node:
    later = ranged(tensor("x", shape, (T,)), expr(T) + lag, T.extent)
    weights = _weights(gamma, later.shape[0])
    column = reshape(weights, (later.shape[0], *(expr(1) for _ in shape)))
    operands = [column, later] if weights_first else [later, column]
    return reduce_node("sum", map_node("mul", operands), [-later.rank])


def _gamma() -> Node:
    return const([0.9], "float32", (expr(1),))


@fires("incremental/discounted-sum", idle=("incremental/discounted-sums",))
def discounted_sum(z: Sizes) -> Node:
    return _discounted(z, (), _gamma())


@fires("incremental/discounted-sums", idle=("incremental/discounted-sum",))
def discounted_sum_of_vectors(z: Sizes) -> Node:
    return _discounted(z, (z.k,), _gamma())


@fires("incremental/weighted-rest", idle=("incremental/weighted-rests",))
def weighted_sum(z: Sizes) -> Node:
    return _discounted(z, (), _gamma(), weights_first=True)


@fires("incremental/weighted-rests", idle=("incremental/weighted-rest",))
def weighted_sum_of_vectors(z: Sizes) -> Node:
    return _discounted(z, (z.k,), _gamma(), weights_first=True)


@silent("incremental/weighted-rest", "incremental/weighted-rests")
def weighted_sums_with_a_lag_or_a_moving_factor(z: Sizes) -> tuple[Node, ...]:
    moving = tensor("g", (1,), (T,))
    return tuple(
        _discounted(z, shape, gamma, lag, weights_first=True)
        for shape in ((), (z.k,))
        for gamma, lag in ((_gamma(), 1), (moving, 0))
    )


@silent("incremental/discounted-sum", "incremental/discounted-sums")
def discounted_sums_with_a_lag_or_a_moving_factor(z: Sizes) -> tuple[Node, ...]:
    moving = tensor("g", (1,), (T,))
    return tuple(
        _discounted(z, shape, gamma, lag)
        for shape in ((), (z.k,))
        for gamma, lag in ((_gamma(), 1), (moving, 0))
    )


def _live(z: Sizes, beyond: float, lag: int = 0) -> Node:
    """A discounted sum of live steps, with a value beyond the end."""
    later = ranged(tensor("x", (), (T,)), expr(T) + lag, T.extent)
    live = ranged(tensor("c", (), (T,), "bool"), expr(T) + lag, T.extent)
    terms = map_node("mul", [later, _weights(_gamma(), later.shape[0])])
    dead = const([beyond], "float32", (expr(1),))
    return reduce_node("sum", map_node("where", [live, terms, dead]), [-1])


@fires("incremental/discounted-live-sum")
def discounted_sum_of_live_steps(z: Sizes) -> Node:
    return _live(z, 0.0)


@silent("incremental/discounted-live-sum")
def discounted_sums_with_a_lag_or_a_price_of_dead_steps(z: Sizes) -> tuple[Node, ...]:
    return _live(z, 0.0, lag=1), _live(z, 1.0)

"""Instances of products of histories, which are sums of outer products."""

from __future__ import annotations

from ostinato.pdg.build import ONE, map_node, matmul, reshape, transpose
from ostinato.pdg.index import expr
from ostinato.pdg.node import Node
from tests.rewrite.instances.incremental import ranged
from tests.rewrite.instances.instance import Sizes, T, fires, silent, tensor


def _keys(z: Sizes, last: int = 1) -> Node:
    return ranged(tensor("k", (z.k,), (T,)), 0, expr(T) + last)


def _values(z: Sizes, last: int = 1) -> Node:
    return ranged(tensor("v", (z.n,), (T,)), 0, expr(T) + last)


def _fixed(z: Sizes) -> tuple[Node, Node]:
    """Three keys and values, at every point."""
    return ranged(tensor("k", (z.k,), (T,)), 0, 3), ranged(tensor("v", (z.n,), (T,)), 0, 3)


def _tr(x: Node) -> Node:
    return transpose(x, (-1, -2))


def _query(z: Sizes) -> Node:
    return tensor("q", (z.k,), (T,))


def _row(x: Node) -> Node:
    return reshape(x, (ONE, x.shape[0]))


def _scores(z: Sizes, keys: Node) -> Node:
    """The products of keys with a query, as a row."""
    column = matmul(keys, reshape(_query(z), (expr(z.k), ONE)))
    return reshape(column, (ONE, keys.shape[0]))


@fires("incremental/outer-products")
def keys_and_values_so_far(z: Sizes) -> Node:
    return matmul(_tr(_keys(z)), _values(z))


@silent("incremental/outer-products")
def three_keys_and_values(z: Sizes) -> Node:
    keys, values = _fixed(z)
    return matmul(_tr(keys), values)


@silent("incremental/query-last")
def query_with_keys_then_values(z: Sizes) -> Node:
    return matmul(matmul(_row(_query(z)), _tr(_keys(z))), _values(z))


@fires("incremental/query-last")
def keys_with_query_then_values(z: Sizes) -> Node:
    return matmul(_scores(z, _keys(z)), _values(z))


@silent("incremental/query-last")
def scores_that_are_changed_and_three_keys(z: Sizes) -> tuple[Node, ...]:
    keys, values = _fixed(z)
    row = matmul(_row(_query(z)), _tr(_keys(z)))
    return (
        matmul(map_node("exp", [row]), _values(z)),
        matmul(map_node("exp", [_scores(z, _keys(z))]), _values(z)),
        matmul(matmul(_row(_query(z)), _tr(keys)), values),
        matmul(_scores(z, keys), values),
    )

"""Instances of elements: of what is computed from ranges, at one place of the range."""

from __future__ import annotations

from ostinato.pdg.build import map_node, part
from ostinato.pdg.index import ExprLike, expr
from ostinato.pdg.node import Node
from tests.rewrite.instances.incremental import ranged, rows, until_now
from tests.rewrite.instances.instance import Sizes, T, fires, silent, tensor

_ALONE = "incremental/element-as-part"


def _element(x: Node, axis: int, index: ExprLike) -> Node:
    return part(map_node("exp", [x]), axis, expr(index))


@fires(_ALONE)
def last_of_all_so_far(z: Sizes) -> Node:
    return _element(until_now(rows(z)), -2, T)


@fires(_ALONE, "incremental/one-step-of-range", beside=(_ALONE, "incremental/tile-of-range"))
def first_of_all_to_come(z: Sizes) -> Node:
    past = ranged(rows(z), T, T.extent)
    return part(past, -2, expr(0))


@silent(_ALONE)
def element_of_another_axis(z: Sizes) -> Node:
    return _element(until_now(rows(z)), -1, 0)


@silent("incremental/one-step-of-range")
def range_of_two_steps(z: Sizes) -> Node:
    return ranged(tensor("x", (z.k,), (T,)), T, expr(T) + 2)

"""Instances of the family matmul: products summed over rows, and products that share a matrix."""

from __future__ import annotations

from functools import partial

from ostinato.pdg.build import matmul, reduce_node
from ostinato.pdg.index import Extent
from ostinato.pdg.node import Node, Pdg
from tests.rewrite.instances.instance import (
    B,
    Instance,
    Sizes,
    T,
    all_of,
    fires,
    program,
    silent,
    tensor,
)

_ROWS = (B.extent, T.extent, Extent("I"))


def _outer(z: Sizes, axes: int, fn: str, summed: int) -> Pdg:
    """Products of ``(rows, k, 1)`` and ``(rows, 1, n)`` folded over the first ``summed`` axes."""
    rows = _ROWS[:axes]
    product = matmul(tensor("x", (*rows, z.m, z.k)), tensor("y", (*rows, z.k, z.n)))
    return program(reduce_node(fn, product, range(-axes - 2, summed - axes - 2)))


def _outer_sum(axes: int) -> tuple[Instance, Instance]:
    rule = "matmul/outer-sum" if axes == 1 else "matmul/outer-sum-of-sums"
    every_row = partial(_outer, axes=axes, fn="sum", summed=axes)
    largest = partial(_outer, axes=axes, fn="max", summed=axes)
    return (
        Instance(f"products summed over {axes} axes of rows", every_row, (rule,)),
        Instance(f"largest product over {axes} axes of rows", largest, idle=(rule,)),
    )


@fires("matmul/shared-right")
def rows_times_one_matrix(z: Sizes) -> Node:
    return matmul(tensor("x", (T.extent, z.m, z.k), (B,)), all_of(tensor("w", (z.k, z.n)), T))


@silent("matmul/shared-right")
def rows_times_a_matrix_each(z: Sizes) -> Node:
    return matmul(tensor("x", (T.extent, z.m, z.k)), all_of(tensor("w", (z.k, z.n), (T,)), T))


@silent("matmul/shared-right")
def one_row_times_a_shared_matrix(z: Sizes) -> Node:
    return matmul(tensor("x", (1, z.m, z.k), (B,)), all_of(tensor("w", (z.k, z.n)), T))


@silent("matmul/outer-sum")
def products_with_one_right_side(z: Sizes) -> Node:
    product = matmul(tensor("x", (T.extent, z.m, z.k)), tensor("y", (1, z.k, z.n)))
    return reduce_node("sum", product, [-3])


OUTER_SUMS = tuple(instance for axes in (1, 2, 3) for instance in _outer_sum(axes))

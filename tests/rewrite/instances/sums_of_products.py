"""Instances of the family matmul: sums of products that are matrix products, and some that are not.

Rows of ``x`` are what ``y`` lacks, columns of ``y`` what ``x`` lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ostinato.pdg.build import map_node, matmul, part, reduce_node, transpose
from ostinato.pdg.functions import INTS
from ostinato.pdg.index import ExprLike, expr
from ostinato.pdg.node import Dtype, Node
from tests.rewrite.instances.instance import B, Sizes, T, all_of, fires, silent, tensor

Shape = Sequence[ExprLike]


def _summed(x: Shape, y: Shape, *axes: int, dtype: Dtype = "float32") -> Node:
    product = map_node("mul", [tensor("x", x, (T,), dtype), tensor("y", y, (), dtype)])
    return reduce_node("sum", product, axes)


@fires("matmul/contraction")
def columns_before_the_summed_axis(z: Sizes) -> Node:
    return _summed((z.m, 1, z.k), (1, z.n, z.k), -1)


@fires("matmul/contraction")
def columns_first(z: Sizes) -> Node:
    return _summed((1, z.n, z.k), (z.m, 1, z.k), -1)


@fires("matmul/contraction")
def rows_and_columns_apart(z: Sizes) -> Node:
    return _summed((z.m, z.n, 1, z.k), (1, z.n, 2, z.k), -1)


@silent(
    "matmul/contraction",
    "matmul/sum-over-rows",
    "matmul/one-sum-after-the-other",
)
def products_without_columns_or_of_integers_or_largest(z: Sizes) -> tuple[Node, ...]:
    rows, columns = (z.m, 1, z.k), (1, z.n, z.k)
    x, y = tensor("a", rows), tensor("b", columns)
    largest = reduce_node("max", map_node("mul", [x, y]), [-1])
    sums = reduce_node("sum", map_node("add", [x, y]), [-1])
    whole = _summed(rows, columns, -1, dtype="int32")
    one = _summed((z.m, z.k, 1), (z.m, z.k, z.n), -2)
    return one, whole, largest, sums, _summed(rows, (z.m, z.n, z.k), -1, -3)


@fires("matmul/sum-over-rows")
def rows_before_the_summed_axis_and_columns_behind(z: Sizes) -> Node:
    return _summed((z.m, z.k, 1), (1, z.k, z.n), -2)


@fires("matmul/sum-in-front", idle=("matmul/one-sum-after-the-other",))
def summed_axis_in_front(z: Sizes) -> Node:
    return _summed((z.k, z.m, 1), (z.k, 1, z.n), -3)


@silent("matmul/sum-in-front")
def summed_axis_in_front_of_a_vector(z: Sizes) -> Node:
    return _summed((z.k, z.m, z.n), (z.k, 1, 1), -3)


@fires("matmul/one-sum-after-the-other")
def two_summed_axes(z: Sizes) -> tuple[Node, ...]:
    shapes = (z.k, z.m, 2, 1), (z.k, 1, 2, z.n)
    return _summed(*shapes, -4, -2), _summed(*shapes, -2)


@fires("matmul/matrix-by-vector", idle=("matmul/contraction",))
def rows_times_a_vector(z: Sizes) -> Node:
    return _summed((z.m, z.k), (1, z.k), -1)


@fires("matmul/matrix-by-vector")
def rows_in_front_of_a_batch_times_vectors(z: Sizes) -> Node:
    return _summed((z.m, z.n, z.k), (1, z.n, z.k), -1)


@fires("matmul/matrix-by-vector")
def vector_times_rows(z: Sizes) -> Node:
    return _summed((1, z.k), (z.m, z.k), -1)


@fires("matmul/vector-by-matrix")
def columns_times_a_vector(z: Sizes) -> Node:
    return _summed((z.k, z.n), (z.k, 1), -2)


@fires("matmul/vector-by-matrix")
def columns_behind_a_batch_times_vectors(z: Sizes) -> Node:
    return _summed((z.k, z.m, z.n), (z.k, z.m, 1), -3)


@fires("matmul/vector-by-matrix")
def vector_times_columns(z: Sizes) -> Node:
    return _summed((z.k, 1), (z.k, z.n), -2)


_VECTORS = ("matmul/matrix-by-vector", "matmul/vector-by-matrix")
_MATRICES = ("matmul/contraction",)


@silent(*_VECTORS)
def products_of_equal_shapes_and_with_a_factor(z: Sizes) -> tuple[Node, ...]:
    whole, rows = (z.m, z.k), (z.k, z.m, 1)
    sums = (_summed(whole, whole, -1), _summed(whole, (z.m, 1), -1), _summed(whole, (1, z.k), -2))
    return *sums, _summed(rows, rows, -3)


@silent(*_VECTORS, *_MATRICES)
def sums_of_products_of_integers(z: Sizes) -> tuple[Node, ...]:
    shapes = (
        ((z.m, z.k), (1, z.k), -1),
        ((z.k, z.n), (z.k, 1), -2),
        ((z.m, 1, z.k), (1, z.n, z.k), -1),
    )
    return tuple(_summed(*s, dtype=dtype) for s in shapes for dtype in INTS)


@silent(*_MATRICES)
def one_row_or_one_column(z: Sizes) -> tuple[Node, ...]:
    row, column, rows, columns = (1, 1, z.k), (1, 1, z.k), (z.m, 1, z.k), (1, z.n, z.k)
    pairs = (row, columns), (columns, row), (rows, column), (column, rows)
    return tuple(_summed(x, y, -1) for x, y in pairs)


@silent(*_VECTORS)
def one_row_times_a_vector(z: Sizes) -> tuple[Node, ...]:
    return _summed((1, z.k), (1, z.k), -1), _summed((z.k, 1), (z.k, 1), -2)


def _repeated(x: Node, z: Sizes, order: int) -> Node:
    """The sum of ``x`` at all points, times rows of every point."""
    given = [all_of(x, T), tensor("y", (T.extent, z.m, z.k), (B,))]
    return reduce_node("sum", map_node("mul", given[::order]), [-1])


@fires("matmul/same-at-all-points")
def vector_of_all_points_times_rows(z: Sizes) -> Node:
    return _repeated(tensor("w", (1, z.k)), z, 1)


@fires("matmul/same-at-all-points")
def rows_times_a_vector_of_all_points(z: Sizes) -> Node:
    return _repeated(tensor("w", (1, z.k)), z, -1)


@silent("matmul/same-at-all-points")
def vectors_of_each_point_or_numbers(z: Sizes) -> tuple[Node, ...]:
    each, number = tensor("w", (1, z.k), (T,)), tensor("u", (1, 1))
    return tuple(_repeated(x, z, order) for x in (each, number) for order in (1, -1))


@fires("matmul/shared-rows")
def rows_of_a_batch_times_a_matrix_with_an_axis(z: Sizes) -> Node:
    return matmul(tensor("x", (z.n, z.m, z.k), (T,)), tensor("w", (1, z.k, z.n)))


@silent("matmul/shared-rows")
def each_of_a_batch_times_its_matrix(z: Sizes) -> tuple[Node, ...]:
    alone = matmul(tensor("y", (1, z.m, z.k), (T,)), tensor("v", (1, z.k, z.n)))
    return alone, matmul(tensor("x", (z.n, z.m, z.k), (T,)), tensor("w", (z.n, z.k, z.n)))


def _chain(z: Sizes, left: bool) -> Node:
    sizes: Shape = (z.m, z.k, z.n, 1)
    a, b, c = (tensor(f"x{i}", pair, (T,)) for i, pair in enumerate(pairwise(sizes)))
    return matmul(matmul(a, b), c) if left else matmul(a, matmul(b, c))


@fires("matmul/right-first", idle=("matmul/left-first",))
def chain_from_the_left(z: Sizes) -> Node:
    return _chain(z, left=True)


@fires("matmul/left-first", idle=("matmul/right-first",))
def chain_from_the_right(z: Sizes) -> Node:
    return _chain(z, left=False)


@fires("view/transpose-vector")
def row_transposed(z: Sizes) -> Node:
    return transpose(tensor("x", (1, z.k), (T,)), (-1, -2))


@fires("view/transpose-vector")
def column_transposed(z: Sizes) -> Node:
    return transpose(tensor("x", (z.k, 1), (T,)), (-1, -2))


@silent("view/transpose-vector")
def matrix_transposed(z: Sizes) -> Node:
    return transpose(tensor("x", (z.m, z.k), (T,)), (-1, -2))


@fires("view/only-element")
def only_row_of_a_matrix(z: Sizes) -> Node:
    return part(tensor("x", (1, z.k), (T,)), -2, expr(0))


@silent("view/only-element")
def first_row_of_a_matrix(z: Sizes) -> Node:
    return part(tensor("x", (z.m, z.k), (T,)), -2, expr(0))


def _of_transposed(z: Sizes, axis: int) -> Node:
    turned = transpose(tensor("x", (z.m, z.k, z.n), (T,)), (-1, -2))
    return part(turned, axis, expr(1))


@fires("view/element-of-transposed")
def one_of_transposed_matrices(z: Sizes) -> Node:
    return _of_transposed(z, -3)


@silent("view/element-of-transposed")
def row_of_transposed_matrices(z: Sizes) -> Node:
    return _of_transposed(z, -2)

"""Instances of the family view: reads, slices and moved axes that cancel, and some that do not."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.pdg.build import map_node, moving, part, read, reduce_node, reshape, transpose
from ostinato.pdg.index import Dim, expr
from ostinato.pdg.node import Broadcast, Node, Read, Transpose, intern
from tests.rewrite.instances.instance import (
    B,
    Sizes,
    T,
    all_of,
    at,
    fires,
    silent,
    span,
    tensor,
    useless,
)


def _matrix(z: Sizes, over: Sequence[Dim] = (T,)) -> Node:
    return tensor("x", (z.m, z.k), over)


def _moved(x: Node, k: int, to: int) -> Node:
    """Axis ``-k`` as axis ``-to``."""
    return transpose(x, moving(k, to))


@fires("view/read-here")
def value_read_at_its_own_point(z: Sizes) -> Node:
    return useless(_matrix(z), Read(((T, expr(T)),)))


@silent("view/read-here")
def value_read_a_step_back(z: Sizes) -> Node:
    return at(_matrix(z), T, expr(T) - 1)


@fires("view/read-invariant")
def value_without_t_read_a_step_back(z: Sizes) -> Node:
    return useless(_matrix(z, (B,)), Read(((T, expr(T) - 1),)))


@silent("view/read-invariant")
def varying_value_read_elsewhere(z: Sizes) -> tuple[Node, ...]:
    grows = tensor("w", (z.m, expr(T) + 1), (B, T))
    return at(_matrix(z, (B, T)), T, expr(B)), at(grows, T, expr(B))


def _repeated(x: Node, n: int) -> Node:
    """Rows repeated ``n`` times; the constructor would drop it where nothing changes."""
    shape = (expr(n), *x.shape[1:])
    return intern((Broadcast(shape), (x,), x.domain, shape, x.dtype))


@fires("view/repeat-same")
def value_repeated_to_its_own_shape(z: Sizes) -> Node:
    return _repeated(_matrix(z), z.m)


@silent("view/repeat-same")
def row_repeated_to_a_matrix(z: Sizes) -> Node:
    return _repeated(tensor("x", (1, z.k), (T,)), z.m + 1)


@fires("view/only-element")
def first_row_of_a_number_as_a_matrix(z: Sizes) -> Node:
    return part(reshape(tensor("x", (), (T,)), (expr(1), expr(1))), -2, expr(0))


@fires("view/index-of-slice")
def element_of_a_history(z: Sizes) -> Node:
    return part(all_of(_matrix(z), T), -3, expr(T) - 1)


@fires("view/index-of-slice")
def history_read_at_its_own_point(z: Sizes) -> Node:
    return part(all_of(_matrix(z), T), -3, expr(T))


@silent("view/index-of-slice")
def element_of_another_axis_or_of_a_part(z: Sizes) -> tuple[Node, ...]:
    x = _matrix(z)
    return part(all_of(x, T), -1, expr(0)), part(read(x, [(T, span(1, T.extent))]), -3, expr(0))


@fires("view/read-from-slice")
def read_beside_a_history(z: Sizes) -> tuple[Node, ...]:
    x = _matrix(z)
    return at(x, T, expr(T) - 1), all_of(x, T)


@silent("view/read-from-slice")
def read_without_a_history(z: Sizes) -> tuple[Node, ...]:
    return at(_matrix(z), T, expr(T) - 1), all_of(tensor("z", (z.k,), (T,)), T)


@fires("view/slice-from-slice")
def part_beside_a_history(z: Sizes) -> tuple[Node, ...]:
    x = _matrix(z)
    return read(x, [(T, span(0, expr(T) + 1))]), all_of(x, T)


@silent("view/slice-from-slice")
def history_alone(z: Sizes) -> Node:
    return all_of(_matrix(z), T)


@fires("view/move-nowhere")
def axis_moved_to_where_it_is(z: Sizes) -> Node:
    return useless(_matrix(z), Transpose((-1,)))


@silent("view/move-nowhere", "view/transpose-twice")
def axis_moved_once(z: Sizes) -> Node:
    return _moved(_matrix(z), 1, 2)


@fires("view/move-back")
def pair_of_axes_exchanged_twice(z: Sizes) -> Node:
    return _moved(_moved(tensor("x", (z.m, z.k, z.n), (T,)), 2, 3), 2, 3)


@silent("view/move-back")
def three_axes_turned_twice(z: Sizes) -> Node:
    return _moved(_moved(tensor("x", (z.m, z.k, z.n), (T,)), 1, 3), 1, 3)


def _with_axes(z: Sizes) -> Node:
    return tensor("x", (z.m, z.k, z.n, z.k), (T,))


@fires("view/move-on")
def axis_moved_twice(z: Sizes) -> Node:
    return _moved(_moved(_with_axes(z), 1, 2), 2, 4)


@silent("view/move-on", "view/move-three")
def another_axis_moved_then(z: Sizes) -> Node:
    return _moved(_moved(_with_axes(z), 1, 2), 1, 3)


@fires("view/move-three")
def three_axes_reversed(z: Sizes) -> Node:
    return _moved(_moved(_moved(_with_axes(z), 2, 3), 3, 4), 2, 3)


@fires("view/move-apart")
def two_pairs_of_axes_exchanged(z: Sizes) -> Node:
    return _moved(_moved(_with_axes(z), 3, 4), 1, 2)


@silent("view/move-apart")
def two_pairs_that_share_an_axis(z: Sizes) -> Node:
    return _moved(_moved(_with_axes(z), 2, 3), 1, 2)


@fires("view/transpose-twice")
def matrix_transposed_twice(z: Sizes) -> Node:
    return transpose(transpose(_matrix(z), (-1, -2)), (-1, -2))


@fires("view/fold-of-moved", idle=("view/moved-fold",))
def moved_axis_folded(z: Sizes) -> tuple[Node, ...]:
    turned = _moved(tensor("x", (z.m, z.k, z.n), (T,)), 1, 3)
    return tuple(reduce_node("sum", turned, axes) for axes in ([-3], [-3, -1]))


@fires("view/moved-fold", idle=("view/fold-of-moved",))
def other_axis_folded(z: Sizes) -> tuple[Node, ...]:
    turned = _moved(tensor("x", (z.m, z.k, z.n), (T,)), 1, 3)
    return tuple(reduce_node("max", turned, axes) for axes in ([-2], [-1], [-2, -1]))


@silent("view/fold-of-moved")
def position_of_the_maximum(z: Sizes) -> Node:
    return reduce_node("argmax", _moved(_matrix(z), 1, 2), [-2])


@fires("view/moved-map1")
def moved_function(z: Sizes) -> Node:
    return _moved(map_node("exp", [_matrix(z)]), 1, 2)


@fires("view/moved-map2")
def moved_product_of_thin_operands(z: Sizes) -> Node:
    row, column = tensor("x", (1, z.k), (T,)), tensor("y", (z.m, 1), (T,))
    return _moved(map_node("mul", [row, column]), 1, 2)


@fires("view/moved-map3")
def moved_choice(z: Sizes) -> Node:
    chosen = tensor("c", (z.m, 1), (T,), "bool")
    return _moved(map_node("where", [chosen, _matrix(z), tensor("y", (1, z.k))]), 1, 2)


@fires("view/map1-of-moved", idle=("view/moved-map1",))
def function_of_a_moved_axis(z: Sizes) -> Node:
    return map_node("exp", [_moved(_matrix(z), 1, 2)])


@fires("view/map2-of-moved", idle=("view/moved-map2",))
def product_of_moved_operands(z: Sizes) -> Node:
    row, column = tensor("x", (1, z.k), (T,)), tensor("y", (z.m, 1), (T,))
    return map_node("mul", [_moved(row, 1, 2), _moved(column, 1, 2)])


@fires("view/map3-of-moved", idle=("view/moved-map3",))
def choice_among_moved_operands(z: Sizes) -> Node:
    operands = tensor("c", (z.m, 1), (T,), "bool"), _matrix(z), tensor("y", (1, z.k))
    return map_node("where", [_moved(x, 1, 2) for x in operands])


@silent("view/map1-of-moved", "view/map2-of-moved", "view/map3-of-moved")
def operands_moved_in_different_ways(z: Sizes) -> tuple[Node, ...]:
    x, chosen = _matrix(z), tensor("c", (z.k, z.m), (T,), "bool")
    turned = _moved(x, 1, 2)
    whole = map_node("where", [chosen, turned, tensor("y", (z.k, z.m))])
    return _moved(map_node("exp", [x]), 1, 2), map_node("mul", [turned, chosen_row(z)]), whole


def chosen_row(z: Sizes) -> Node:
    """A row as long as the matrix is high."""
    return tensor("r", (1, z.m), (T,))

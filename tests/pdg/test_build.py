"""Constructors infer domain, shape and dtype, intern, and refuse what does not fit."""

from collections.abc import Callable

import pytest

from ostinato.pdg import build
from ostinato.pdg.build import Shape
from ostinato.pdg.condition import at_least
from ostinato.pdg.errors import DtypeError, OstinatoError, ShapeError
from ostinato.pdg.index import Slice, expr, maximum
from ostinato.pdg.node import Dtype, Node, Read
from tests.pdg.programs import B, T, n, scalar, series, shifted, t, window


def tensor(*sizes: int, dtype: Dtype = "float32", name: str = "x") -> Node:
    return build.input_node(name, shape(*sizes), dtype, (T,))


def shape(*sizes: int) -> Shape:
    return tuple(expr(s) for s in sizes)


def test_nodes_with_equal_fields_are_equal() -> None:
    assert build.map_node("exp", (series(),)) == build.map_node("exp", (series(),))
    assert build.const(1.0, "float32") != build.const(1, "int32")
    assert build.const(0.0, "float32") != build.const(-0.0, "float32")


def test_equal_nodes_keep_places_and_names_of_their_own() -> None:
    first = build.map_node("cos", (series(),), where="a.py:1")
    second = build.map_node("cos", (series(),), where="b.py:2")
    assert first == second
    assert hash(first) == hash(second)
    assert (first.where, second.where) == ("a.py:1", "b.py:2")
    assert first.named("wave") == first
    assert first.label == ""


@pytest.mark.parametrize("chosen", [True, False])
def test_a_choice_by_a_literal_is_the_operand_unless_the_other_lengthens_it(chosen: bool) -> None:
    always = build.const(chosen, "bool")
    x, y, one = tensor(2), tensor(2, name="y"), build.const(1.0, "float32")
    assert build.map_node("where", (always, x, y)) is (x if chosen else y)
    kept = build.map_node("where", (always, x, one))
    assert (kept is x) if chosen else (kept.shape, kept.domain) == (shape(2), (T,))
    assert build.map_node("where", (always, one, series())).domain == (T,)


def test_a_map_depends_on_the_dimensions_of_all_operands() -> None:
    over_b = build.input_node("w", (), "float32", (B,))
    assert build.map_node("add", (series(), over_b)).domain == (B, T)


def test_a_map_pads_ranks_and_repeats_axes_of_size_one() -> None:
    out = build.map_node("mul", (tensor(3, 1), tensor(4)))
    assert out.shape == shape(3, 4)
    assert [a.rank for a in out.args] == [2, 2]


def test_comparisons_give_bool_and_casts_what_is_declared() -> None:
    assert build.map_node("lt", (series(), scalar(1.0))).dtype == "bool"
    assert build.map_node("cast", (series(),), "int32").dtype == "int32"
    assert build.map_node("cast", (series(),), "float32") == series()


def test_a_read_replaces_dimensions_and_prepends_slices() -> None:
    x = build.input_node("x", (n - t, expr(4)), "float32", (B, T))
    moved = build.read(x, [(T, t - 1)])
    assert (moved.domain, moved.shape) == ((B, T), (n - t + 1, expr(4)))
    sliced = build.read(tensor(4), [(T, Slice(maximum(t - 3, 0), t + 1))])
    assert sliced.shape == (t + 1 - maximum(t - 3, 0), expr(4))
    assert build.read(tensor(4), [(T, Slice(expr(0), n))]).domain == ()


def test_a_read_at_the_same_point_is_no_read() -> None:
    assert build.read(series(), [(T, t)]) == series()
    assert build.read(scalar(1.0), [(T, t - 1)]) == scalar(1.0)
    assert isinstance(shifted(series(), -1).op, Read)


def test_a_slice_over_a_foreign_dimension_is_a_broadcast() -> None:
    out = build.read(series(), [(B, Slice(expr(0), expr(5)))])
    assert (out.domain, out.shape) == ((T,), shape(5))


def test_reductions_drop_axes_and_positions_are_int32() -> None:
    x = tensor(2, 3, 4)
    assert build.reduce_node("sum", x, [0, -1]).shape == shape(3)
    assert build.reduce_node("argmax", x, [1]).dtype == "int32"
    assert build.reduce_node("sum", x, []) is x


def test_matrix_products_broadcast_leading_axes() -> None:
    assert build.matmul(tensor(5, 1, 2, 3), tensor(4, 3, 6)).shape == shape(5, 4, 2, 6)


def test_movement_infers_shapes() -> None:
    x = tensor(2, 3)
    assert build.reshape(x, shape(6)).shape == shape(6)
    assert build.reshape(x, shape(3, 1), 1).shape == shape(2, 3, 1)
    assert build.transpose(x, (-1, -2)).shape == shape(3, 2)
    assert build.concat((x, x), -1).shape == shape(2, 6)
    assert build.part(x, -1, Slice(expr(0), expr(3), 2)).shape == shape(2, 2)
    assert build.part(x, 0, t).shape == shape(3)


def test_identity_movements_disappear() -> None:
    x = tensor(2, 3)
    assert build.reshape(build.reshape(x, shape(6)), shape(2, 3)) is x
    assert build.transpose(x, (-2, -1)) is x
    assert build.broadcast(x, shape(2, 3)) is x
    assert build.part(x, -1, Slice(expr(0), expr(3))) is x


def test_a_case_depends_on_the_dimensions_of_its_condition() -> None:
    assert build.case(at_least(B, 1), series(), scalar(0.0)).domain == (B, T)


def test_gathers_have_the_size_of_the_index_along_the_axis() -> None:
    index = tensor(2, 7, dtype="int32", name="i")
    assert build.gather(tensor(2, 3), index, -1).shape == shape(2, 7)


def test_a_growing_axis_depends_on_the_point() -> None:
    assert window(scalar(1.0), expr(0), t + 1).domain == (T,)
    assert build.iota(n - t).shape == (n - t,)


REFUSED: list[tuple[Callable[[], Node], type[OstinatoError], str]] = [
    (
        lambda: build.map_node("add", (tensor(3), tensor(4, name="y")), where="m.py:4"),
        ShapeError,
        "m.py:4: `add` of `x` (3,) and `y` (4,): axis -1 is 3 in `x` and 4 in `y`\n"
        "  Make the sizes equal, or 1 where the axis is to be repeated.",
    ),
    (
        lambda: build.map_node("add", (tensor(3), tensor(3, dtype="int32", name="y"))),
        DtypeError,
        "`add` of `x` (float32) and `y` (int32)\n"
        "  It takes operands of one type out of int32, int64, uint32, float32, float64; "
        "use `.cast`.",
    ),
    (
        lambda: build.matmul(tensor(2, 3), tensor(2, 3), "m.py:9"),
        ShapeError,
        "m.py:9: matrix product of `x` (2, 3) and `x` (2, 3)\n"
        "  The last axis left must equal the last but one right.",
    ),
    (
        lambda: build.matmul(tensor(2, 3, dtype="int32"), tensor(3, 2)),
        DtypeError,
        "matrix product of `x` (int32) and `x` (float32)\n  Cast both to one of float32, float64.",
    ),
    (
        lambda: build.reduce_node("sum", tensor(2, 3), [2]),
        ShapeError,
        "axis 2 of `x`, which has 2 axes\n  Use an axis from -2 to 1.",
    ),
    (
        lambda: build.reduce_node("any", tensor(2), [0]),
        DtypeError,
        "`any` of `x` (float32)\n  It takes bool.",
    ),
    (
        lambda: build.reshape(tensor(2, 3), shape(5)),
        ShapeError,
        "`x` of shape (2, 3) reshaped to (5,)\n  The number of elements must stay the same.",
    ),
    (
        lambda: build.broadcast(tensor(2), shape(3)),
        ShapeError,
        "`x` of shape (2,) broadcast to (3,)\n  Only axes of size 1 can be repeated.",
    ),
    (
        lambda: build.concat((tensor(2, 3), tensor(3, 3)), -1),
        ShapeError,
        "concatenation of `x` (2, 3) and `x` (3, 3)\n  All axes but axis -1 must have equal sizes.",
    ),
    (
        lambda: build.part(tensor(2, 3), -1, expr(3)),
        ShapeError,
        "index 3 of axis -1 of `x`, which has size 3\n  Use an index inside the axis.",
    ),
    (
        lambda: build.gather(tensor(2), tensor(2, name="i"), 0),
        DtypeError,
        "`i` (float32) indexes `x`\n  Cast the index to an integer type.",
    ),
    (
        lambda: build.case(at_least(T, 1), tensor(2), tensor(3)),
        ShapeError,
        "one case gives (2,) float32, another (3,) float32\n"
        "  All cases must have one shape and dtype.",
    ),
]


@pytest.mark.parametrize(("make", "error", "text"), REFUSED, ids=[text for *_, text in REFUSED])
def test_what_does_not_fit_is_refused_in_these_words(
    make: Callable[[], Node], error: type[OstinatoError], text: str
) -> None:
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == text


def test_an_unknown_function_is_met_with_the_closest_name() -> None:
    with pytest.raises(DtypeError, match="`tanhh` is no elementwise function"):
        build.map_node("tanhh", (series(),))

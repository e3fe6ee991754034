"""Left sides of equations, and what they refuse."""

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import CoverageError, DtypeError, EquationError, ShapeError


def values(x: ot.Tensor, **arguments: int) -> object:
    return ot.Program(x=x).interpret(**arguments)["x"].tolist()


def test_the_right_side_is_at_the_current_point() -> None:
    t = ot.dims("t")
    x = ot.recurrent("x", over=t)
    x[0] = 1.0
    x[t + 1] = 2.0 * x + t
    assert values(x, T=4) == [1, 2, 5, 12]


def test_a_recurrence_may_run_backwards() -> None:
    t = ot.dims("t")
    x = ot.recurrent("x", over=t)
    x[-1] = 1.0
    x[t - 1] = 2.0 * x
    assert values(x, T=4) == [8, 4, 2, 1]


def test_the_first_case_that_matches_wins() -> None:
    t = ot.dims("t")
    x = ot.recurrent("x", dtype="int32", over=t)
    x[t % 3 == 0] = 0
    x[t < 3] = 1
    x[True] = ot.index(t)
    assert values(x, T=6) == [0, 1, 1, 0, 4, 5]


def test_a_step_of_two_needs_two_first_values() -> None:
    t = ot.dims("t")
    x = ot.recurrent("x", over=t)
    x[0] = 1.0
    x[1] = 1.0
    x[t + 2] = x[t + 1] + x
    assert values(x, T=7) == [1, 1, 2, 3, 5, 8, 13]


def test_the_last_step_may_be_named_by_the_extent() -> None:
    t = ot.dims("t")
    x = ot.recurrent("x", over=t)
    x[t.size - 1] = 5.0
    x[True] = 0.0
    assert values(x, T=3) == [0, 0, 5]


def test_missing_positions_are_the_dimensions_themselves() -> None:
    b, t = ot.dims("b t")
    x = ot.recurrent("x", over=(b, t))
    x[b] = ot.index(b) * 10.0 + ot.index(t)
    assert values(x, B=2, T=2) == [[0, 1], [10, 11]]


def test_a_right_side_is_broadcast_and_widened() -> None:
    t = ot.dims("t")
    x = ot.recurrent("x", shape=(2,), over=t)
    x[True] = ot.index(t)
    assert values(x, T=2) == [[0, 0], [1, 1]]


@pytest.mark.parametrize("left", [slice(None), "t", 0.5, None])
def test_a_left_side_that_is_no_point_names_the_remedy(left: object) -> None:
    t = ot.dims("t")
    x = ot.recurrent("x", over=t)
    with pytest.raises(EquationError, match="use a condition"):
        x[left] = 0.0


def test_a_scaled_left_side_is_refused() -> None:
    t = ot.dims("t")
    x = ot.recurrent("x", over=t)
    with pytest.raises(EquationError, match=r"left side of `x` has `2\*t` for `t`"):
        x[2 * t] = 0.0


def test_a_fixed_dimension_may_not_stand_on_the_right() -> None:
    b, t = ot.dims("b t")
    x = ot.recurrent("x", over=(b, t))
    with pytest.raises(EquationError, match="fixes `t`, but its right side depends on it"):
        x[b, 0] = ot.index(t) * 1.0


def test_a_foreign_dimension_may_not_stand_on_the_right() -> None:
    b, t = ot.dims("b t")
    x = ot.recurrent("x", over=t)
    with pytest.raises(EquationError, match="the right side depends on `b`"):
        x[t] = ot.index(b) * 1.0
    with pytest.raises(EquationError, match="the left side mentions `b`"):
        x[b == 0] = 1.0


def test_shape_and_type_of_the_right_side_are_checked() -> None:
    t = ot.dims("t")
    x = ot.recurrent("x", shape=(2,), dtype="int32", over=t)
    with pytest.raises(ShapeError, match=r"`x` has shape \(2,\), .* \(3,\)"):
        x[0] = ot.zeros(3, "int32")
    with pytest.raises(DtypeError, match="`x` is int32"):
        x[0] = ot.zeros(2)
    with pytest.raises(DtypeError, match="`x` is int32"):
        x[0] = 0.5


def test_a_tensor_without_equations_is_no_program() -> None:
    x = ot.recurrent("x", over=ot.dims("t"))
    with pytest.raises(CoverageError, match="`x` is read, but has no equation"):
        ot.Program(y=x + 1.0)


def test_equations_of_a_record_define_every_field() -> None:
    t = ot.dims("t")
    start = ot.Record(x=ot.constant([1.0, 2.0]), age=ot.constant(0))
    state = ot.recurrent("state", like=start, over=t)
    state[0] = start
    state[t + 1] = ot.where(state.age < 1, ot.Record(x=state.x * 2, age=state.age + 1), state)
    out = ot.Program(x=state.x, age=state.age).interpret(T=3)
    assert out["age"].tolist() == [0, 1, 1]
    assert np.array_equal(out["x"], [[1, 2], [2, 4], [2, 4]])


def test_records_with_other_fields_do_not_meet() -> None:
    t = ot.dims("t")
    state = ot.recurrent("state", like=ot.Record(x=ot.constant(0.0)), over=t)
    with pytest.raises(EquationError, match="record of x meets record of y"):
        state[0] = ot.Record(y=ot.constant(0.0))

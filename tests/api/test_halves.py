"""float16 and bfloat16: storage whose arithmetic is in float32."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import DtypeError, GradientError

HALVES = ("float16", "bfloat16")


@pytest.mark.parametrize("half", HALVES)
def test_arithmetic_on_halves_is_float32(half: str) -> None:
    x = ot.input("x", shape=(2, 2), dtype=half)
    made = (x + x, x * 2.0, ot.exp(x), x @ x, x.sum(), x.mean(), ot.where(x > 0, x, x), -x)
    assert {y.dtype for y in made} == {"float32"}


@pytest.mark.parametrize("half", HALVES)
def test_movement_keeps_a_half(half: str) -> None:
    x = ot.input("x", shape=(2, 2), dtype=half)
    moved = (x.T, x[0], x.reshape(4), ot.concatenate([x, x]), ot.stack([x, x]), x.take([0], 0))
    assert {y.dtype for y in moved} == {half}


def test_halves_of_two_kinds_join_as_float32() -> None:
    a, b = ot.input("a", (2,), "float16"), ot.input("b", (2,), "bfloat16")
    assert ot.concatenate([a, b]).dtype == "float32"


@pytest.mark.parametrize("half", HALVES)
def test_a_recurrence_kept_in_a_half_rounds_at_each_step(half: str) -> None:
    t = ot.dims("t")
    h = ot.recurrent("h", dtype=half, over=t)
    h[0] = 1.0
    h[t + 1] = (h * 1.1).cast(half)
    program = ot.Program(h=h)
    kind = ml_dtypes.bfloat16 if half == "bfloat16" else np.float16
    expected = [kind(1.0)]
    for _ in range(9):
        expected.append(kind(np.float32(expected[-1]) * np.float32(1.1)))
    for run in (program.interpret, program.compile()):
        found = run(T=10)["h"]
        assert found.dtype == kind
        assert found.tolist() == [float(x) for x in expected]


@pytest.mark.parametrize("half", HALVES)
def test_a_half_moves_through_cases_gathers_and_outputs(half: str) -> None:
    t = ot.dims("t")
    x = ot.input("x", shape=(3,), dtype=half, over=t)
    y = ot.recurrent("y", shape=(3,), dtype=half, over=t)
    y[0] = ot.full((3,), 7.0, half)
    y[t + 1] = ot.take(x, [2, 0, 1], 0)
    program = ot.Program(y=y, wide=y.cast("float64"), whole=y.cast("int32"))
    given = np.array([[1.5, -2.25, 3.0], [0.125, 9.0, -1.0]])
    judged, found = program.interpret(x=given), program.compile()(x=given)
    assert judged["y"].tolist() == [[7.0, 7.0, 7.0], [3.0, 1.5, -2.25]]
    for name, value in judged.items():
        assert found[name].dtype == value.dtype
        assert found[name].tolist() == value.tolist()


@pytest.mark.parametrize("half", HALVES)
def test_gradients_pass_through_halves_in_float32(half: str) -> None:
    x = ot.input("x", shape=(3,))
    kept = (x * x).cast(half)
    program = ot.Program(g=ot.grad((kept * kept).sum(), x), h=ot.grad(kept.sum(), kept))
    assert program.pdg.outputs[1][1].dtype == "float32"
    given = np.array([1.0, 2.0, -3.0], "float32")
    for run in (program.interpret, program.compile()):
        np.testing.assert_allclose(run(x=given)["g"], 4 * given**3)


def test_a_half_on_the_left_wants_a_cast_on_the_right() -> None:
    h = ot.recurrent("h", dtype="float16", over=ot.dims("t"))
    with pytest.raises(DtypeError, match=r"is float16, .* float32\n  Write `.cast\('float16'\)`"):
        h[0] = ot.constant(1.0)


def test_a_half_is_no_loss_and_no_draw() -> None:
    x = ot.input("x", dtype="float16")
    with pytest.raises(GradientError, match="which is float16"):
        ot.grad(x, x)
    with pytest.raises(DtypeError, match="Use float32 or float64"):
        ot.random.uniform(dtype="bfloat16")


def test_a_wide_integer_rounds_by_way_of_float32() -> None:
    n = ot.input("n", dtype="int64")
    program = ot.Program(h=n.cast("bfloat16"))
    for run in (program.interpret, program.compile()):
        assert float(run(n=2**24 + 3)["h"]) == float(ml_dtypes.bfloat16(np.float32(2**24 + 3)))

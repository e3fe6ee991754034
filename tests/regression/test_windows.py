"""Windows of a recurrence inside its own equation, and windows as outputs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato.language.tensor import Tensor

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "max": lambda w: w.max(0),
    "mean": lambda w: w.mean(0),
    "cummax": lambda w: ot.cummax(w, 0).sum(0),
    "sort": lambda w: ot.sort(w)[..., 1],
}


@pytest.mark.filterwarnings("ignore:rewriting left")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_step_may_read_the_window_of_all_steps_just_before_it(name: str) -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    s = ot.recurrent("s", over=(b, t))
    s[t < 3] = x
    window: Tensor = s[b, t : t + 3]
    s[b, t + 3] = 0.5 * FUNCTIONS[name](window) + x[b, t + 3]
    program = ot.Program(s=s)
    given = np.random.default_rng(0).normal(size=(3, 9)).astype("float32")
    judged, found = program.interpret(x=given)["s"], program.compile()(x=given)["s"]
    np.testing.assert_allclose(found, judged, rtol=1e-6)


@pytest.mark.parametrize("steps", [2, 3, 6])
def test_a_window_as_an_output_is_as_long_as_its_longest(steps: int) -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    program = ot.Program(w=ot.sort(x[ot.maximum(t - 2, 0) : t + 1]))
    given = np.arange(steps, dtype="float32")[::-1].copy()
    judged, found = program.interpret(x=given)["w"], program.compile()(x=given)["w"]
    assert judged.shape == found.shape == (steps, min(steps, 3))
    np.testing.assert_array_equal(judged, found)


def test_a_recurrence_that_is_defined_on_a_part_of_its_box_compiles() -> None:
    t = ot.dims("t")
    x, s = ot.input("x", over=t), ot.recurrent("s", over=t)
    s[0] = 1.0
    s[t + 1] = s * x[t + 2]  # no value at the last step, and none is needed
    program = ot.Program(y=ot.where(t < t.size - 1, ot.where(s > 0, 1.0, 2.0), 0.0))
    given = [1.0, 2.0, -3.0, 4.0]
    assert program.interpret(x=given)["y"].tolist() == [1.0, 2.0, 2.0, 0.0]
    assert program.compile()(x=given)["y"].tolist() == [1.0, 2.0, 2.0, 0.0]

"""Constants whose size depends on the point are values of that point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import ShapeError

T = ot.dims("t")
X = ot.input("x", over=T)
REST = T.size - T
SIZED: dict[str, Callable[[], ot.Tensor]] = {
    "ones times a slice": lambda: (ot.ones((REST,)) * X[T:]).sum(0),
    "a sum of ones": lambda: ot.ones((T + 1,)).sum(0) + X,
    "a sum of nothing": lambda: ot.zeros((T,)).sum(0) + X,
    "running products": lambda: ot.cumprod(ot.full((T + 1,), 0.5)).sum(0) + X,
    "weights of a slice": lambda: (ot.cumprod(ot.full((REST,), 0.5)) * X[T:]).sum(0),
    "an order": lambda: ot.argsort(ot.ones((T + 1,))).sum(0) + X,
    "parts": lambda: ot.concatenate([ot.ones((T + 1,)), X[T:]]).sum(0),
    "itself": lambda: ot.ones((T + 1,)) * X,
}


@pytest.mark.parametrize("name", SIZED)
@pytest.mark.parametrize("options", [{}, {"exact": True, "rules": ot.rules.only()}])
def test_a_constant_may_have_another_size_at_each_point(
    name: str, options: dict[str, object]
) -> None:
    program = ot.Program(y=SIZED[name]())
    x = np.arange(1, 6, dtype="float32") / 8
    expected = program.interpret(x=x)["y"]
    np.testing.assert_array_equal(program.compile(**options)(x=x)["y"], expected)  # type: ignore[arg-type]


def test_leaves_have_no_size_that_no_dimension_of_theirs_decides() -> None:
    with pytest.raises(ShapeError, match=r"`v` of shape \(t\+1,\) has another size at each `t`"):
        ot.input("v", shape=(T + 1,), over=T)
    with pytest.raises(ShapeError, match=r"`uniform` of shape \(t\+1,\) has no value for each `t`"):
        ot.random.uniform((T + 1,))
    with pytest.raises(ShapeError, match="Name the dimension in `over`: over=t"):
        ot.recurrent("h", shape=(T + 1,))


PAST = X[: T + 1].named("past")
STEPS: dict[str, Callable[[], ot.Tensor]] = {
    "this step": lambda: PAST[T : T + 1],
    "the step before": lambda: PAST[T - 1 : T],
    "the first step": lambda: PAST[0:1],
    "a chosen step": lambda: ot.where(T > 0, PAST[T - 1 : T].sum((0, 1)), 0.0),
    "a part of a step": lambda: PAST[T : T + 1, T // 2 : T + 1].sum(0),
    "a gradient": lambda: ot.grad((PAST[T : T + 1] * PAST[T : T + 1]).max((0, 1))[:].sum(0), X),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("options", [{}, {"exact": True, "rules": ot.rules.only()}])
def test_one_step_is_a_range_whatever_its_size(name: str, options: dict[str, object]) -> None:
    program = ot.Program(y=STEPS[name]())
    x = np.arange(1, 6, dtype="float32") / 8
    expected = program.interpret(x=x)["y"]
    np.testing.assert_array_equal(program.compile(**options)(x=x)["y"], expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "read",
    [
        lambda: PAST[T // 2 : T + 1],
        lambda: PAST[:],
        lambda: PAST.at(t=ot.index(T)),
        lambda: ot.host(np.sum, PAST, over=T),
    ],
)
def test_steps_of_other_sizes_are_no_array(read: Callable[[], ot.Tensor]) -> None:
    with pytest.raises(ShapeError) as raised:
        read()
    first, remedy = str(raised.value).split("\n")
    place, fact = first.split(": ", 1)
    assert place.startswith("test_sizes_at_points.py:")
    assert fact == "`past` (t+1,) is read at several steps of `t`, at which its sizes differ"
    assert remedy == ("  Fold the axis of size t+1 first; `[..., lo:hi]` slices the axis itself.")

"""Small programs with known answers: each once went wrong in some recurrent-tensor system."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.language.tensor import Tensor

Array = npt.NDArray[np.float64]
STEPS = 9


def series(steps: int = STEPS) -> Array:
    return np.random.default_rng(3).uniform(-1, 1, steps)


def run(y: Tensor, **arguments: object) -> Array:
    """The compiled result, after checking that the interpreter agrees."""
    program = ot.Program(y=y)
    result = program.compile()(**arguments)["y"]
    np.testing.assert_allclose(result, program.interpret(**arguments)["y"], rtol=1e-9, atol=1e-12)
    return np.asarray(result, np.float64)


def check(build: Callable[[Tensor], Tensor], expected: Callable[[Array], Array]) -> None:
    """Build ``y`` from one float64 series and compare with NumPy."""
    x, values = ot.input("x", dtype="float64", over=(t,)), series()
    np.testing.assert_allclose(run(build(x), x=values), expected(values), rtol=1e-9, atol=1e-12)


b, t = ot.dims("b t")


def test_prefix_sum() -> None:
    check(lambda x: x[: t + 1].sum(0), np.cumsum)


def test_suffix_sum() -> None:
    check(lambda x: x[t:].sum(0), lambda v: np.cumsum(v[::-1])[::-1])


def test_window_sum() -> None:
    def windows(v: Array) -> Array:
        return np.array([v[max(k - 3, 0) : k + 1].sum() for k in range(len(v))])

    check(lambda x: x[ot.maximum(t - 3, 0) : t + 1].sum(0), windows)


def test_running_sum_read_at_every_step() -> None:
    def build(x: Tensor) -> Tensor:
        s = ot.recurrent("s", dtype="float64", over=(t,))
        s[0] = x[0]
        s[t] = s[t - 1] + x
        return s * 2.0

    check(build, lambda v: 2 * np.cumsum(v))


def test_cyclic_read() -> None:
    check(lambda x: x[t % 3] * 1.0, lambda v: v[np.arange(len(v)) % 3])


def test_halved_read() -> None:
    check(lambda x: x[t // 2] * 1.0, lambda v: v[np.arange(len(v)) // 2])


def test_gradient_of_a_mean_over_time_for_a_parameter_without_time() -> None:
    x = ot.input("x", dtype="float64", over=(t,))
    w = ot.input("w", dtype="float64")
    loss = (x * w)[:].mean()
    values = series()
    result = run(ot.grad(loss, w), x=values)
    np.testing.assert_allclose(result, values.mean())


def test_gradient_through_a_recurrence() -> None:
    x, w = ot.input("x", dtype="float64", over=(t,)), ot.input("w", dtype="float64")
    h = ot.recurrent("h", dtype="float64", over=(t,))
    h[0] = x[0]
    h[t + 1] = ot.tanh(h * w + x)
    loss = (h * h)[:].sum()
    values = series()

    def value(weight: float) -> float:
        state, total = values[0], values[0] ** 2
        for k in range(len(values) - 1):
            state = np.tanh(state * weight + values[k])
            total += state * state
        return float(total)

    slope = (value(0.7 + 1e-6) - value(0.7 - 1e-6)) / 2e-6
    np.testing.assert_allclose(run(ot.grad(loss, w), x=values, w=np.float64(0.7)), slope, rtol=1e-7)


@pytest.mark.parametrize(("gamma", "steps"), [(0.9, 1200), (0.99, 20000)])
def test_long_discounted_sums_stay_finite(gamma: float, steps: int) -> None:
    x = ot.input("x", dtype="float64", over=(t,))
    values = series(steps)
    expected = np.zeros(steps)
    total = 0.0
    for k in reversed(range(steps)):
        total = expected[k] = values[k] + gamma * total
    result = ot.Program(y=ot.discounted_sum(x[t:], gamma)).compile()(x=values)["y"]
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-12)


def test_product_with_its_own_past() -> None:
    def build(x: Tensor) -> Tensor:
        y = ot.sin(x)
        return x * y + x * y[ot.maximum(t - 1, 0)]

    def expected(v: Array) -> Array:
        y = np.sin(v)
        return v * y + v * y[np.maximum(np.arange(len(v)) - 1, 0)]

    check(build, expected)


def test_log_probability_gradient_of_a_discrete_policy() -> None:
    logits = ot.input("logits", shape=(3,), dtype="float64", over=(b,))
    action = ot.input("action", dtype="int32", over=(b,))
    chosen = ot.take(ot.log_softmax(logits), action, axis=-1)
    gradient = ot.grad(chosen[:].sum(), logits)
    z, a = np.random.default_rng(0).normal(size=(4, 3)), np.array([0, 2, 1, 2], np.int32)
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    np.testing.assert_allclose(run(gradient, logits=z, action=a), np.eye(3)[a] - p, atol=1e-9)


def test_either_of_two_and_a_third() -> None:
    """Once written without its parentheses, which binds the third to the second."""
    check(
        lambda x: ot.where(((x > 0.5) | (x < 0.2)) & (x < 0.6), x, 0.0),
        lambda x: np.where(((x > 0.5) | (x < 0.2)) & (x < 0.6), x, 0.0),
    )

"""Optimizers: the numbers of their definitions, and training."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import nn, optim
from ostinato.pdg.errors import EquationError

START = np.array([1.0, -2.0], np.float64)
SLOPE = np.array([0.5, 4.0], np.float64)


def path(optimizer: optim.Optimizer, steps: int = 6) -> npt.NDArray[Any]:
    """The iterates on the loss ``sum(slope * w**2)``."""
    i = ot.dims("i")
    w = ot.recurrent("w", shape=(2,), dtype="float64", over=i)
    w[0] = ot.constant(START)
    optimizer.minimize((ot.constant(SLOPE) * w * w).sum(), [w])
    return ot.Program(w=w).interpret(I=steps)["w"]


def test_sgd_follows_the_gradient() -> None:
    expected = [START * (1 - 0.1 * 2 * SLOPE) ** k for k in range(6)]
    np.testing.assert_allclose(path(optim.SGD(0.1)), expected)


def test_momentum_is_pytorchs() -> None:
    w, v = START, np.zeros(2)
    expected: list[npt.NDArray[np.float64]] = []
    for _ in range(6):
        expected.append(w)
        v = 0.9 * v + 2 * SLOPE * w
        w = w - 0.01 * v
    np.testing.assert_allclose(path(optim.SGD(0.01, momentum=0.9)), expected)


def test_adam_is_pytorchs() -> None:
    w, m, v = START, np.zeros(2), np.zeros(2)
    expected: list[npt.NDArray[np.float64]] = []
    for k in range(1, 7):
        expected.append(w)
        g = 2 * SLOPE * w
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w = w - 0.05 * (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.999**k)) + 1e-8)
    np.testing.assert_allclose(path(optim.Adam(0.05)), expected)


def test_adams_bias_correction_keeps_float32_digits() -> None:
    i = ot.dims("i")
    w = ot.recurrent("w", over=i)
    w[0] = 1.0
    optim.Adam(0.1).minimize(3.0 * w, [w])
    out = ot.Program(w=w).interpret(I=2)["w"]
    np.testing.assert_allclose(out, [1.0, 0.9], rtol=1e-6)


def test_the_rate_may_be_a_schedule_or_an_argument() -> None:
    i = ot.dims("i")
    w = ot.recurrent("w", over=i)
    w[0] = 0.0
    optim.SGD(ot.input("rate") * (1.0 - i / i.size)).minimize(w, [w])
    out = ot.Program(w=w).interpret(I=4, rate=4.0)["w"]
    assert out.tolist() == [0, -4, -7, -9]


def test_a_network_learns_a_sum() -> None:
    i, t = ot.dims("i t")
    model = nn.MLP(3, [8], 1, over=i)
    error = model(ot.input("x", shape=(3,), over=t))[..., 0] - ot.input("y", over=t)
    loss = (error * error)[i, :].mean()
    model.update(optim.Adam(0.05), loss)
    x = np.random.default_rng(0).normal(size=(12, 3))
    out = ot.Program(loss=loss).interpret(x=x, y=x.sum(1), I=40)["loss"]
    assert out[-1] < 0.05 * out[0]


def test_a_loss_per_step_must_be_reduced_first() -> None:
    i, t = ot.dims("i t")
    w = ot.recurrent("w", over=i)
    w[0] = 0.0
    with pytest.raises(EquationError, match="the right side depends on `t`"):
        optim.SGD(0.1).minimize(w * ot.index(t), [w])


def test_a_parameter_without_a_dimension_has_no_next_iteration() -> None:
    w = ot.recurrent("w")
    with pytest.raises(EquationError, match="over no dimension"):
        optim.SGD(0.1).minimize(w * w, [w])

"""Gradients of ragged programs equal those of loops over true lists, whatever lies beyond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from tests.ragged.episodes import PATTERNS, Array, draws, episodes, spoiled

Loss = Callable[[ot.Tensor, ot.Tensor, ot.Dimension, ot.Dimension], ot.Tensor]
GARBAGE = (np.nan, np.inf, 0.0)


def numeric(loss: Callable[[float], float], at: float, step: float = 1e-5) -> float:
    """The central difference."""
    return float((loss(at + step) - loss(at - step)) / (2 * step))


def discounted(row: Array, gamma: float) -> Array:
    return np.array([(row[k:] * gamma ** np.arange(len(row) - k)).sum() for k in range(len(row))])


def twice(column: ot.Tensor) -> ot.Tensor:
    return ot.tanh(column @ ot.constant([[1.0, 2.0]]))


LOSSES: dict[str, tuple[Loss, Callable[[list[Array], float], Any]]] = {
    "weighted sum": (
        lambda x, w, b, t: (x * w)[:, :].sum(),
        lambda rows, w: sum((r * w).sum() for r in rows),
    ),
    "mean of logarithms at points": (
        lambda x, w, b, t: ot.log(x * x * w)[:, :].mean(),
        lambda rows, w: np.mean(np.concatenate([np.log(r * r * w) for r in rows])),
    ),
    "logarithms of a slice": (
        lambda x, w, b, t: ot.log(x[b, :] * x[b, :] * w).sum().at(b=slice(None)).sum(),
        lambda rows, w: sum(np.log(r * r * w).sum() for r in rows),
    ),
    "quotients": (
        lambda x, w, b, t: (w / x)[:, :].sum() + (w / x[b, :]).sum()[:].mean(),
        lambda rows, w: sum((w / r).sum() for r in rows) + np.mean([(w / r).sum() for r in rows]),
    ),
    "softmax": (
        lambda x, w, b, t: (ot.softmax(w * x[b, :]) * x[b, :]).sum()[:].sum(),
        lambda rows, w: sum((np.exp(w * r) * r).sum() / np.exp(w * r).sum() for r in rows),
    ),
    "variance": (
        lambda x, w, b, t: ot.exp(w * x)[b, :].var()[:].sum(),
        lambda rows, w: sum(np.exp(w * r).var() for r in rows),
    ),
    "discounted": (
        lambda x, w, b, t: (ot.discounted_sum((w * x)[b, t:], 0.9) ** 2)[:, :].mean(),
        lambda rows, w: np.mean(np.concatenate([discounted(w * r, 0.9) ** 2 for r in rows])),
    ),
    "largest": (
        lambda x, w, b, t: ot.logsumexp((w * x)[b, :])[:].sum() + (w * x)[b, :].max()[:].sum(),
        lambda rows, w: sum(np.log(np.exp(w * r).sum()) + (w * r).max() for r in rows),
    ),
    "matrix product": (
        lambda x, w, b, t: twice((x * w)[b, :].reshape(-1, 1)).sum()[:].sum(),
        lambda rows, w: sum((np.tanh(r * w) + np.tanh(2 * r * w)).sum() for r in rows),
    ),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_gradient_is_that_of_the_episodes(name: str, pattern: str) -> None:
    done = PATTERNS[pattern]
    x = draws(done)
    make, by_hand = LOSSES[name]
    b, t = ot.dims("b t")
    ends, weight = ot.input("ends", dtype="bool", over=(b, t)), ot.input("weight", dtype="float64")
    value = ot.input("value", dtype="float64", over=(b, t))
    ot.stop(t, when=ends)
    loss = make(value, weight, b, t)
    program = ot.Program(loss=loss, slope=ot.grad(loss, weight))
    rows = episodes(x.astype("float64"), done)
    expected = numeric(lambda w: float(by_hand(rows, w)), 0.7)
    machine = program.compile()
    for garbage in GARBAGE:
        arguments = {"ends": done, "value": spoiled(x, done, garbage), "weight": 0.7}
        for found in (program.interpret(**arguments), machine(**arguments)):
            np.testing.assert_allclose(found["loss"], by_hand(rows, 0.7), 1e-6)
            np.testing.assert_allclose(found["slope"], expected, 1e-4, 1e-6)


def run_away(over: tuple[ot.Dimension, ot.Dimension], rate: ot.Tensor) -> ot.Tensor:
    """Squares that leave every bound soon after they pass 2."""
    b, t = over
    size = ot.recurrent("size", dtype="float64", over=(b, t))
    size[b, 0] = ot.input("start", dtype="float64", over=b)
    size[b, t + 1] = rate * size * size
    return size


def test_a_state_that_explodes_beyond_the_end_spoils_no_gradient() -> None:
    b, t = ot.dims("b t")
    rate = ot.input("rate", dtype="float64")
    size = run_away((b, t), rate)
    ot.stop(t, when=size > 2.0)
    loss = size[:, :].sum()
    program = ot.Program(loss=loss, slope=ot.grad(loss, rate))

    def by_hand(r: float) -> float:
        total = 0.0
        for value in (1.5, 1.1):
            while True:
                total += value
                if value > 2.0:
                    break
                value = r * value * value
        return total

    arguments = {"start": [1.5, 1.1], "rate": 1.1, "T": 30}
    for found in (program.interpret(**arguments), program.compile()(**arguments)):
        np.testing.assert_allclose(found["loss"], by_hand(1.1), 1e-9)
        np.testing.assert_allclose(found["slope"], numeric(by_hand, 1.1), 1e-5)


def test_second_derivatives_leave_out_what_is_beyond() -> None:
    b, t = ot.dims("b t")
    w, x = ot.input("w", dtype="float64"), ot.input("x", dtype="float64", over=(b, t))
    ot.stop(t, when=x < 0)
    loss = ot.log(w * x * x)[:, :].sum() + (w * w * w * x)[:, :].sum()
    second = ot.grad(ot.grad(loss, w), w)
    found = ot.Program(second=second).interpret(x=[[1, -2, 0, np.inf], [-1, np.nan, 1, 1]], w=2.0)
    np.testing.assert_allclose(found["second"], -3 / 4 + 6 * 2.0 * (1 - 2 - 1))


def test_the_gradient_by_the_steps_is_zero_beyond_the_end() -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    ot.stop(t, when=x < 0)
    steps = x[b, :]
    by_axis = ot.grad((steps * steps).sum(), steps)
    by_point = ot.grad(ot.log(x * x)[:, :].sum(), x)
    found = ot.Program(axis=by_axis, point=by_point).interpret(x=[[2, -4, 0], [1, 1, 1]])
    assert found["axis"].tolist() == [[4, -8, 0], [2, 2, 2]]
    assert found["point"].tolist() == [[1, -0.5, 0], [2, 2, 2]]

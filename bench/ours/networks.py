"""Networks in training: perceptrons over rows, gated units through time; gradient descent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ostinato as ot
from bench.harness.timing import rates
from ostinato import nn, optim
from ostinato.compiler.results import Results

RATE = 0.01


def perceptron(width: int, depth: int, batch_axis: bool) -> ot.Program:
    """Return the loss of every step of a regression on all rows.

    The rows are a dimension, or an axis of an array.
    """
    b, i = ot.dims("b i")
    model = nn.MLP(width, [width] * depth, 1, over=i)
    if batch_axis:
        x, y = ot.input("x", shape=(b.size, width)), ot.input("y", shape=(b.size,))
        loss = ((model(x)[..., 0] - y) ** 2).mean()
    else:
        x, y = ot.input("x", shape=(width,), over=b), ot.input("y", over=b)
        loss = ((model(x)[..., 0] - y) ** 2)[:, i].mean()
    model.update(optim.SGD(RATE), loss)
    return ot.Program(loss=loss)


def recurrent(cell: str, width: int) -> ot.Program:
    """Return the loss of every step of a regression of all states on targets."""
    b, i, t = ot.dims("b i t")
    x, y = (ot.input(name, shape=(width,), over=(b, t)) for name in "xy")
    if cell == "gru":
        model: nn.GRU | nn.LSTM = nn.GRU(width, width, over=i)
        states = model(x, t)
    else:
        model = nn.LSTM(width, width, over=i)
        states = model(x, t).hidden
    loss = ((states - y) ** 2)[:, i, :].mean()
    model.update(optim.SGD(RATE), loss)
    return ot.Program(loss=loss)


def mlp(width: int, depth: int, batch: int) -> Callable[[], float]:
    return trained(perceptron(width, depth, False), rows(width, batch), {"B": batch}, batch)


def mlp_axis(width: int, depth: int, batch: int) -> Callable[[], float]:
    return trained(perceptron(width, depth, True), rows(width, batch), {"B": batch}, batch)


def rnn(cell: str, width: int, batch: int, steps: int) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, batch, steps, width)).astype(np.float32)
    extents = {"B": batch, "T": steps}
    return trained(recurrent(cell, width), {"x": x, "y": y}, extents, batch * steps)


def rows(width: int, batch: int) -> dict[str, object]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(batch, width)), rng.normal(size=batch)
    return {"x": x.astype(np.float32), "y": y.astype(np.float32)}


def trained(
    program: ot.Program, arrays: dict[str, object], extents: dict[str, int], amount: int
) -> Callable[[], float]:
    """Return a sampler of ``amount`` per step of training."""
    compiled = program.compile(hints=extents)

    def run(iterations: int) -> None:
        require_finite(compiled(**arrays, I=iterations))

    return rates(run, amount)


def require_finite(found: Results) -> None:
    """Raise if training went astray: the speed of a wrong result is no figure."""
    if not bool(np.isfinite(found["loss"]).all()):
        raise ValueError(f"the loss is not finite: {found['loss']}")

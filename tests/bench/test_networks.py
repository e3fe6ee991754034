"""The networks of the benchmarks are the same functions in ostinato and in JAX."""

import importlib
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from bench.harness.picture_networks import CHOICES, HIDDEN, PICTURES, samples
from bench.ours.convnets import Network, classifier
from bench.ours.networks import perceptron, recurrent, require_finite, rows
from ostinato import nn
from ostinato.compiler.results import Results


@pytest.mark.parametrize("batch_axis", [False, True])
def test_training_makes_the_loss_of_a_perceptron_smaller(batch_axis: bool) -> None:
    loss = perceptron(4, 2, batch_axis).interpret(**rows(4, 8), I=5)["loss"]
    assert loss[-1] < loss[0]


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_training_makes_the_loss_of_gated_units_smaller(cell: str) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 2, 3, 4)).astype(np.float32)
    loss = recurrent(cell, 4).interpret(x=x, y=y, I=3)["loss"]
    assert loss[-1] < loss[0]


@pytest.mark.parametrize("network", ["dqn", "minatar", "residual"])
def test_every_layer_of_a_network_of_convolutions_fits(network: str) -> None:
    model = Network(network, ot.dims("i"))
    assert model.scores.weight.shape == (HIDDEN[network], CHOICES)
    channels, side = PICTURES[network]
    assert model(ot.input("x", shape=(channels, side, side))).shape == (CHOICES,)


def test_training_makes_the_loss_of_convolutions_smaller() -> None:
    x, label = samples("minatar", 4)
    loss = classifier("minatar").compile(threads=1)(x=x, label=label, I=5)["loss"]
    assert loss[-1] < loss[0]


def test_a_loss_that_is_not_finite_is_no_figure() -> None:
    with pytest.raises(ValueError, match="not finite"):
        require_finite(Results({"loss": np.array([1.0, np.nan])}, {}))


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_cells_are_those_of_jax(cell: str) -> None:
    pytest.importorskip("jax", reason="JAX is an optional peer")
    peer: Any = importlib.import_module("bench.peers.in_jax.networks")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 5, 2, 4)).astype(np.float32)
    t, b = ot.dims("t b")
    layer = nn.GRU(4, 4) if cell == "gru" else nn.LSTM(4, 4)
    names = ("input_weight", "hidden_weight", "input_bias", "hidden_bias")
    found = layer(ot.input("x", shape=(4,), over=(t, b)), t)
    states = found.hidden if isinstance(found, ot.Record) else found
    values = [getattr(layer.cell, name) for name in names]
    made = ot.Program(states=states, **dict(zip(names, values, strict=True))).interpret(x=x)
    params = [made[name] for name in names]
    loss = ((made["states"] - y) ** 2).mean()
    assert np.isclose(peer.recurrent(cell, params, x, y), loss, rtol=1e-5)

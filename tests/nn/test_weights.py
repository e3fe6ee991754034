"""Weights of PyTorch give the same outputs here, and ours have its names and layout."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import safetensors.numpy

import ostinato as ot
from ostinato import nn, optim
from ostinato.pdg.errors import ArgumentError, CheckpointError
from tests.nn.pytorch_modules import Arrays, computed, recorded

t = ot.dims("t")
MODULES: dict[str, Callable[[], nn.Module]] = {
    "mlp": lambda: nn.MLP(3, [4], 2),
    "conv": lambda: nn.Conv(1, 2, (2, 3)),
    "norm": lambda: nn.LayerNorm(3),
    "gru": lambda: nn.GRU(3, 4),
    "lstm": lambda: nn.LSTM(3, 4),
}


def output(module: nn.Module, x: ot.Tensor) -> ot.Tensor:
    match module:
        case nn.LSTM():
            return module(x, t).hidden
        case nn.GRU():
            return module(x, t)
        case nn.MLP() | nn.Conv() | nn.LayerNorm():
            return module(x)
        case _:
            raise AssertionError(module)


def parts(found: Arrays) -> tuple[Arrays, Arrays]:
    """The weights, and the input and the output."""
    return (
        {name: a for name, a in found.items() if name not in "xy"},
        {name: found[name] for name in "xy"},
    )


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_pytorch_gives_the_same_here(name: str) -> None:
    weights, known = parts(recorded()[name])
    x = ot.input("x", known["x"].shape[1:], over=t)
    made = MODULES[name]()
    given = ot.Program(y=output(made.with_weights(weights), x)).interpret(x=known["x"])
    run = ot.Program(y=output(made.as_inputs(), x)).compile()
    passed = run(x=known["x"], **made.arguments(weights))
    np.testing.assert_allclose(given["y"], known["y"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(passed["y"], known["y"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MODULES)
def test_our_weights_have_the_names_and_the_shapes_of_pytorchs(name: str) -> None:
    weights, _ = parts(recorded()[name])
    ours = ot.Program(**MODULES[name]().state_dict()).interpret()
    assert {n: a.shape for n, a in ours.items()} == {n: a.shape for n, a in weights.items()}


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_what_is_recorded_is_what_pytorch_gives() -> None:
    found = computed()
    for name, known in recorded().items():
        for key, array in known.items():
            np.testing.assert_allclose(found[name][key], array, rtol=1e-5, atol=1e-6)


def test_a_state_of_a_training_has_the_weights_that_it_left() -> None:
    i, b = ot.dims("i b")
    model = nn.MLP(2, [8], 2, over=ot.carried(i))
    loss = ot.square(model(ot.input("x", (2,), over=b)) - 1.0)[i, :].mean()
    model.update(optim.Adam(0.1), loss)
    given = {"I": 5, "x": np.linspace(-1.0, 1.0, 80).reshape(40, 2)}
    with ot.Program(loss=loss).compile().stream(i, every=5, **given) as records:
        assert len(list(records)) == 5
    left = ot.Program(**model.final.state_dict()).interpret(**given)
    for name, array in model.state_dict(records.state).items():
        np.testing.assert_allclose(array, left[name], rtol=1e-5, atol=1e-6)


def test_weights_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    weights, _ = parts(recorded()["mlp"])
    lacking = {name: a for name, a in weights.items() if name != "2.bias"}
    model = nn.MLP(3, [4], 2)
    for given, text in (
        (lacking, "the weights lack `2.bias`"),
        ({**weights, "4.bias": np.ones(1)}, "the weights have a strange `4.bias`"),
        ({**weights, "0.weight": np.ones((3, 4))}, r"`0.weight` has shape \[3, 4\], not \[4, 3\]"),
    ):
        with pytest.raises(ArgumentError, match=text):
            model.with_weights(given)
    with pytest.raises(ArgumentError, match="two parameters are called `linear_weight`"):
        both = nn.Linear(2, 2), nn.Linear(2, 2)
        pair(both).state_dict({"linear_weight": np.ones((2, 2)), "linear_bias": np.ones(2)})
    (tmp_path / "w").write_bytes(b"no weights")
    with pytest.raises(CheckpointError, match="cannot be read"):
        nn.load_weights(tmp_path / "w")


KEPT: dict[str, object] = {
    "a number": np.float32(3.0),
    "nothing": np.ones((0, 3)),
    "turned": np.arange(6.0).reshape(2, 3).T,
    "bfloat16": np.array([1.0, -2.5], "bfloat16"),
    "truths": np.array([True, False]),
    "a list": [1, 2],
}


def test_weights_are_read_as_they_were_written(tmp_path: Path) -> None:
    nn.save_weights(tmp_path / "w", KEPT)
    for name, array in nn.load_weights(tmp_path / "w").items():
        assert array.dtype == np.asarray(KEPT[name]).dtype
        np.testing.assert_array_equal(array, KEPT[name], strict=True)
    model = nn.Linear(2, 1)
    halves = {"weight": np.ones((1, 2), "bfloat16"), "bias": np.ones(1, "bfloat16")}
    assert ot.Program(y=model.with_weights(halves)(ot.ones(2))).interpret()["y"] == [3.0]


def test_what_no_file_of_weights_can_hold_is_refused(tmp_path: Path) -> None:
    for given in ({"a": "text"}, {"a": None}, {"a": np.ones(2, complex)}, {3: np.ones(2)}):
        with pytest.raises(
            ArgumentError, match=r"the weight .* is of type .*\n  Give arrays of num"
        ):
            nn.save_weights(tmp_path / "w", cast(dict[str, object], given))
    (tmp_path / "w").write_bytes(safetensors.numpy.save({"z": np.ones(2, "complex64")}))
    with pytest.raises(CheckpointError, match="the weight `z` in .* is of the type C64"):
        nn.load_weights(tmp_path / "w")
    with pytest.raises(CheckpointError, match="cannot be read: No such file or directory\n"):
        nn.load_weights(tmp_path / "none")


class Pair(nn.Module):
    def __init__(self, parts: tuple[nn.Module, ...]) -> None:
        self.parts = parts


def pair(parts: tuple[nn.Module, ...]) -> nn.Module:
    return Pair(parts)

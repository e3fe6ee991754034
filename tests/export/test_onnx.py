"""What onnxruntime computes of an exported program is what the interpreter does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn, rl
from ostinato.pdg.errors import ArgumentError
from ostinato.pdg.functions import Array
from tests.nn.pytorch_modules import recorded

onnx: Any = pytest.importorskip("onnx", reason="ONNX is not installed")
runtime: Any = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

b = ot.dims("b")


def assert_same(program: ot.Program, path: Path, weights: dict[str, Any], **given: Any) -> None:
    """Both for a batch of other sizes than that of the file, which knows none."""
    program.to_onnx(path / "model.onnx", weights)
    graph = onnx.load(path / "model.onnx").graph
    read = {name for node in graph.node for name in node.input}
    assert {each.name for each in graph.initializer} <= read
    session = runtime.InferenceSession(path / "model.onnx", providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    assert sorted(names) == sorted(given.keys() & program.inputs)
    found = session.run(None, {name: given[name] for name in names})
    taken = {name: given[name] for name in names}
    expected = program.interpret(**taken, **weights)
    for name, array in zip(program.outputs, found, strict=True):
        assert array.dtype == expected[name].dtype
        np.testing.assert_allclose(array, expected[name], rtol=2e-5, atol=2e-6, err_msg=name)


def image(module: Callable[[ot.Tensor], ot.Tensor], x: ot.Tensor) -> ot.Tensor:
    return ot.relu(module(x)).reshape((-1,))


def step_of_gru(module: nn.GRU, x: ot.Tensor) -> ot.Tensor:
    return module.cell(x, ot.tanh(x[..., :1]) * ot.ones(4))


def step_of_lstm(module: nn.LSTM, x: ot.Tensor) -> ot.Tensor:
    state = ot.Record(hidden=ot.zeros(4), cell=ot.ones(4))
    return module.cell(x, state).hidden


MODULES: dict[str, tuple[Callable[[], nn.Module], Callable[..., ot.Tensor]]] = {
    "mlp": (lambda: nn.MLP(3, [4], 2), nn.MLP.__call__),
    "conv": (lambda: nn.Conv(1, 2, (2, 3)), image),
    "norm": (lambda: nn.LayerNorm(3), nn.LayerNorm.__call__),
    "gru": (lambda: nn.GRU(3, 4), step_of_gru),
    "lstm": (lambda: nn.LSTM(3, 4), step_of_lstm),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_runs_elsewhere(name: str, tmp_path: Path) -> None:
    make, apply = MODULES[name]
    known = recorded()[name]
    module, x = make(), known["x"]
    weights = module.arguments({n: a for n, a in known.items() if n not in "xy"})
    y = apply(module.as_inputs(), ot.input("x", x.shape[1:], over=b))
    assert_same(ot.Program(y=y), tmp_path, weights, x=x)


FUNCTIONS: dict[str, Callable[[ot.Tensor, ot.Tensor], ot.Tensor]] = {
    "elementwise": lambda x, n: ot.log1p(abs(x)) + ot.gelu(x) * ot.softplus(x) - ot.expm1(x) ** 2,
    "rounding": lambda x, n: ot.floor(x) + ot.fmod(x, 0.75) + x // 0.3 + ot.round(x) % 0.7,
    "integers": lambda x, n: n // 3 + n % 3 - (-n) // 2 + (-n) % 5,
    "choices": lambda x, n: ot.where((x > 0) & (n != 2) | ~ot.isfinite(x), x, n.cast("float32")),
    "folds": lambda x, n: ot.stack([x.sum(), x.max(), x.mean(), ot.logsumexp(x, 0), x.prod()]),
    "truths": lambda x, n: (x > 0).any() & ~(x > 2).all(),
    "positions": lambda x, n: x.argmax() + x.argmin(),
    "movement": lambda x, n: (
        ot.concatenate([x[..., 1:], ot.ones(2), x[..., :1]])[..., 2::2].reshape((2, 1)).T
    ),
    "gathers": lambda x, n: ot.take(x, n, 0) + ot.take(ot.constant([5.0, 6.0, 7.0]), n, 0),
    "rows": lambda x, n: ot.take(x, ot.constant([2, 0]), 0),
    "one hot": lambda x, n: ot.one_hot(n, 4) @ ot.softmax(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_mean_the_same_elsewhere(name: str, tmp_path: Path) -> None:
    x = np.array([[0.5, -1.25, 2.0, 0.1], [-0.5, 1.5, 0.25, -3.0], [3.0, 2.5, 4.0, 2.25]], "f4")
    n = np.array([[0, 1, 2, 3], [3, 2, 7, 1], [2, -4, 2, 0]], np.int32)
    tensors = ot.input("x", (4,), over=b), ot.input("n", (4,), "int32", over=b)
    assert_same(ot.Program(y=FUNCTIONS[name](*tensors)), tmp_path, {}, x=x, n=n)


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1", "MinAtar/Breakout-v1"])
def test_a_policy_acts_elsewhere_as_here(name: str, tmp_path: Path) -> None:
    env = rl.make(name)
    actor = rl.Actor(env, [8], over=ot.carried(ot.dims("i")))
    rng = np.random.default_rng(0)
    weights: dict[str, Array] = {
        w.name: w.array(rng.normal(size=w.tensor.shape).astype("f4")) for w in actor.named_weights()
    }
    rl.export_onnx(tmp_path / "policy.onnx", env, actor, weights)
    session = runtime.InferenceSession(tmp_path / "policy.onnx", providers=["CPUExecutionProvider"])
    seen = rng.normal(size=(6, *env.observation_shape)).astype("f4")
    (action,) = session.run(["action"], {"observation": seen})
    player = rl.Player(env, actor, weights)
    np.testing.assert_allclose(action, [player(one) for one in seen], rtol=1e-5, atol=1e-6)


def test_what_has_no_form_there_is_said_at_the_users_line(tmp_path: Path) -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    total = ot.recurrent("total", over=t)
    total[0], total[t + 1] = 0.0, total + x
    for program, text in (
        (
            ot.Program(y=total),
            r"test_onnx.py:\d+: `total` \(rec\) has no form in ONNX\n  Export one",
        ),
        (ot.Program(y=ot.random.normal(over=t) + x), r"\(normal\) has no form in ONNX"),
        (ot.Program(y=ot.cumsum(ot.input("v", (3,)))), "has no form in ONNX"),
        (ot.Program(y=x[: t + 1].sum(0)), r"test_onnx.py:\d+: `x` \(read\) has no form in ONNX"),
        (ot.Program(y=x * ot.ones(t.size).sum()), r"test_onnx.py:\d+: .* has no form in ONNX"),
    ):
        with pytest.raises(ArgumentError, match=text):
            program.to_onnx(tmp_path / "x.onnx")
    with pytest.raises(ArgumentError, match="`w` is no input of the program"):
        ot.Program(y=x).to_onnx(tmp_path / "x.onnx", {"w": 1})


def test_without_the_package_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(name: str) -> None:
        return None

    monkeypatch.setattr("importlib.util.find_spec", nothing)
    with pytest.raises(
        Exception, match=r"onnx is not installed.\n  pip install 'ostinato\[onnx\]'"
    ):
        ot.Program(y=ot.input("x")).to_onnx(tmp_path / "x.onnx")

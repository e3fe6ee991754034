"""Many equal computations that share no array: one kernel is written, and called for each."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn, optim
from ostinato.codegen.emit import driver
from ostinato.codegen.loops.expression import Constant, Expression, Tuple, call
from ostinato.codegen.planning import joined_nests


def deep(layers: int, by: optim.Optimizer | None = None) -> ot.Program:
    """Return the loss of a network in training."""
    b, i = ot.dims("b i")
    net = nn.MLP(8, [8] * layers, 8, over=i)
    loss = (net(ot.input("x", (8,), over=b)) ** 2).sum(-1)[:, i].mean()
    (by or optim.Adam(1e-2)).minimize(loss, net.parameters)
    return ot.Program(loss=loss)


def test_draws_of_equal_layers_are_one_kernel() -> None:
    run = deep(10).compile()
    kernels = [text for text in run.explain().kernels if "stream" in text]
    assert len(kernels) == 11
    units = {u.name: u.text for u in run.executable.artifact.units() if u.kind == "kernel"}
    assert len({units[text.split("def ")[1].split("(")[0]] for text in kernels}) == 1


def test_few_layers_draw_in_one_nest() -> None:
    assert not any("stream" in text for text in deep(5).compile().explain().kernels)


def test_results_are_those_of_one_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    apart = deep(9).compile()(x=x, I=4, seed=2)["loss"]
    monkeypatch.setattr(joined_nests, "MANY", 1000)
    together = deep(9).compile(threads=3)(x=x, I=4, seed=2)["loss"]
    assert np.array_equal(apart, together)
    np.testing.assert_allclose(apart, deep(9).interpret(x=x, I=4, seed=2)["loss"], 1e-4)


def test_what_reads_the_same_array_stays_in_one_nest() -> None:
    t = ot.dims("t")
    x = ot.input("x", (64, 64), over=t)
    outputs = {f"y{k}": ot.exp(x[t] * float(k)) for k in range(1, 40)}
    assert len(ot.Program(**outputs).compile().explain().kernels) == 2


def test_a_stored_program_writes_its_units_again() -> None:
    units = deep(3).compile().executable.artifact.units
    again = pickle.loads(pickle.dumps(units))
    assert [(u.name, u.text) for u in again()] == [(u.name, u.text) for u in units()]


def test_certificates_hold(tmp_path: Path) -> None:
    deep(8, optim.SGD(1e-2)).compile().certificate(tmp_path / "c.json")
    assert ot.verify_certificate(tmp_path / "c.json").holds


def test_a_certificate_of_other_draws_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last numbers of a call may be any for the driver: what the loops do with them decides."""

    def other(numbers: Expression) -> Expression:
        if isinstance(numbers, Tuple) and isinstance(numbers.of[-1], Constant):
            return Tuple((*numbers.of[:-1], Constant(numbers.of[-1].value + 1)))
        return numbers

    def altered(fn: str, *args: Expression) -> Expression:
        return call(fn, *args[:-1], other(args[-1])) if fn == "invoke" else call(fn, *args)

    monkeypatch.setattr(driver, "call", altered)
    deep(8, optim.SGD(1e-2)).compile(without=["layout"]).certificate(tmp_path / "c.json")
    assert not ot.verify_certificate(tmp_path / "c.json").holds

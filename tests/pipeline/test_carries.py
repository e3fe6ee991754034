"""Nested loops on machine code: equal to the interpreter, in storage that does not grow."""

from functools import cache

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn, optim
from ostinato.compiler.compiled import Compiled

SIZES = [{"I": 2, "E": 2, "M": 3, "T": 5}, {"I": 3, "E": 1, "M": 1, "T": 2}]


@cache
def program() -> ot.Program:
    """Return a rollout per iteration, and updates by minibatches of it in epochs."""
    i, e, m, t = ot.dims("i e m t")
    model = nn.MLP(3, [4], 1, over=ot.carried(i, e, m))
    place = ot.recurrent("place", (3,), over=(i, t))
    acting = model.at(e=0, m=0)
    place[i, 0] = ot.random.normal((3,), over=i)
    place[i, t + 1] = 0.5 * place + ot.tanh(acting(place))
    history = place[i, :]
    rows = (3 * ot.arange(2) + ot.index(m) + ot.index(e)) % ot.index(t.size)
    miss = model(history.take(rows, axis=0))[..., 0] - history.take(rows, axis=0).sum(-1)
    loss = (miss**2).mean()
    model.update(optim.Clipped(optim.Adam(0.01), norm=0.5), loss)
    return ot.Program(loss=loss, final=model.final.layers[0].weight, per=loss[i, :, :].mean())


@cache
def compiled() -> Compiled:
    return program().compile(threads=2)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_machine_code_equals_the_interpreter(sizes: dict[str, int]) -> None:
    expected, found = program().interpret(seed=3, **sizes), compiled()(seed=3, **sizes)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-4, atol=1e-5, err_msg=name)


def test_no_copy_of_a_parameter_is_kept_per_step() -> None:
    def peak(i: int, e: int, m: int) -> int:
        losses = 4 * i * (e * m + 1)
        rows = 4 * 2 * e * m
        return compiled().explain(I=i, E=e, M=m, T=50).memory.predicted_peak_bytes - losses - rows

    peaks = [peak(*sizes) for sizes in ((2, 2, 2), (9, 2, 2), (2, 9, 2), (2, 2, 9), (9, 9, 9))]
    assert max(peaks) - min(peaks) < 512  # every tensor begins at a multiple of 64 bytes


def recurrent_policy(each: tuple[ot.Dimension, ...]) -> ot.Program:
    """Return back-propagation through time inside every minibatch."""
    i, e, k, t = ot.dims("i e k t")
    m = ot.dim("m", size=2)
    model = nn.Linear(3, 3, over=ot.carried(i, e, m, each=each))
    x = ot.random.normal((3,), over=(i, k, t))
    hidden = ot.recurrent("hidden", (3,), over=(*each, i, e, k, t, m))
    hidden[t == 0] = 0.0
    hidden[True] = ot.tanh(model(x + hidden)).at(t=t - 1)
    miss = (hidden.at(t=-1).sum(-1) - x.at(t=0).sum(-1)) ** 2
    loss = ot.where((k - m) % 2 == 0, miss, 0.0).at(k=slice(None)).mean()
    model.update(optim.Adam(0.01), loss)
    return ot.Program(loss=loss, final=model.final.weight)


def test_a_recurrence_inside_a_minibatch() -> None:
    program = recurrent_policy(())
    sizes = {"I": 2, "E": 2, "T": 4, "K": 3}
    expected, found = program.interpret(**sizes), program.compile(threads=2)(**sizes)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-4, atol=1e-5, err_msg=name)


def test_seeds_side_by_side_with_recurrences_inside_minibatches() -> None:
    seed = ot.dims("seed")
    program = recurrent_policy((seed,))
    sizes = {"I": 2, "E": 1, "T": 3, "K": 2, "SEED": 3}
    expected, found = program.interpret(**sizes), program.compile(threads=2)(**sizes)
    assert len(set(expected["loss"][:, -1, -1, -1].tolist())) == 3
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-4, atol=1e-5, err_msg=name)

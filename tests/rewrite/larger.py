"""Programs as users write them, of ten to a thousand nodes."""

from __future__ import annotations

from functools import cache

import ostinato as ot
from ostinato import nn, optim, rl
from ostinato.cli.program_file import load_function
from ostinato.pdg.half_storage import encoded
from ostinato.pdg.node import Pdg
from tests.pipeline.programs import ROOT, crowd, normalised, reinforce, shared_weight


def gae() -> ot.Program:
    """Generalised advantages as a recurrence backwards, and the loss of their weighted scores."""
    b, t = ot.dims("b t")
    reward, value, score = (ot.input(name, over=(b, t)) for name in ("reward", "value", "score"))
    done = ot.input("done", dtype="bool", over=(b, t))
    advantage = ot.recurrent("advantage", over=(b, t))
    after = ot.where(done, 0.0, 0.99 * value[b, t + 1] + 0.95 * advantage[b, t + 1])
    advantage[b, -1] = reward[b, -1] - value[b, -1]
    advantage[b, t] = reward - value + after
    weight = (advantage - advantage[:, :].mean()) / advantage[:, :].std()
    return ot.Program(advantage=advantage, loss=(weight * score)[:, :].mean())


def softmax_over_the_past() -> ot.Program:
    """One head of causal attention, with its projections."""
    b, t = ot.dims("b t")
    x = ot.input("x", (8,), over=(b, t))
    query, key, value = (nn.Linear(8, 4, name=name)(x) for name in ("query", "key", "value"))
    score = key[b, : t + 1] @ query
    return ot.Program(y=ot.softmax(score, 0) @ value[b, : t + 1])


def mlp_training() -> ot.Program:
    """Regression by Adam: two hidden layers, and the loss of every update."""
    b, i = ot.dims("b i")
    x, y = ot.input("x", (6,), over=b), ot.input("y", over=b)
    model = nn.MLP(6, [16, 16], 1, over=i)
    loss = ((model(x)[..., 0] - y) ** 2)[:, i].mean()
    model.update(optim.Adam(1e-3), loss)
    return ot.Program(loss=loss)


def lstm() -> ot.Program:
    """The slope of what an LSTM says after a sequence."""
    b, t = ot.dims("b t")
    x = ot.input("x", (5,), over=(b, t))
    model = nn.LSTM(5, 7)
    last = model(x, t).hidden[b, -1].sum()
    loss = last[:].mean()
    return ot.Program(loss=loss, slope=ot.grad(loss, model.parameters[0]))


def windows() -> ot.Program:
    """Sums, means and maxima of what lies near a step, and of what comes."""
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    near = x[b, ot.maximum(t - 3, 0) : t + 1]
    coming = x[b, t : ot.minimum(t + 4, t.size)]
    return ot.Program(
        mean=near.mean(0),
        top=near.max(0),
        coming=coming.sum(0),
        far=ot.discounted_sum(x[b, t:], 0.9),
    )


def ppo() -> ot.Program:
    """The example: proximal policy optimisation on CartPole."""
    program = load_function(f"{ROOT}/examples/ppo_cartpole.py:ppo")(rl.CartPole())
    assert isinstance(program, ot.Program)
    return program


MAKERS = {
    make.__name__: make
    for make in (
        gae, softmax_over_the_past, mlp_training, lstm, windows, crowd, normalised, shared_weight,
        reinforce, ppo,
    )
}  # fmt: skip
NAMES = tuple(MAKERS)


@cache
def larger(name: str) -> Pdg:
    """The graph of a program, with halves as bits, as rewriting gets it."""
    return encoded(MAKERS[name]().pdg)

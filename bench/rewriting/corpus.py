"""The programs of the comparison: what people write, at sizes that take some milliseconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import ostinato as ot
from bench.rewriting import sequences, untuned
from ostinato import nn, optim, rl
from ostinato.cli.program_file import load_function
from ostinato.compiler.arguments import declared_shape
from ostinato.pdg.functions import Array
from ostinato.pdg.index import Dim, Extent, evaluate

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True, slots=True)
class Case:
    """One program of the corpus, and the extents of a run."""

    name: str
    build: Callable[[], ot.Program]
    extents: Mapping[str, int]

    def arguments(self, program: ot.Program) -> dict[str, object]:
        """Extents, and inputs drawn from [0, 1) or, for integers, from 0 and 1."""
        rng = np.random.default_rng(0)
        signature = program.signature
        point: dict[Dim | Extent, int] = {Extent(n): k for n, k in self.extents.items()}
        inputs: dict[str, Array] = {}
        for name, node in signature.inputs.items():
            shape = tuple(evaluate(size, point) for size in declared_shape(node))
            draws = rng.random(shape)
            inputs[name] = (draws if "float" in node.dtype else draws > 0.5).astype(node.dtype)
        return {**inputs, **self.extents}


def reinforce() -> ot.Program:
    """The example with a smaller network."""
    return _made(load_function(f"{EXAMPLES / 'reinforce_cartpole.py'}:reinforce")(rl.CartPole()))


def ragged() -> ot.Program:
    return _made(load_function(f"{EXAMPLES / 'reinforce_ragged.py'}:reinforce")(rl.CartPole()))


def ppo() -> ot.Program:
    return _made(
        load_function(f"{EXAMPLES / 'ppo_cartpole.py'}:ppo")(rl.CartPole(), hidden=(32, 32))
    )


def _made(program: object) -> ot.Program:
    assert isinstance(program, ot.Program)
    return program


def mlp_forward() -> ot.Program:
    b = ot.dims("b")
    return ot.Program(y=nn.MLP(32, [64, 64], 8)(ot.input("x", shape=(32,), over=b)))


def mlp_training() -> ot.Program:
    """Gradient descent on a regression, all rows at every step."""
    b, i = ot.dims("b i")
    model = nn.MLP(16, [64, 64], 1, over=i)
    miss = model(ot.input("x", shape=(16,), over=b))[..., 0] - ot.input("y", over=b)
    loss = (miss**2)[:, i].mean()
    model.update(optim.SGD(0.01), loss)
    return ot.Program(loss=loss)


def decoder() -> ot.Program:
    """Every step attends to all steps before it."""
    b, t = ot.dims("b t")
    q, k, v = (ot.input(name, shape=(32,), over=(b, t)) for name in "qkv")
    score = (k[b, : t + 1] @ q[..., None])[..., 0] / math.sqrt(32)
    weight = ot.softmax(score)
    return ot.Program(y=(weight[..., None] * v[b, : t + 1]).sum(0))


def generation() -> ot.Program:
    """A token at a time: what a step attends to depends on the steps before it."""
    b, t = ot.dims("b t")
    token = ot.recurrent("token", shape=(32,), over=(b, t))
    attended = nn.Attention(32, 4)(token, t)
    token[b, 0] = ot.input("start", shape=(32,), over=b)
    token[b, t + 1] = ot.tanh(token + attended)
    return ot.Program(y=token[b, t.size - 1])


def lstm() -> ot.Program:
    b, t = ot.dims("b t")
    states = nn.LSTM(16, 32)(ot.input("x", shape=(16,), over=(b, t)), t)
    return ot.Program(y=states.hidden[b, t.size - 1])


def convolution() -> ot.Program:
    b = ot.dims("b")
    return ot.Program(y=ot.relu(nn.Conv(3, 8, (3, 3))(ot.input("x", (3, 24, 24), over=b))))


def normalised_layer() -> ot.Program:
    """Layer normalisation and a softmax of rows."""
    b = ot.dims("b")
    x = ot.input("x", shape=(128,), over=b)
    centred = x - x.mean(0)
    return ot.Program(y=ot.softmax(centred / ot.sqrt((centred**2).mean(0) + 1e-5)))


def weight_gradient() -> ot.Program:
    """The sum of outer products over a batch and its steps."""
    b, t = ot.dims("b t")
    x, y = (ot.input(name, shape=(32,), over=(b, t)) for name in "xy")
    product = x[..., :, None] * y[..., None, :]
    return ot.Program(w=product[:, :].sum((0, 1)))


def sorting() -> ot.Program:
    b = ot.dims("b")
    x = ot.input("x", shape=(128,), over=b)
    return ot.Program(order=ot.argsort(x), total=ot.cumsum(x))


def scatter() -> ot.Program:
    """Rows of a table by computed positions."""
    b = ot.dims("b")
    table = ot.input("table", shape=(64, 16))
    place = (ot.input("x", over=b) * 63.0).cast("int32")
    return ot.Program(y=ot.tanh(ot.take(table, place, axis=0)))


CORPUS = (
    Case("gae, backward recurrence", sequences.gae_recurrence, {"B": 256, "T": 512}),
    Case("gae, suffix sum", sequences.gae_sum, {"B": 64, "T": 256}),
    Case("returns, discounted sum", sequences.returns_sum, {"B": 256, "T": 512}),
    Case("returns, recurrence", sequences.returns_recurrence, {"B": 256, "T": 512}),
    Case("returns, n steps", sequences.returns_n_steps, {"B": 64, "T": 512}),
    Case("prefix sums", sequences.prefix_sum, {"B": 64, "T": 512}),
    Case("window sums", sequences.window_sum, {"B": 128, "T": 1024}),
    Case("window maxima", sequences.window_max, {"B": 64, "T": 1024}),
    Case("running mean and variance", sequences.running_moments, {"B": 64, "T": 512}),
    Case("exponential average", sequences.exponential_average, {"B": 256, "T": 1024}),
    Case("kalman filter", sequences.kalman, {"B": 256, "T": 512}),
    Case("random walk", sequences.random_walk, {"B": 256, "T": 512}),
    Case("logistic map, float64", sequences.logistic, {"B": 512, "T": 1024}),
    Case("linear system", sequences.linear_system, {"T": 2048}),
    Case("reinforce", reinforce, {"B": 64, "I": 4, "T": 200}),
    Case("reinforce, ragged", ragged, {"B": 64, "I": 2, "T": 100}),
    Case("ppo", ppo, {"B": 16, "I": 2, "E": 2, "T": 64}),
    Case("mlp, forward", mlp_forward, {"B": 8192}),
    Case("mlp, training", mlp_training, {"B": 512, "I": 20}),
    Case("attention decoder", decoder, {"B": 4, "T": 256}),
    Case("attention, token by token", generation, {"B": 8, "T": 96}),
    Case("lstm over time", lstm, {"B": 64, "T": 128}),
    Case("convolution", convolution, {"B": 32}),
    Case("layer norm and softmax", normalised_layer, {"B": 4096}),
    Case("sum of outer products", weight_gradient, {"B": 64, "T": 128}),
    Case("sorting", sorting, {"B": 512}),
    Case("rows of a table", scatter, {"B": 32768}),
    *(Case(name, build, extents) for name, (build, extents) in untuned.PROGRAMS.items()),
)

"""Models as users of `nn` write them: in training, and token by token."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ostinato as ot
from bench.harness.timing import rates
from bench.ours.networks import require_finite
from ostinato import nn, optim
from ostinato.language.recurrent import Over

WORDS = 256
WIDTH, HEADS = 128, 4
RATE = 1e-3


class Block(nn.Module):
    """Causal attention and two layers, each on normalised values, each added to what came in."""

    def __init__(self, size: int, heads: int, over: Over, name: str) -> None:
        self.before = nn.LayerNorm(size, over, name=f"{name}_before")
        self.attention = nn.Attention(size, heads, over, name=f"{name}_attention")
        self.between = nn.LayerNorm(size, over, name=f"{name}_between")
        self.up = nn.Linear(size, 4 * size, over, name=f"{name}_up")
        self.down = nn.Linear(4 * size, size, over, name=f"{name}_down")

    def __call__(self, x: ot.Tensor, t: ot.Dimension, steps: slice | None = None) -> ot.Tensor:
        x = x + self.attention(self.before(x), t, steps)
        return x + self.down(ot.gelu(self.up(self.between(x))))


class Transformer(nn.Module):
    """A language model of some blocks, with learnt positions up to ``steps``."""

    def __init__(self, layers: int, size: int, heads: int, steps: int, over: Over = ()) -> None:
        self.words = nn.Embedding(WORDS, size, over, name="words")
        self.places = nn.Embedding(steps, size, over, name="places")
        self.blocks = [Block(size, heads, over, f"block{k}") for k in range(layers)]
        self.norm = nn.LayerNorm(size, over, name="norm")
        self.head = nn.Linear(size, WORDS, over, name="head")

    def __call__(self, word: ot.Tensor, t: ot.Dimension, steps: slice | None = None) -> ot.Tensor:
        x = self.words(word) + self.places(ot.index(t))
        for block in self.blocks:
            x = block(x, t, steps)
        return self.head(self.norm(x))


def loss_of(scores: ot.Tensor, b: ot.Dimension, i: ot.Dimension, t: ot.Dimension) -> ot.Tensor:
    """The mean cross entropy of all targets."""
    target = ot.input("target", dtype="int32", over=(b, t))
    chosen = ot.take_along_axis(ot.log_softmax(scores), target[..., None], -1)[..., 0]
    return -chosen[:, i, :].mean()


def transformer(layers: int, size: int = WIDTH, heads: int = HEADS, steps: int = 64) -> ot.Program:
    """Return the loss of every step of training by Adam."""
    b, i, t = ot.dims("b i t")
    model = Transformer(layers, size, heads, steps, i)
    loss = loss_of(model(ot.input("word", dtype="int32", over=(b, t)), t), b, i, t)
    model.update(optim.Adam(RATE), loss)
    return ot.Program(loss=loss)


def lstm_model(width: int) -> ot.Program:
    """Return the loss of every step of training an LSTM language model by Adam."""
    b, i, t = ot.dims("b i t")
    words = nn.Embedding(WORDS, width, i)
    cell, head = nn.LSTM(width, width, over=i), nn.Linear(width, WORDS, i)
    states = cell(words(ot.input("word", dtype="int32", over=(b, t))), t).hidden
    loss = loss_of(head(states), b, i, t)
    optim.Adam(RATE).minimize(loss, [*words.parameters, *cell.parameters, *head.parameters])
    return ot.Program(loss=loss)


def generation(model: Transformer, window: int) -> ot.Program:
    """Return the likeliest tokens, one after the other, each step seeing those before it."""
    b, t = ot.dims("b t")
    token = ot.recurrent("token", dtype="int32", over=(b, t))
    steps = slice(ot.maximum(t - (window - 1), 0), t + 1) if window else None
    scores = model.as_inputs()(token, t, steps)
    token[b, 0] = 0
    token[b, t + 1] = scores.argmax(-1)
    return ot.Program(token=token)


def linear_attention(size: int) -> ot.Program:
    """Return averages of values with weights that are products of features, of all steps so far."""
    b, t = ot.dims("b t")
    query, key, value = (ot.input(name, (size,), over=(b, t)) for name in ("query", "key", "value"))
    features, seen = ot.exp(query), ot.exp(key)[b, : t + 1]
    weights = seen @ features
    return ot.Program(y=(weights @ value[b, : t + 1]) / weights.sum(0))


def selective(width: int, states: int) -> ot.Program:
    """Return the loss of every step of training a layer of selective state spaces (Mamba)."""
    b, i, t = ot.dims("b i t")
    x, y = (ot.input(name, (width,), over=(b, t)) for name in "xy")
    step, enter, leave = (
        nn.Linear(width, n, i, name=name)
        for name, n in (("step", width), ("enter", states), ("leave", states))
    )
    rate = nn.parameter("rate", (width, states), nn.init.constant(-1.0), i)
    delta = ot.softplus(step(x))
    h = ot.recurrent("h", (width, states), over=(b, i, t))
    kept = ot.exp(delta[..., None] * rate)
    entered = (delta * x)[..., None] * enter(x)[..., None, :]
    h[b, i, 0] = entered[b, i, 0]
    h[b, i, t + 1] = kept[b, i, t + 1] * h + entered[b, i, t + 1]
    found = (h * leave(x)[..., None, :]).sum(-1)
    loss = ((found - y) ** 2).sum(-1)[:, i, :].mean()
    parameters = [*step.parameters, *enter.parameters, *leave.parameters, rate]
    optim.SGD(RATE).minimize(loss, parameters)
    return ot.Program(loss=loss)


def tokens(batch: int, steps: int) -> dict[str, object]:
    rng = np.random.default_rng(0)
    word, target = rng.integers(0, WORDS, (2, batch, steps)).astype(np.int32)
    return {"word": word, "target": target}


def trained(
    program: ot.Program, arrays: dict[str, object], hints: dict[str, int], amount: int
) -> Callable[[], float]:
    """Return a sampler of ``amount`` per step of training."""
    compiled = program.compile(hints=hints)
    return rates(lambda count: require_finite(compiled(**arrays, I=count)), amount)


def training(layers: int, batch: int, steps: int, hinted: int = 0) -> Callable[[], float]:
    program, hints = transformer(layers, steps=steps), {"B": batch, "T": steps}
    return trained(program, tokens(batch, steps), hints if hinted else {}, batch * steps)


def lstm(width: int, batch: int, steps: int, hinted: int = 0) -> Callable[[], float]:
    program, hints = lstm_model(width), {"B": batch, "T": steps}
    return trained(program, tokens(batch, steps), hints if hinted else {}, batch * steps)


def mamba(width: int, states: int, batch: int, steps: int, hinted: int = 0) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, batch, steps, width)).astype(np.float32)
    hints = {"B": batch, "T": steps} if hinted else {}
    return trained(selective(width, states), {"x": x, "y": y}, hints, batch * steps)


def decode(
    layers: int, batch: int, steps: int, window: int, hinted: int = 0
) -> Callable[[], float]:
    model, rng = Transformer(layers, WIDTH, HEADS, steps), np.random.default_rng(0)
    weights = {
        w.argument("weights"): 0.05 * rng.normal(size=w.tensor.shape) for w in model.named_weights()
    }
    hints = {"B": batch, "T": steps} if hinted else {}
    run = generation(model, window).compile(hints=hints)
    given = {name: array.astype(np.float32) for name, array in weights.items()}

    def called(times: int) -> None:
        for _ in range(times):
            run(B=batch, T=steps, **given)

    return rates(called, batch * steps)


def averages(size: int, batch: int, steps: int, hinted: int = 0) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    query, key, value = 0.3 * rng.normal(size=(3, batch, steps, size)).astype(np.float32)
    hints = {"B": batch, "T": steps} if hinted else {}
    run = linear_attention(size).compile(hints=hints)

    def called(times: int) -> None:
        for _ in range(times):
            run(query=query, key=key, value=value)

    return rates(called, batch * steps)

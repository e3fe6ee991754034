"""The models of `bench.ours.models` in JAX: each a single jitted function."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench.harness.timing import rates

WORDS, WIDTH, HEADS, RATE = 256, 128, 4, 1e-3
Tree = Any
Loss = Callable[[Tree, Any], jax.Array]


def layer_norm(p: Tree, x: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * p[0] + p[1]


def block(p: Tree, x: jax.Array, attend: Callable[..., jax.Array]) -> jax.Array:
    normed = layer_norm(p["before"], x)
    split = (*x.shape[:-1], HEADS, x.shape[-1] // HEADS)
    q, k, v = jnp.split(normed @ p["qkv"], 3, -1)
    x = x + attend(*(part.reshape(split) for part in (q, k, v))).reshape(x.shape) @ p["out"]
    hidden = jax.nn.gelu(layer_norm(p["between"], x) @ p["up"][0] + p["up"][1])
    return x + hidden @ p["down"][0] + p["down"][1]


def scores(p: Tree, word: jax.Array) -> jax.Array:
    """Of all positions at once, with causal attention."""
    steps = word.shape[1]
    x = p["words"][word] + p["places"][:steps]
    mask = jnp.tril(jnp.ones((steps, steps), bool))

    def attend(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        found = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
        weights = jax.nn.softmax(jnp.where(mask, found, -jnp.inf))
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v)

    for each in p["blocks"]:
        x = block(each, x, attend)
    return layer_norm(p["norm"], x) @ p["head"][0] + p["head"][1]


def cross_entropy(found: jax.Array, target: jax.Array) -> jax.Array:
    chosen = jnp.take_along_axis(jax.nn.log_softmax(found), target[..., None], -1)
    return -chosen.mean()


def transformer_loss(p: Tree, batch: Any) -> jax.Array:
    word, target = batch
    return cross_entropy(scores(p, word), target)


def lstm_loss(p: Tree, batch: Any) -> jax.Array:
    word, target = batch
    entering = p["words"][word].swapaxes(0, 1) @ p["input"] + p["bias"]
    zeros = jnp.zeros((word.shape[0], p["words"].shape[1]))

    def step(state: Any, entered: jax.Array) -> tuple[Any, jax.Array]:
        hidden, cell = state
        write, forget, new, read = jnp.split(entered + hidden @ p["state"], 4, -1)
        cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(write) * jnp.tanh(new)
        hidden = jax.nn.sigmoid(read) * jnp.tanh(cell)
        return (hidden, cell), hidden

    states = jax.lax.scan(step, (zeros, zeros), entering)[1].swapaxes(0, 1)
    return cross_entropy(states @ p["head"][0] + p["head"][1], target)


def selective_loss(p: Tree, batch: Any) -> jax.Array:
    """The states of all steps by an associative scan, as implementations of Mamba in JAX do."""
    x, y = batch
    delta = jax.nn.softplus(x @ p["step"][0] + p["step"][1])
    enter, leave = (x @ p[name][0] + p[name][1] for name in ("enter", "leave"))
    kept = jnp.exp(delta[..., None] * p["rate"])
    entered = (delta * x)[..., None] * enter[..., None, :]

    def joined(one: Any, other: Any) -> Any:
        return one[0] * other[0], one[1] * other[0] + other[1]

    states = jax.lax.associative_scan(joined, (kept, entered), axis=1)[1]
    found = (states * leave[..., None, :]).sum(-1)
    return ((found - y) ** 2).sum(-1).mean()


def selective_loop_loss(p: Tree, batch: Any) -> jax.Array:
    """The same with a loop over the steps, which does less work."""
    x, y = batch
    delta = jax.nn.softplus(x @ p["step"][0] + p["step"][1])
    enter, leave = (x @ p[name][0] + p[name][1] for name in ("enter", "leave"))

    def step(state: jax.Array, here: Any) -> tuple[jax.Array, jax.Array]:
        d, u, b, c = here
        state = jnp.exp(d[..., None] * p["rate"]) * state + (d * u)[..., None] * b[:, None, :]
        return state, (state * c[:, None, :]).sum(-1)

    zeros = jnp.zeros((x.shape[0], *p["rate"].shape))
    along = tuple(part.swapaxes(0, 1) for part in (delta, x, enter, leave))
    found = jax.lax.scan(step, zeros, along)[1].swapaxes(0, 1)
    return ((found - y) ** 2).sum(-1).mean()


def drawn(rng: np.random.Generator, *shape: int) -> jax.Array:
    return jnp.asarray(0.05 * rng.normal(size=shape), jnp.float32)


def linear(rng: np.random.Generator, inputs: int, outputs: int) -> tuple[jax.Array, jax.Array]:
    return drawn(rng, inputs, outputs), jnp.zeros(outputs)


def transformer(layers: int, steps: int, size: int = WIDTH) -> Tree:
    rng = np.random.default_rng(0)

    def norm() -> tuple[jax.Array, jax.Array]:
        return jnp.ones(size), jnp.zeros(size)

    blocks = [
        {
            "before": norm(), "between": norm(), "qkv": drawn(rng, size, 3 * size),
            "out": drawn(rng, size, size), "up": linear(rng, size, 4 * size),
            "down": linear(rng, 4 * size, size),
        }
        for _ in range(layers)
    ]  # fmt: skip
    tables = {"words": drawn(rng, WORDS, size), "places": drawn(rng, steps, size)}
    return {**tables, "blocks": blocks, "norm": norm(), "head": linear(rng, size, WORDS)}


def adam(p: Tree, slopes: Tree, mean: Tree, square: Tree, count: jax.Array) -> tuple[Tree, ...]:
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slopes)
    square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, square, slopes)
    first, second = 1 - 0.9**count, 1 - 0.999**count
    moved = jax.tree.map(
        lambda w, m, v: w - RATE * (m / first) / (jnp.sqrt(v / second) + 1e-8), p, mean, square
    )
    return moved, mean, square


def loop_of(loss: Loss) -> Callable[[int, Tree, Any], Tree]:
    """All updates in one jitted loop."""

    def update(k: jax.Array, state: tuple[Tree, ...], batch: Any) -> tuple[Tree, ...]:
        p, mean, square = state
        return adam(p, jax.grad(loss)(p, batch), mean, square, k + 1.0)

    @jax.jit
    def loop(count: int, p: Tree, batch: Any) -> Tree:
        zeros = jax.tree.map(jnp.zeros_like, p)
        start = (p, zeros, zeros)
        return jax.lax.fori_loop(0, count, lambda k, s: update(k, s, batch), start)[0]

    return loop


def trained(loss: Loss, p: Tree, batch: Any, amount: int) -> Callable[[], float]:
    loop = loop_of(loss)
    return rates(lambda count: jax.block_until_ready(loop(count, p, batch)), amount)


def tokens(batch: int, steps: int) -> tuple[jax.Array, jax.Array]:
    rng = np.random.default_rng(0)
    word, target = rng.integers(0, WORDS, (2, batch, steps)).astype(np.int32)
    return jnp.asarray(word), jnp.asarray(target)


def training(layers: int, batch: int, steps: int) -> Callable[[], float]:
    p = transformer(layers, steps)
    return trained(transformer_loss, p, tokens(batch, steps), batch * steps)


def lstm(width: int, batch: int, steps: int) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    p = {
        "words": drawn(rng, WORDS, width), "input": drawn(rng, width, 4 * width),
        "state": drawn(rng, width, 4 * width), "bias": jnp.zeros(4 * width),
        "head": linear(rng, width, WORDS),
    }  # fmt: skip
    return trained(lstm_loss, p, tokens(batch, steps), batch * steps)


def mamba(
    width: int, states: int, batch: int, steps: int, form: str = "scan"
) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    x, y = (jnp.asarray(v, jnp.float32) for v in rng.normal(size=(2, batch, steps, width)))
    p = {
        "step": linear(rng, width, width), "enter": linear(rng, width, states),
        "leave": linear(rng, width, states), "rate": jnp.full((width, states), -1.0),
    }  # fmt: skip
    loss = selective_loss if form == "scan" else selective_loop_loss
    loop = jax.jit(partial(descent, loss), static_argnums=())
    return rates(lambda count: jax.block_until_ready(loop(count, p, (x, y))), batch * steps)


def descent(loss: Loss, count: int, p: Tree, batch: Any) -> Tree:
    """Gradient descent, all updates in one loop."""

    def update(_: int, p: Tree) -> Tree:
        return jax.tree.map(lambda w, g: w - RATE * g, p, jax.grad(loss)(p, batch))

    return jax.lax.fori_loop(0, count, update, p)


def generated(p: Tree, batch: int, steps: int, window: int) -> jax.Array:
    """The likeliest tokens; keys and values of the steps so far, or of a window, are kept."""
    kept, size = window or steps, WIDTH // HEADS
    shape = (len(p["blocks"]), batch, kept, HEADS, size)
    places = jnp.arange(kept)

    def step(state: Any, t: jax.Array) -> tuple[Any, jax.Array]:
        token, keys, values = state
        x = p["words"][token] + p["places"][t]
        new_keys, new_values = [], []

        def attend(layer: int, q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
            ks, vs = (
                jax.lax.dynamic_update_index_in_dim(cache[layer], part, t % kept, 1)
                for cache, part in ((keys, k), (values, v))
            )
            new_keys.append(ks)
            new_values.append(vs)
            found = jnp.einsum("bhd,bkhd->bhk", q, ks) * size**-0.5
            weights = jax.nn.softmax(jnp.where(places <= t, found, -jnp.inf))
            return jnp.einsum("bhk,bkhd->bhd", weights, vs)

        for layer, each in enumerate(p["blocks"]):
            x = block(each, x, partial(attend, layer))
        found = layer_norm(p["norm"], x) @ p["head"][0] + p["head"][1]
        after = found.argmax(-1).astype(jnp.int32)
        return (after, tuple(new_keys), tuple(new_values)), token

    empty = tuple(jnp.zeros(shape[1:]) for _ in p["blocks"])
    start = (jnp.zeros(batch, jnp.int32), empty, empty)
    return jax.lax.scan(step, start, jnp.arange(steps))[1]


def decode(layers: int, batch: int, steps: int, window: int) -> Callable[[], float]:
    p = transformer(layers, steps)
    run = jax.jit(partial(generated, batch=batch, steps=steps, window=window))

    def called(times: int) -> None:
        for _ in range(times):
            jax.block_until_ready(run(p))

    return rates(called, batch * steps)


@jax.jit
def running_averages(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """The sums of outer products are carried over the steps."""
    query, key = jnp.exp(query), jnp.exp(key)
    batch, _, size = key.shape

    def step(state: Any, here: Any) -> tuple[Any, jax.Array]:
        (total, weight), (q, k, v) = state, here
        total = total + k[:, :, None] * v[:, None, :]
        weight = weight + k
        top = jnp.einsum("bk,bkv->bv", q, total)
        return (total, weight), top / (q * weight).sum(-1, keepdims=True)

    start = jnp.zeros((batch, size, size)), jnp.zeros((batch, size))
    along = tuple(part.swapaxes(0, 1) for part in (query, key, value))
    return jax.lax.scan(step, start, along)[1].swapaxes(0, 1)


@jax.jit
def masked_averages(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """All pairs of steps, as two matrix products."""
    steps = key.shape[1]
    weights = jnp.einsum("bqk,bsk->bqs", jnp.exp(query), jnp.exp(key))
    weights = jnp.where(jnp.tril(jnp.ones((steps, steps), bool)), weights, 0.0)
    return (weights @ value) / weights.sum(-1, keepdims=True)


def averages(size: int, batch: int, steps: int, form: str = "scan") -> Callable[[], float]:
    rng = np.random.default_rng(0)
    drawn_values = 0.3 * rng.normal(size=(3, batch, steps, size))
    given = [jnp.asarray(part, jnp.float32) for part in drawn_values]
    run = running_averages if form == "scan" else masked_averages

    def called(times: int) -> None:
        for _ in range(times):
            jax.block_until_ready(run(*given))

    return rates(called, batch * steps)

"""The same networks in JAX: gradient descent on one jitted loss, in two forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench.harness.timing import rates

RATE = 0.01
Params = list[jax.Array]
Loss = Callable[[Params, jax.Array, jax.Array], jax.Array]


def perceptron(params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    *hidden, weight, bias = params
    for k in range(0, len(hidden), 2):
        x = jnp.tanh(x @ hidden[k] + hidden[k + 1])
    return (((x @ weight + bias)[:, 0] - y) ** 2).mean()


def gru(params: Params, state: jax.Array, entering: jax.Array) -> tuple[jax.Array, jax.Array]:
    _, weight, _, bias = params
    n, kept = state.shape[-1], state @ weight + bias
    gates = jax.nn.sigmoid(entering[:, : 2 * n] + kept[:, : 2 * n])
    candidate = jnp.tanh(entering[:, 2 * n :] + gates[:, :n] * kept[:, 2 * n :])
    state = candidate + gates[:, n:] * (state - candidate)
    return state, state


def lstm(params: Params, state: Any, entering: jax.Array) -> tuple[Any, jax.Array]:
    _, weight, _, bias = params
    hidden, cell = state
    n, gates = hidden.shape[-1], entering + hidden @ weight + bias
    write, forget, read = (jax.nn.sigmoid(gates[:, k * n : (k + 1) * n]) for k in (0, 1, 3))
    cell = forget * cell + write * jnp.tanh(gates[:, 2 * n : 3 * n])
    hidden = read * jnp.tanh(cell)
    return (hidden, cell), hidden


def recurrent(cell: str, params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    """Time is the first axis; the products with all inputs are one."""
    zeros = jnp.zeros(x.shape[1:])
    entering = x @ params[0] + params[2]
    if cell == "gru":
        states = jax.lax.scan(partial(gru, params), zeros, entering)[1]
    else:
        states = jax.lax.scan(partial(lstm, params), (zeros, zeros), entering)[1]
    return ((states - y) ** 2).mean()


def layers(width: int, depth: int) -> Params:
    rng = np.random.default_rng(0)
    sizes = [*[width] * (depth + 1), 1]
    out: Params = []
    for size, following in zip(sizes, sizes[1:], strict=False):
        weight = rng.normal(size=(size, following)) / np.sqrt(size)
        out += [jnp.asarray(weight, jnp.float32), jnp.zeros(following)]
    return out


def gates(cell: str, width: int) -> Params:
    rng, wide = np.random.default_rng(0), width * (3 if cell == "gru" else 4)
    shapes = ((width, wide), (width, wide), (wide,), (wide,))
    limit = width**-0.5
    return [jnp.asarray(rng.uniform(-limit, limit, size=s), jnp.float32) for s in shapes]


def trained(
    loss: Loss, params: Params, data: tuple[jax.Array, jax.Array], amount: int, form: str
) -> Callable[[], float]:
    """Return a sampler: one jitted step after the other, or all steps in one jitted loop."""
    valued = jax.value_and_grad(loss)

    def step(params: Params, x: jax.Array, y: jax.Array) -> tuple[jax.Array, Params]:
        value, slopes = valued(params, x, y)
        return value, jax.tree.map(lambda w, g: w - RATE * g, params, slopes)

    @jax.jit
    def loop(count: int, params: Params, x: jax.Array, y: jax.Array) -> Params:
        return jax.lax.fori_loop(0, count, lambda _, p: step(p, x, y)[1], params)

    jitted = jax.jit(step, donate_argnums=0)

    def run(iterations: int) -> None:
        if form == "loop":
            jax.block_until_ready(loop(iterations, params, *data))
            return
        now = [jnp.array(each) for each in params]
        for _ in range(iterations):
            _, now = jitted(now, *data)
        jax.block_until_ready(now)

    return rates(run, amount)


def mlp(width: int, depth: int, batch: int, form: str) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(batch, width)), rng.normal(size=batch)
    data = jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)
    return trained(perceptron, layers(width, depth), data, batch, form)


def rnn(cell: str, width: int, batch: int, steps: int, form: str) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    x, y = (jnp.asarray(v, jnp.float32) for v in rng.normal(size=(2, steps, batch, width)))
    return trained(partial(recurrent, cell), gates(cell, width), (x, y), batch * steps, form)


def mlp_steps(width: int, depth: int, batch: int) -> Callable[[], float]:
    return mlp(width, depth, batch, "steps")


def mlp_loop(width: int, depth: int, batch: int) -> Callable[[], float]:
    return mlp(width, depth, batch, "loop")


def rnn_steps(cell: str, width: int, batch: int, steps: int) -> Callable[[], float]:
    return rnn(cell, width, batch, steps, "steps")


def rnn_loop(cell: str, width: int, batch: int, steps: int) -> Callable[[], float]:
    return rnn(cell, width, batch, steps, "loop")

"""REINFORCE on images of a game outside, in JAX: stored whole, and gradients of one step at a time.

The peak is what XLA says that the compiled function takes: arguments, results and temporaries.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

from bench.harness.images import DISCOUNT, RATE, UPDATES, shown

Params = tuple[jax.Array, ...]


def network(params: Params, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    first, shift, second, bias = params
    out = jnp.tanh(x @ first + shift) @ second + bias
    return out[..., :2], out[..., 2]


def acted(params: Params, seen: jax.Array, key: jax.Array) -> tuple[jax.Array, ...]:
    """The action, the next images and the rewards of one step of all games."""
    action = jax.random.categorical(key, network(params, seen)[0]).astype(jnp.int32)
    pixels = seen.shape[-1]
    kinds = (
        jax.ShapeDtypeStruct(seen.shape, seen.dtype),
        jax.ShapeDtypeStruct(seen.shape[:1], seen.dtype),
    )
    following, reward = io_callback(partial(shown, pixels=pixels), kinds, action, ordered=True)
    return action, following, reward


def loss_of(params: Params, seen: jax.Array, action: jax.Array, outcome: jax.Array) -> jax.Array:
    logits, value = network(params, seen)
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), action[..., None], -1)[..., 0]
    gain = outcome - value
    return (0.5 * gain**2 - chosen * jax.lax.stop_gradient(gain)).mean()


def whole(params: Params, key: jax.Array, like: jax.Array, steps: int, remat: bool) -> Params:
    """An update from stored episodes; with ``remat`` the loss keeps no activations."""

    def step(seen: jax.Array, key: jax.Array) -> tuple[jax.Array, Any]:
        action, following, reward = acted(params, seen, key)
        return following, (seen, action, reward)

    last, (seen, action, reward) = jax.lax.scan(step, like, jax.random.split(key, steps))
    after = network(params, last)[1]

    def back(carry: jax.Array, reward: jax.Array) -> tuple[jax.Array, jax.Array]:
        found = reward + DISCOUNT * carry
        return found, found

    _, outcome = jax.lax.scan(back, after, reward, reverse=True)

    def loss(params: Params) -> jax.Array:
        one = jax.checkpoint(partial(loss_of, params)) if remat else partial(loss_of, params)
        total, _ = jax.lax.scan(
            lambda total, each: (total + one(*each), None), 0.0, (seen, action, outcome)
        )
        return total / steps

    slopes = jax.grad(loss)(params) if remat else jax.grad(loss_of)(params, seen, action, outcome)
    return jax.tree.map(lambda p, g: p - RATE * g, params, slopes)


def by_step(params: Params, key: jax.Array, like: jax.Array, steps: int) -> Params:
    """An update from returns of one step, whose gradients are added up while the game runs."""

    def step(carry: tuple[jax.Array, Params], key: jax.Array) -> tuple[Any, None]:
        seen, total = carry
        action, following, reward = acted(params, seen, key)
        outcome = reward + DISCOUNT * network(params, following)[1]
        slopes = jax.grad(loss_of)(params, seen, action, outcome)
        return (following, jax.tree.map(jnp.add, total, slopes)), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    (_, total), _ = jax.lax.scan(step, (like, zeros), jax.random.split(key, steps))
    return jax.tree.map(lambda p, g: p - RATE * g / steps, params, total)


FORMS: dict[str, Callable[..., Params]] = {
    "plain": partial(whole, remat=False),
    "checkpoint": partial(whole, remat=True),
    "one step": by_step,
}


def reinforce(
    pixels: int, hidden: int, episodes: int, steps: int, lookahead: int, form: str
) -> Callable[[], dict[str, float]]:
    """Return a sampler of steps of the game in a second, and of bytes by XLA's account."""
    rng = np.random.default_rng(0)
    scale = 1 / np.sqrt(pixels)
    shapes = (pixels, hidden), (hidden,), (hidden, 3), (3,)
    params = tuple(jnp.asarray(scale * rng.normal(size=s), jnp.float32) for s in shapes)
    like = jnp.zeros((episodes, pixels), jnp.float32)
    made = partial(FORMS[form], like=like, steps=steps)
    compiled = jax.jit(made).lower(params, jax.random.key(0)).compile()
    taken = compiled.memory_analysis()
    bytes_ = taken.argument_size_in_bytes + taken.output_size_in_bytes + taken.temp_size_in_bytes

    def sample() -> dict[str, float]:
        begun, now = time.perf_counter(), params
        for k in range(UPDATES):
            now = compiled(now, jax.random.key(k))
        jax.block_until_ready(now)
        seconds = time.perf_counter() - begun
        rate = UPDATES * steps * episodes / seconds
        return {"env_steps/s": rate, "peak_bytes": float(bytes_)}

    return sample

"""Perceptrons and Adam in JAX, for what learns from replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

Net = tuple[tuple[jax.Array, jax.Array], ...]


def net(key: jax.Array, sizes: Sequence[int]) -> Net:
    keys, init = jax.random.split(key, len(sizes) - 1), jax.nn.initializers.he_normal()
    pairs = zip(keys, sizes[:-1], sizes[1:], strict=True)
    return tuple((init(k, (rows, columns)), jnp.zeros(columns)) for k, rows, columns in pairs)


def applied(layers: Net, x: jax.Array) -> jax.Array:
    for weight, bias in layers[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    return x @ layers[-1][0] + layers[-1][1]


class Moments(NamedTuple):
    first: Any
    second: Any


def no_moments(params: Any) -> Moments:
    zeros = jax.tree.map(jnp.zeros_like, params)
    return Moments(zeros, zeros)


def adam(
    params: Any, moments: Moments, grads: Any, count: jax.Array, rate: float
) -> tuple[Any, Moments]:
    """Return what Adam leaves after its update number ``count``, from 1 on."""
    rise_1, rise_2 = 1 - 0.9**count, 1 - 0.999**count
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments.first, grads)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, moments.second, grads)
    following = jax.tree.map(
        lambda p, m, v: p - rate * (m / rise_1) / (jnp.sqrt(v / rise_2) + 1e-8),
        params,
        first,
        second,
    )
    return following, Moments(first, second)


def averaged(slow: Any, params: Any, decay: float) -> Any:
    """Return the exponential average of parameters."""
    return jax.tree.map(lambda s, p: decay * s + (1 - decay) * p, slow, params)

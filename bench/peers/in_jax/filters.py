"""Filters in JAX: a scan over steps; of single states, mapped over the batch, or of the batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bench.peers.in_jax.called import called

STEP, PUSH, NOISE = 0.1, 0.05, 0.5
Pair = tuple[jax.Array, jax.Array]


def seen(batch: int, steps: int, size: int) -> jax.Array:
    """Walks in ``size`` directions, with noise: time first."""
    rng = np.random.default_rng(0)
    walk = rng.normal(size=(batch, steps, size)).cumsum(1) * STEP
    return jnp.asarray((walk + NOISE * rng.normal(size=walk.shape)).swapaxes(0, 1), jnp.float32)


def by_lapack(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.linalg.solve(a, b)


def by_hand(a: jax.Array, b: jax.Array) -> jax.Array:
    """A system of two equations, by its adjugate."""
    det = a[..., :1, :1] * a[..., 1:, 1:] - a[..., :1, 1:] * a[..., 1:, :1]
    adjugate = jnp.flip(jnp.flip(a, -1), -2).swapaxes(-1, -2) * jnp.array(
        [[1.0, -1.0], [-1.0, 1.0]]
    )
    return (adjugate / det) @ b


@partial(jax.jit, static_argnums=1)
def means(place: jax.Array, solve: Callable[[jax.Array, jax.Array], jax.Array]) -> jax.Array:
    unit, none = jnp.eye(2), jnp.zeros((2, 2))
    move, look = jnp.block([[unit, STEP * unit], [none, unit]]), jnp.hstack([unit, none])
    batch = place.shape[1]

    def step(before: Pair, place: jax.Array) -> tuple[Pair, jax.Array]:
        mean, wide = before
        across = look @ wide
        gain = solve(across @ look.T + NOISE * unit, across).swapaxes(-1, -2)
        off = place - mean @ look.T
        mean = mean + (gain @ off[..., None])[..., 0]
        wide = wide - gain @ across
        return (mean @ move.T, move @ wide @ move.T + PUSH * jnp.eye(4)), mean

    start = jnp.zeros((batch, 4)), jnp.broadcast_to(jnp.eye(4), (batch, 4, 4))
    return lax.scan(step, start, place)[1]


def kalman(form: str, batch: int, steps: int) -> Callable[[], float]:
    solve = by_hand if form == "adjugate" else by_lapack
    return called(lambda place: means(place, solve), [seen(batch, steps, 2)], batch * steps)


@partial(jax.jit, static_argnums=(1, 2))
def particles_of(place: jax.Array, particles: int, method: str) -> jax.Array:
    batch = place.shape[1]
    shape = (batch, particles)

    def step(where: jax.Array, given: Pair) -> tuple[jax.Array, jax.Array]:
        place, key = given
        moving, shifting = jax.random.split(key)
        moved = where + STEP * jax.random.normal(moving, shape)
        weight = jax.nn.softmax(-jnp.square(moved - place[:, None]) * (0.5 / NOISE**2))
        shift = jax.random.uniform(shifting, (batch, 1))
        comb = (jnp.arange(particles) + shift) * (1.0 / particles)
        search = partial(jnp.searchsorted, side="right", method=method)
        chosen = jax.vmap(search)(jnp.cumsum(weight, 1), comb).clip(0, particles - 1)
        return jnp.take_along_axis(moved, chosen, 1), (weight * moved).sum(1)

    first, key = jax.random.split(jax.random.key(0))
    keys = jax.random.split(key, len(place))
    return lax.scan(step, jax.random.normal(first, shape), (place, keys))[1]


def particle(form: str, particles: int, batch: int, steps: int) -> Callable[[], float]:
    given = [seen(batch, steps, 1)[..., 0]]
    amount = batch * steps * particles
    return called(lambda place: particles_of(place, particles, form), given, amount)

"""CartPole in JAX, with Gymnasium's constants; a step of all environments at once."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

GRAVITY, CART, POLE, HALF_LENGTH, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
POSITION_LIMIT, ANGLE_LIMIT, STEP_LIMIT = 2.4, 0.20943951, 500


class Game(NamedTuple):
    """Position, velocity, angle and spin of every environment, and its steps so far."""

    motion: jax.Array
    steps: jax.Array


def reset(key: jax.Array, envs: int) -> Game:
    motion = jax.random.uniform(key, (envs, 4), minval=-0.05, maxval=0.05)
    return Game(motion, jnp.zeros(envs, jnp.int32))


def observe(game: Game) -> jax.Array:
    return game.motion


def step(game: Game, action: jax.Array) -> tuple[Game, jax.Array, jax.Array]:
    """Return what follows, whether the pole fell, and whether the game is cut."""
    x, v, angle, spin = game.motion.T
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    total, moment = CART + POLE, POLE * HALF_LENGTH
    force = jnp.where(action == 1, FORCE, -FORCE)
    push = (force + moment * spin**2 * sin) / total
    turn = (GRAVITY * sin - cos * push) / (HALF_LENGTH * (4 / 3 - POLE * cos**2 / total))
    pull = push - moment * turn * cos / total
    x, v, angle, spin = x + TAU * v, v + TAU * pull, angle + TAU * spin, spin + TAU * turn
    fell = (abs(x) > POSITION_LIMIT) | (abs(angle) > ANGLE_LIMIT)
    steps = game.steps + 1
    return Game(jnp.stack([x, v, angle, spin], -1), steps), fell, steps >= STEP_LIMIT

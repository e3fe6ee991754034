"""A ring of remembered steps in JAX: written in place inside of a scan, drawn uniformly."""

from __future__ import annotations

from typing import TypeVar

import jax
import jax.numpy as jnp

Steps = TypeVar("Steps")


def empty(example: Steps, window: int) -> Steps:
    """Return room for so many steps, each like the example."""
    return jax.tree.map(lambda x: jnp.zeros((window, *x.shape), x.dtype), example)


def written(memory: Steps, step: Steps, count: jax.Array, window: int) -> Steps:
    """Return the memory with one step in the place of the oldest."""
    at = count % window
    return jax.tree.map(lambda m, x: jax.lax.dynamic_update_index_in_dim(m, x, at, 0), memory, step)


def drawn(memory: Steps, key: jax.Array, count: jax.Array, window: int, batch: int) -> Steps:
    """Return a batch of the steps that were written."""
    rows = jax.random.randint(key, (batch,), 0, jnp.minimum(count, window))
    return jax.tree.map(lambda m: m[rows], memory)

"""Alignments of two texts in JAX: a scan over rows, or over diagonals, whose cells are free.

Along a row the cell to the left is a running minimum: what a cell costs, less its position.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bench.peers.in_jax.called import called

MATCH, MISMATCH, GAP = 3, -2, 2
FAR = 1 << 29


def texts(batch: int, length: int) -> list[jax.Array]:
    rng = np.random.default_rng(0)
    return [jnp.asarray(rng.integers(0, 4, (batch, length)), jnp.int32) for _ in range(2)]


@jax.jit
def edits_by_rows(one: jax.Array, two: jax.Array) -> jax.Array:
    place = jnp.arange(two.shape[1] + 1)

    def row(above: jax.Array, letter: jax.Array) -> tuple[jax.Array, None]:
        replaced = above[:, :-1] + (letter[:, None] != two)
        here = jnp.minimum(replaced, above[:, 1:] + 1)
        here = jnp.concatenate([above[:, :1] + 1, here], 1)
        return lax.cummin(here - place, axis=1) + place, None

    first = jnp.broadcast_to(place, (len(one), len(place)))
    return lax.scan(row, first, one.T)[0][:, -1]


def diagonals(two: jax.Array, n: int) -> jax.Array:
    """For every diagonal the letter of ``two`` that meets each letter of the other text."""
    m = two.shape[1]
    where = jnp.arange(n + m - 1)[:, None] - jnp.arange(n)
    return jnp.where((where >= 0) & (where < m), two[:, where.clip(0, m - 1)], -1).swapaxes(0, 1)


@jax.jit
def edits_by_diagonals(one: jax.Array, two: jax.Array) -> jax.Array:
    """Cell ``k`` of a diagonal is that of letter ``k`` of the first text."""
    (batch, n), m = one.shape, two.shape[1]
    k = jnp.arange(n)
    Two = tuple[jax.Array, jax.Array]

    def above(row: jax.Array, first: jax.Array) -> jax.Array:
        first = jnp.broadcast_to(first, (batch, 1))
        return jnp.concatenate([first, row[:, :-1]], 1)

    def step(last: Two, given: tuple[jax.Array, jax.Array]) -> tuple[Two, jax.Array]:
        before, corner = last
        d, letters = given
        left = jnp.where(k == d, d + 1, before)  # the first column
        up, slant = above(before, d + 1), above(corner, d)
        slant = jnp.where(k == d, d, slant)
        here = jnp.minimum(jnp.minimum(left, up) + 1, slant + (one != letters))
        return (here, before), here[:, -1]

    start = jnp.full((batch, n), FAR, jnp.int32)
    given = jnp.arange(n + m - 1), diagonals(two, n)
    return lax.scan(step, (start, start), given)[1][-1]


@jax.jit
def scores_by_diagonals(one: jax.Array, two: jax.Array) -> jax.Array:
    (batch, n), m = one.shape, two.shape[1]
    k = jnp.arange(n)
    Three = tuple[jax.Array, jax.Array, jax.Array]

    def above(row: jax.Array) -> jax.Array:
        return jnp.pad(row, ((0, 0), (1, 0)))[:, :-1]

    def step(last: Three, given: tuple[jax.Array, jax.Array]) -> tuple[Three, None]:
        before, corner, best = last
        d, letters = given
        alike = jnp.where(one == letters, MATCH, MISMATCH)
        here = jnp.maximum(above(corner) + alike, jnp.maximum(before, above(before)) - GAP)
        here = jnp.where((k <= d) & (k > d - m), jnp.maximum(here, 0), 0)
        return (here, before, jnp.maximum(best, here)), None

    start = jnp.zeros((batch, n), jnp.int32)
    given = jnp.arange(n + m - 1), diagonals(two, n)
    return lax.scan(step, (start, start, start), given)[0][2].max(1)


@jax.jit
def scores_by_rows(one: jax.Array, two: jax.Array) -> jax.Array:
    place = jnp.arange(two.shape[1]) * GAP
    Two = tuple[jax.Array, jax.Array]

    def row(last: Two, letter: jax.Array) -> tuple[Two, None]:
        above, best = last
        alike = jnp.where(letter[:, None] == two, MATCH, MISMATCH)
        slant = jnp.pad(above, ((0, 0), (1, 0)))[:, :-1] + alike
        here = jnp.maximum(jnp.maximum(slant, above - GAP), 0)
        here = lax.cummax(here + place, axis=1) - place
        return (here, jnp.maximum(best, here)), None

    start = jnp.zeros_like(two)
    return lax.scan(row, (start, start), one.T)[0][1].max(1)


FUNCTIONS = {
    "edits by rows": edits_by_rows,
    "edits by diagonals": edits_by_diagonals,
    "scores by rows": scores_by_rows,
    "scores by diagonals": scores_by_diagonals,
}


def edit_distance(form: str, batch: int, length: int) -> Callable[[], float]:
    return called(FUNCTIONS[f"edits by {form}"], texts(batch, length), batch * length**2)


def smith_waterman(form: str, batch: int, length: int) -> Callable[[], float]:
    return called(FUNCTIONS[f"scores by {form}"], texts(batch, length), batch * length**2)

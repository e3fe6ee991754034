"""Ragged episodes by hand: true lists of steps, cut in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
PATTERNS: dict[str, Array] = {
    "mixed": np.array([[0, 0, 1, 0], [0, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 1]], bool),
    "all at step 0": np.ones((3, 4), bool),
    "none": np.zeros((3, 4), bool),
    "one step": np.array([[0], [1]], bool),
    "one episode": np.array([[0, 0, 1, 0, 1]], bool),
}


def lengths(done: Array) -> list[int]:
    """The number of steps of each episode: the first that is done is the last."""
    out: list[int] = []
    for row in done:
        steps = 0
        for is_last in row:
            steps += 1
            if is_last:
                break
        out.append(steps)
    return out


def episodes(x: Array, done: Array) -> list[Array]:
    """The live steps of each row."""
    return [row[:n] for row, n in zip(x, lengths(done), strict=True)]


def spoiled(x: Array, done: Array, garbage: float = np.nan) -> Array:
    """The rows with garbage beyond the end."""
    out = np.array(x)
    for row, n in zip(out, lengths(done), strict=True):
        row[n:] = garbage
    return out


def padded(rows: list[Array], size: int) -> Array:
    """Rows of different lengths with zeros behind."""
    out = np.zeros((len(rows), size, *rows[0].shape[1:]), rows[0].dtype)
    for k, row in enumerate(rows):
        out[k, : len(row)] = row
    return out


def draws(done: Array, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=done.shape).astype("float32")


def each(rows: list[Array], fn: Callable[[Array], Any]) -> Array:
    """A function of every episode."""
    return np.array([fn(row) for row in rows])

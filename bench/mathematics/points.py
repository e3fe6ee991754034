"""Arguments over the whole range of floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

EDGES = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0)
_WORDS = {"float32": np.uint32, "float64": np.uint64}


def every(stride: int) -> Array:
    """Every so manyth float32, whatever its sign and exponent; no NaN."""
    words = np.arange(0, 2**32, stride, dtype=np.uint64).astype(np.uint32)
    return numbers(words.view(np.float32))


def per_exponent(dtype: str, count: int, seed: int = 0) -> Array:
    """So many numbers of each sign and exponent, with any mantissa."""
    info = np.finfo(dtype)
    bits = np.random.default_rng(seed).integers(
        0, 2**info.nmant, (2 ** (info.nexp + 1), count), dtype=np.uint64
    )
    heads = np.arange(2 ** (info.nexp + 1), dtype=np.uint64)[:, None] << np.uint64(info.nmant)
    return numbers((bits | heads).astype(_WORDS[dtype]).ravel().view(dtype))


def around(dtype: str, low: float, high: float, count: int) -> Array:
    """Equally spaced numbers, where the interesting part is."""
    return np.linspace(low, high, count).astype(dtype)


def pairs(dtype: str, count: int, seed: int = 0) -> tuple[Array, Array]:
    """Pairs of any exponents; half of them near each other; and all pairs of edges."""
    random = np.random.default_rng(seed)
    many = per_exponent(dtype, -(-count // 2 ** np.finfo(dtype).nexp), seed)
    x, y = random.permutation(many)[:count], random.permutation(many)[:count]
    near = random.normal(size=(2, count)) * np.exp2(random.integers(-8, 8, (2, count)))
    edges = np.array(EDGES, dtype)
    first, second = (each.ravel() for each in np.meshgrid(edges, edges))
    left = np.concatenate([x, near[0].astype(dtype), first])
    right = np.concatenate([y, near[1].astype(dtype), second])
    return left, right


def numbers(x: Array) -> Array:
    """Those that are not NaN."""
    return x[~np.isnan(x)]


def edges(dtype: str) -> Array:
    """Where functions have values of their own."""
    return np.array(EDGES, dtype)

"""Random numbers as a function of (seed, operator, point): Philox4x32-10 on NumPy arrays.

The law of keys and counters, the same on every target:

- A tensor drawn by operator ``o`` at point ``p = (p0, p1, ...)`` of its domain, coordinates in the
  domain's order, takes element ``e`` (row-major index) from the block with counter
  ``(e, p0, p1, p2)`` and key ``(low, o)``, where ``low`` is the low word of ``key(seed)``; missing
  coordinates are 0.
- ``key(seed)`` is the seed where that is below 2**32. Of others, ``high * 2**32 + low``, it has
  words 0 and 1 of the block with counter ``(low, high, 0, 0)`` and key 0.
- More than three coordinates: for each further chunk ``q`` of four, zero padded, in order, the key
  becomes words 0 and 1 of the block with counter ``q`` and the key so far.
- The last word of the first counter, of a chunk if there is one, is xor the high word of the key.
- float32 uniform: ``(w0 >> 8) * 2**-24``. float64: ``((w0 >> 5) * 2**26 + (w1 >> 6)) * 2**-53``.
- normal: ``sqrt(-2 log(1 - u)) * cos(2 pi v)`` with ``u, v`` the uniforms of words 0 and 1
  (float32), or of words 0, 1 and 2, 3 (float64).

Everything is taken modulo 2**32. Source: Salmon et al. 2011, Parallel random numbers: as easy as
1, 2, 3.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32] | npt.NDArray[np.float64]
FloatDtype = Literal["float32", "float64"]

_ROUNDS = 10
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_WEYL = 0x9E3779B9, 0xBB67AE85
_WORD = 0xFFFFFFFF


def philox4x32(counter: Words, key: Words) -> Words:
    """Ten rounds of Philox on every counter.

    Shapes: counter (..., 4), key (..., 2) -> (..., 4), all uint32; the leading axes broadcast.

    >>> zeros = np.zeros(4, np.uint32)
    >>> [hex(word) for word in philox4x32(zeros, zeros[:2]).tolist()]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    if counter.ndim == key.ndim == 1:  # one block: in Python's integers ten times faster
        return np.array(_rounds(counter.tolist(), key.tolist()), np.uint32)
    words = (np.moveaxis(x.astype(np.uint64), -1, 0) for x in (counter, key))
    return np.stack([x.astype(np.uint32) for x in _rounds(*words)], axis=-1)


def _rounds(counter: Iterable[Any], key: Iterable[Any]) -> tuple[Any, Any, Any, Any]:
    """The words of a block, or of many: integers of at least 64 bits."""
    (x0, x1, x2, x3), (k0, k1) = counter, key
    for _ in range(_ROUNDS):
        first, second = x0 * _MULTIPLIERS[0], x2 * _MULTIPLIERS[1]
        x0, x1 = (second >> 32) ^ x1 ^ k0, second & _WORD
        x2, x3 = (first >> 32) ^ x3 ^ k1, first & _WORD
        k0, k1 = (k0 + _WEYL[0]) & _WORD, (k1 + _WEYL[1]) & _WORD
    return x0, x1, x2, x3


def uniform(counter: Words, key: Words, dtype: FloatDtype = "float32") -> Floats:
    """Numbers in [0, 1), one per counter.

    Shapes: counter (..., 4), key (..., 2) -> (...).
    """
    words = philox4x32(counter, key)
    return _unit(words, dtype, 0)


def normal(counter: Words, key: Words, dtype: FloatDtype = "float32") -> Floats:
    """Return standard normals, one per counter, computed in float64 and rounded once.

    Shapes: counter (..., 4), key (..., 2) -> (...).
    """
    words = philox4x32(counter, key)
    radius = _unit(words, dtype, 0).astype(np.float64)
    angle = _unit(words, dtype, 1 if dtype == "float32" else 2).astype(np.float64)
    found = np.sqrt(-2.0 * np.log(1.0 - radius)) * np.cos(2.0 * np.pi * angle)
    return _as_float(found, dtype)


def _unit(words: Words, dtype: FloatDtype, first: int) -> Floats:
    if dtype == "float32":
        return _as_float((words[..., first] >> np.uint32(8)) * 2.0**-24, dtype)
    high = (words[..., first] >> np.uint32(5)).astype(np.float64)
    low = (words[..., first + 1] >> np.uint32(6)).astype(np.float64)
    return _as_float((high * 2.0**26 + low) * 2.0**-53, dtype)


def _as_float(values: Any, dtype: FloatDtype) -> Floats:
    result: Floats = np.asarray(values, dtype)
    return result


def seed_key(seed: int) -> int:
    """The 64 bits for which a seed stands: itself, or where that has more than 32 bits a mixture.

    >>> seed_key(7), hex(seed_key(7 << 32))
    (7, '0x173e265e6b62c75a')
    """
    low, high = seed & _WORD, seed >> 32 & _WORD
    if not high:
        return low
    first, second, *_ = _rounds((low, high, 0, 0), (0, 0))
    return int(second << 32 | first)


def draw_key(seed: int, operator: int, point: Sequence[int] = ()) -> Words:
    """Key of an operator's draws at a point: two words.

    >>> draw_key(7, 3).tolist()
    [7, 3]
    """
    whole = seed_key(seed)
    high, key = whole >> 32, np.array([whole & _WORD, operator & _WORD], np.uint32)
    for start in range(3, len(point), 4):
        chunk = _padded(point[start : start + 4], 4)
        chunk[3] ^= high
        high, key = 0, philox4x32(chunk, key)[:2]
    return key


def draw_counter(size: int, point: Sequence[int] = (), seed: int = 0) -> Words:
    """Counters of the ``size`` elements of one tensor at a point: (size, 4) words."""
    counter = np.zeros((size, 4), np.uint32)
    counter[:, 0] = np.arange(size, dtype=np.uint64).astype(np.uint32)
    counter[:, 1:] = _padded(point[:3], 3)
    if len(point) <= 3:
        counter[:, 3] ^= np.uint32(seed_key(seed) >> 32)
    return counter


def _padded(coordinates: Sequence[int], length: int) -> Words:
    words = [coordinate & _WORD for coordinate in coordinates]
    return np.array(words + [0] * (length - len(words)), np.uint32)


def draw_bits(seed: int, operator: int, point: Sequence[int], shape: tuple[int, ...]) -> Words:
    """Return the first word of every element's block, in the given shape."""
    counter, key = _draws(seed, operator, point, shape)
    return philox4x32(counter, key)[..., 0].reshape(shape)


def draw_uniform(
    seed: int, operator: int, point: Sequence[int], shape: tuple[int, ...], dtype: FloatDtype
) -> Floats:
    """Return the uniforms that an operator draws at a point, in the given shape."""
    counter, key = _draws(seed, operator, point, shape)
    return uniform(counter, key, dtype).reshape(shape)


def draw_normal(
    seed: int, operator: int, point: Sequence[int], shape: tuple[int, ...], dtype: FloatDtype
) -> Floats:
    """Return the standard normals that an operator draws at a point, in the given shape."""
    counter, key = _draws(seed, operator, point, shape)
    return normal(counter, key, dtype).reshape(shape)


def _draws(
    seed: int, operator: int, point: Sequence[int], shape: tuple[int, ...]
) -> tuple[Words, Words]:
    size = int(np.prod(shape, dtype=np.int64))
    return draw_counter(size, point, seed), draw_key(seed, operator, point)

"""Discrete Fourier transforms, of real and imaginary parts as tensors of their own.

A transform along an axis of constant size is one along its factors, as products with small
matrices; an axis whose size is known at run time only takes one matrix over all its elements.
"""

from __future__ import annotations

import math

import numpy as np

from ostinato.language.array.dtypes import DtypeName, accepted, promote
from ostinato.language.array.movement import broadcast_together
from ostinato.language.functions.basic import arange, concatenate, cos, flip, sin, swapaxes
from ostinato.language.kinds import Count
from ostinato.language.surface import declare
from ostinato.language.tensor import Size, Tensor, as_tensor, constant, merged
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.functions import FLOATS
from ostinato.pdg.index import expr
from ostinato.pdg.naming import sized
from ostinato.provenance.place import place

DENSE = 32  # the largest factor that is taken at once: n**2 products are no more than they cost
Parts = tuple[Tensor, Tensor]
Given = tuple[Tensor, Tensor | None]  # without an imaginary part: of real numbers


def fft(real: object, imag: object | None = None, axis: int = -1) -> Parts:
    """Return the real and the imaginary part of ``sum_j x[j] exp(-2 pi i j k / n)``.

    Without ``imag`` the numbers are real.
    Shapes: the operands broadcast; both parts have their common shape.
    Errors: ShapeError without an axis, or along one without elements.

    >>> import ostinato as ot
    >>> re, im = ot.fft.fft([1.0, 2.0, 3.0, 4.0])
    >>> found = ot.Program(re=re, im=im).interpret()
    >>> found["re"].round(5).tolist(), (found["im"].round(5) + 0.0).tolist()
    ([10.0, -2.0, -2.0, -2.0], [0.0, 2.0, 0.0, -2.0])
    """
    return _along(real, imag, axis, -1)


def ifft(real: object, imag: object | None = None, axis: int = -1) -> Parts:
    """Return the parts of ``sum_k x[k] exp(2 pi i j k / n) / n``: the inverse of `fft`.

    Without ``imag`` the numbers are real.
    Shapes: the operands broadcast; both parts have their common shape.
    Errors: ShapeError without an axis, or along one without elements.

    >>> import ostinato as ot
    >>> re, im = ot.fft.ifft(*ot.fft.fft([1.0, 2.0, 4.0]))
    >>> ot.Program(re=re).interpret()["re"].round(5).tolist()
    [1.0, 2.0, 4.0]
    """
    found = _along(real, imag, axis, 1)
    size = found[0].shape[axis]
    return found[0] / size, found[1] / size


def rfft(real: object, axis: int = -1) -> Parts:
    """Return the first ``n // 2 + 1`` elements of `fft` of real numbers; the others mirror them.

    Shapes: (..., n, ...) -> (..., n // 2 + 1, ...) for both parts.
    Errors: ShapeError without an axis, or along one without elements.

    >>> import ostinato as ot
    >>> re, im = ot.fft.rfft([1.0, 2.0, 3.0, 4.0])
    >>> ot.Program(re=re).interpret()["re"].round(5).tolist()
    [10.0, -2.0, -2.0]
    """
    re, im = (swapaxes(x, axis, -1) for x in fft(real, None, axis))
    half = re.shape[-1] // 2 + 1
    return swapaxes(re[..., :half], axis, -1), swapaxes(im[..., :half], axis, -1)


def irfft(real: object, imag: object, n: Count, axis: int = -1) -> Tensor:
    """Return the ``n`` real numbers of which `rfft` gives these parts.

    The imaginary parts of the first element, and of the last one for an even ``n``, count as 0.

    Shapes: (..., n // 2 + 1, ...) for both parts -> (..., n, ...).
    Errors: ShapeError.

    >>> import ostinato as ot
    >>> y = ot.fft.irfft(*ot.fft.rfft([1.0, 2.0, 4.0]), n=3)
    >>> ot.Program(y=y).interpret()["y"].round(5).tolist()
    [1.0, 2.0, 4.0]
    """
    re, im = _both(real, imag, axis)
    if re.node.shape[-1] != expr(n // 2 + 1):
        fact = f"`irfft` to {n} of {sized(as_tensor(real).node)}"
        raise ShapeError(fact, f"Give {n // 2 + 1} elements along the axis.", place())
    inside = slice(1, (n + 1) // 2)
    edges = np.ones(n // 2 + 1)
    edges[[0, *([-1] if n % 2 == 0 else [])]] = 0.0
    im = im * constant(edges, im.dtype)
    whole = (
        concatenate([re, flip(re[..., inside], -1)], axis=-1),
        concatenate([im, -flip(im[..., inside], -1)], axis=-1),
    )
    return swapaxes(_transformed(whole, 1)[0] / n, axis, -1)


def _along(real: object, imag: object | None, axis: int, sign: int) -> Parts:
    x: Given = _both(real, imag, axis) if imag is not None else (_last(as_tensor(real), axis), None)
    found = _transformed(x, sign)
    return swapaxes(found[0], axis, -1), swapaxes(found[1], axis, -1)


def _last(x: Tensor, axis: int) -> Tensor:
    """Floats, with an axis as the last one.

    Errors: ShapeError if there is none, or if it has no element.
    """
    found = swapaxes(x.cast(accepted(x.dtype, FLOATS)), axis, -1)
    if found.node.shape[-1] == expr(0):
        raise ShapeError(f"a transform of {sized(x.node)}", "Give at least one element.", place())
    return found


def _both(real: object, imag: object, axis: int) -> Parts:
    """Both parts in one type and shape."""
    given = as_tensor(real), as_tensor(imag)
    dtype = promote([x.dtype for x in given], place())
    nodes = broadcast_together([x.cast(dtype).node for x in given], place())
    re, im = (_last(Tensor(x, merged(*given)), axis) for x in nodes)
    return re, im


def _transformed(x: Given, sign: int) -> Parts:
    """The transform along the last axis, its largest factors first."""
    size = x[0].shape[-1]
    if not isinstance(size, int):
        return _product(x, _waves(size, x[0].dtype, sign))
    factor = _factor(size)
    if factor == size:
        return _product(x, _constant(size, size, size, sign, x[0].dtype))
    # j = rest j1 + j2 and k = k1 + factor k2: over j1, a phase of j2 k1, and over j2
    rest = size // factor
    apart = x[0].shape[:-1]
    re = _columns(x[0].reshape((*apart, factor, rest)))
    im = None if x[1] is None else _columns(x[1].reshape((*apart, factor, rest)))
    inner = _product((re, im), _constant(factor, factor, factor, sign, re.dtype))
    turned = _times(inner, _constant(size, rest, factor, sign, re.dtype))
    found = _transformed((_columns(turned[0]), _columns(turned[1])), sign)
    real, imag = (_columns(part).reshape((*apart, size)) for part in found)
    return real, imag


def _columns(x: Tensor) -> Tensor:
    return swapaxes(x, -1, -2)


def _factor(size: int) -> int:
    """The largest factor up to `DENSE`, or the smallest one above, or all of a prime."""
    factors = [n for n in range(2, math.isqrt(size) + 1) if size % n == 0]
    few = [n for n in (*factors, *(size // n for n in factors)) if n <= DENSE]
    if size <= DENSE or not factors:
        return size
    return max(few) if few else factors[0]


def _product(x: Given, matrix: Parts) -> Parts:
    """The rows of ``x`` times a symmetric matrix."""
    (a, b), (c, d) = x, matrix
    if b is None:
        return a @ c, a @ d
    return a @ c - b @ d, a @ d + b @ c


def _times(x: Parts, y: Parts) -> Parts:
    (a, b), (c, d) = x, y
    return a * c - b * d, a * d + b * c


def _constant(size: int, rows: int, columns: int, sign: int, dtype: DtypeName) -> Parts:
    """The parts of ``exp(sign 2 pi i j k / size)`` for ``j`` and ``k`` below two numbers."""
    angle = np.outer(np.arange(rows), np.arange(columns)) % size * (2 * math.pi / size)
    return constant(np.cos(angle), dtype), constant(sign * np.sin(angle), dtype)


def _waves(size: Size, dtype: DtypeName, sign: int) -> Parts:
    """The same for all elements of an axis; products stay exact below 2**31 elements."""
    at = arange(size).cast("int64")
    turns = (at[..., None] * at) % size
    angle = turns.cast("float64") * (2 * math.pi) / size
    return cos(angle).cast(dtype), (sign * sin(angle)).cast(dtype)


declare(__name__)

"""Dimensions that end early, dimensions whose extent follows from others, and calls of Python."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import ostinato as ot
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct, ragged


@construct("ragged ends")
def stopped(w: Workshop, s: Step) -> Tensor | None:
    """A dim that ends where values say so, once in a program."""
    d, x = w.along(s), w.any(s)
    rec = any(type(e.node.op).__name__ != "Input" for e in w.pool)
    if d is None or w.ended or rec or x.dtype != w.dtype:
        return None
    w.ended = True
    scalar = x.sum() if x.ndim else x
    ot.stop(d, when=scalar > 0.4)
    return x * 0.5 + ot.alive(d).cast(w.dtype)


@construct("defined extents")
def over_a_product(w: Workshop, s: Step) -> Tensor | None:
    """A dim of as many steps as two others have points."""
    d, e, x = w.along(s), w.second(s), w.real(s)
    if d is None or e is None:
        return None
    n = ot.dim(f"n{w.number}", size=d.size * e.size)
    long = x.at(**{d.name: ot.minimum(n, d.size - 1)}) * 0.5 + 0.01 * n
    return long.at(**{n.name: slice(None)}).mean(0)


@construct("defined extents")
def over_half(w: Workshop, s: Step) -> Tensor | None:
    """A dim of every other step."""
    d, x = w.along(s), w.real(s)
    if d is None or any(not n.is_const for n in x.node.shape):
        return None
    n = ot.dim(f"h{w.number}", size=(d.size + 1) // 2)
    short = x.at(**{d.name: n * 2})
    return short.at(**{n.name: ot.minimum(d // 2, n.size - 1)}) + x


@construct("defined extents")
def over_few_steps(w: Workshop, s: Step) -> Tensor | None:
    """A dim of one or two steps, known from the start, through which a value is carried."""
    x = w.real(s)
    if any(not n.is_const for n in x.node.shape):
        return None
    n = ot.dim(f"f{w.number}", size=1 + s.c % 2)
    r = ot.recurrent(f"r{w.number}", shape=x.shape, dtype=x.dtype, over=(*w.over(x), n))
    r[(*w.over(x), 0)] = x
    r[(*w.over(x), n + 1)] = r * 0.5 + x
    every = (r * 0.25 + 0.125 * n).at(**{n.name: slice(None)}).sum(0)
    return every + r.at(**{n.name: n.size - 1})


def half_angle(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.sin(x) * 0.5


@construct("host calls")
def called(w: Workshop, s: Step) -> Tensor | None:
    """A pure function in Python, once per point; no gradient passes."""
    x = w.real(s)
    if any(not n.is_const for n in x.node.shape):
        return None
    found = ot.host(half_angle, ot.stop_gradient(x), shape=x.shape, dtype=w.dtype)
    assert isinstance(found, Tensor)
    return found + x


def waves(x: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], ...]:
    """Many numbers and few for each one that is given, in the type of those."""
    wide = x[..., None] * np.arange(1, 41, dtype=x.dtype) * 0.1
    return np.sin(wide), np.cos(wide[..., :2]), half_angle(x)


@construct("host calls", "called_for_row", "called_for_rows")
def called_for_several(w: Workshop, s: Step) -> Tensor | None:
    """Results of which short ones share a row with a long one; a product of what all points get."""
    d, x = w.along(s), w.real(s)
    if x.ndim or ragged(x) or (d is None and s.op == "called_for_rows"):
        return None
    kinds = tuple((shape, w.dtype) for shape in ((40,), (2,), ()))
    over = d if s.op == "called_for_rows" and d is not None else ()
    found = ot.host(waves, ot.stop_gradient(x), shape=kinds, over=over)
    assert isinstance(found, tuple)
    long, two, one = found
    weights = ot.constant(np.cos(np.arange(80.0)).reshape(40, 2), dtype=w.dtype)
    layer = (long @ weights)[..., s.b % 2]
    return (layer, layer + one, two[..., s.b % 2] * layer, one + x, long[..., s.c] + two.sum())[
        s.c % 5
    ]


@construct("host calls")
def called_with_rows(w: Workshop, s: Step) -> Tensor | None:
    """A function that gets all points of a dim at once."""
    d, x = w.along(s), w.real(s)
    if d is None or any(not n.is_const for n in x.node.shape):
        return None
    found = ot.host(half_angle, ot.stop_gradient(x), shape=x.shape, dtype=w.dtype, over=d)
    assert isinstance(found, Tensor)
    return found - x

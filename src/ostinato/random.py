"""Random numbers: counter-based, keyed by the seed, the call and the point.

No schedule, tile, thread count or device can change a draw. Each call draws from its own stream;
calls are numbered in the order in which they are written, per program.
"""

from __future__ import annotations

import itertools

from ostinato.array.dtypes import check_dtype
from ostinato.functions import softmax, where
from ostinato.pdg import build
from ostinato.pdg.build import random_node
from ostinato.pdg.errors import DtypeError, ShapeError
from ostinato.pdg.functions import FLOATS
from ostinato.pdg.index import Expr
from ostinato.pdg.naming import called
from ostinato.pdg.node import Random
from ostinato.place import place
from ostinato.recurrent import Over, as_dims
from ostinato.tensor import ShapeLike, Size, Tensor, as_shape, as_tensor

_streams = itertools.count()  # Program renumbers: a draw does not depend on other programs


def uniform(
    shape: ShapeLike = (),
    low: Tensor | float = 0.0,
    high: Tensor | float = 1.0,
    over: Over = (),
    dtype: str = "float32",
) -> Tensor:
    """Return draws from [low, high), independent at every point of ``over`` and in every element.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> bool((ot.Program(u=ot.random.uniform(over=t)).interpret(T=4)["u"] < 1).all())
    True
    """
    is_number = isinstance(low, float | int) and isinstance(high, float | int)
    span = high - low if is_number else as_tensor(high) - low
    return _shifted(_draw("uniform", shape, dtype, over), span, low)


def normal(
    shape: ShapeLike = (),
    mean: Tensor | float = 0.0,
    std: Tensor | float = 1.0,
    over: Over = (),
    dtype: str = "float32",
) -> Tensor:
    """Return Gaussian draws, independent at every point of ``over`` and in every element."""
    return _shifted(_draw("normal", shape, dtype, over), std, mean)


def _shifted(unit: Tensor, scale: Tensor | float, start: Tensor | float) -> Tensor:
    """``unit * scale + start`` without operations that change nothing."""
    scaled = unit if isinstance(scale, float | int) and scale == 1 else unit * scale
    return scaled if isinstance(start, float | int) and start == 0 else scaled + start


def categorical(logits: Tensor) -> Tensor:
    """Return int32 draws from the last axis of unnormalised log-probabilities.

    By the inverse of the cumulative probability: one uniform number per point of the domain of
    ``logits`` and per place of its other axes.

    Shapes: logits (..., n) -> (...).
    """
    if not logits.ndim:
        fact = f"categorical draw from {called(logits.node)}, a scalar"
        raise ShapeError(fact, "Give logits with at least one axis.", place())
    p = softmax(logits)
    size = p.node.shape[-1]
    lead = p.node.shape[:-1]
    bits = Random("uniform", next(_streams))
    drawn = random_node(bits, lead, p.dtype, p.node.domain, place())
    u = Tensor(drawn, frozenset())
    # Place k is passed if u >= p[0] + ... + p[k]; the last sum is 1 up to rounding, and left out.
    position, bound = _positions(size), _positions(size - 1)
    included = bound[:, None] >= position
    cumulative = where(included, p[..., None, :], 0.0).sum(-1)
    return (u[..., None] >= cumulative).sum(-1)


def permutation(size: Size, over: Over = (), shape: ShapeLike = ()) -> Tensor:
    """Return the int32 numbers 0 ... size - 1 in random order, another at every point of ``over``.

    They are put in the order of 32 random bits each; two of a million numbers may have the same
    bits and then keep their order.

    Shapes: (*shape, size).

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> rows = ot.Program(p=ot.random.permutation(4, over=t)).interpret(T=3)["p"]
    >>> sorted(rows[2].tolist())
    [0, 1, 2, 3]
    """
    at = place()
    drawn = (*as_shape(shape), *as_shape(size))
    bits = random_node(Random("bits", next(_streams)), drawn, "uint32", as_dims(over, at), at)
    return Tensor(build.along("argsort", [bits], -1, where=at), frozenset())


def _positions(size: Expr) -> Tensor:
    return Tensor(build.iota(size), frozenset())


def _draw(fn: str, shape: ShapeLike, dtype: str, over: Over) -> Tensor:
    at = place()
    found = check_dtype(dtype, at)
    if found not in FLOATS:
        raise DtypeError(f"random numbers of type {dtype}", "Use float32 or float64.", at)
    node = random_node(Random(fn, next(_streams)), as_shape(shape), found, as_dims(over, at), at)
    return Tensor(node, frozenset())

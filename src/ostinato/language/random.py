"""Random numbers: counter-based, keyed by the seed, the call and the point.

No schedule, tile, thread count or device can change a draw. Each call draws from its own stream;
calls are numbered in the order in which they are written, per program.
"""

from __future__ import annotations

import itertools

import numpy as np

from ostinato.language.array.dtypes import DtypeName, accepted, check_dtype, common_dtype
from ostinato.language.dims import IndexExpression
from ostinato.language.functions.along import cumsum
from ostinato.language.functions.basic import abs as absolute
from ostinato.language.functions.basic import (
    broadcast_to,
    exp,
    expand_dims,
    log,
    log1p,
    maximum,
    minimum,
    sigmoid,
    sign,
    softmax,
    squeeze,
    stop_gradient,
    take_along_axis,
    where,
)
from ostinato.language.kinds import Finite, NonNegative, Positive, Probability
from ostinato.language.recurrent import Over, as_dims
from ostinato.language.surface import declare
from ostinato.language.tensor import ShapeLike, Size, Tensor, as_shape, as_tensor
from ostinato.pdg import build
from ostinato.pdg.build import random_node
from ostinato.pdg.errors import ArgumentError, DtypeError, ShapeError
from ostinato.pdg.functions import FLOATS
from ostinato.pdg.index import Expr, expr
from ostinato.pdg.naming import called, show_shape
from ostinato.pdg.node import Dtype, Random
from ostinato.provenance.place import place

ROUNDS = 8  # proposals of one gamma draw
FEW_PLACES = 32  # of a categorical draw, whose sums are written out
Parameters = tuple[Tensor | float, ...]
_LEAST: dict[str, float] = {t: float(np.finfo(t).tiny) for t in ("float32", "float64")}
_HALF_STEP: dict[str, float] = {"float32": 2.0**-25, "float64": 2.0**-54}
_streams = itertools.count()  # Program renumbers: a draw does not depend on other programs


def uniform(
    shape: ShapeLike | None = None,
    low: Tensor | Finite = 0.0,
    high: Tensor | Finite = 1.0,
    over: Over = (),
    dtype: DtypeName | None = None,
) -> Tensor:
    """Return draws from [low, high), independent at every point and in every element.

    They have the shape and the dimensions of the bounds; ``shape`` adds axes, ``over`` dimensions.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> bool((ot.Program(u=ot.random.uniform(over=t)).interpret(T=4)["u"] < 1).all())
    True
    """
    is_number = isinstance(low, float | int) and isinstance(high, float | int)
    if isinstance(low, float | int) and isinstance(high, float | int) and high < low:
        fact = f"uniform draws from [{low}, {high}), which is empty"
        raise ArgumentError(fact, "Give the lower bound first.", place())
    span = high - low if is_number else as_tensor(high) - low
    return _shifted(_draw("uniform", (low, high), shape, over, dtype), span, low)


def normal(
    shape: ShapeLike | None = None,
    mean: Tensor | Finite = 0.0,
    std: Tensor | NonNegative = 1.0,
    over: Over = (),
    dtype: DtypeName | None = None,
) -> Tensor:
    """Return Gaussian draws, independent at every point and in every element.

    They have the shape and the dimensions of mean and standard deviation; ``shape`` adds axes,
    ``over`` dimensions. Gradients flow to both.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> ot.random.normal(mean=ot.input("mu", shape=(3,), over=t))
    <float32[3] over (t)>
    """
    return _shifted(_draw("normal", (mean, std), shape, over, dtype), std, mean)


def _shifted(unit: Tensor, scale: Tensor | float, start: Tensor | float) -> Tensor:
    """``unit * scale + start`` without operations that change nothing."""
    scaled = unit if isinstance(scale, float | int) and scale == 1 else unit * scale
    return scaled if isinstance(start, float | int) and start == 0 else scaled + start


def categorical(logits: Tensor) -> Tensor:
    """Return int32 draws from the last axis of unnormalised log-probabilities.

    By the inverse of the cumulative probability: one uniform number per point of the domain of
    ``logits`` and per place of its other axes. What has no probability is never drawn.

    Shapes: logits (..., n) -> (...).
    """
    if not logits.ndim:
        fact = f"categorical draw from {called(logits.node)}, a scalar"
        raise ShapeError(fact, "Give logits with at least one axis.", place())
    if logits.node.shape[-1] == expr(0):
        fact = f"categorical draw from {called(logits.node)}, which has no choices"
        raise ShapeError(fact, "Give logits with a last axis of at least 1.", place())
    p = softmax(logits)
    lead = p.node.shape[:-1]
    bits = Random("uniform", next(_streams))
    drawn = random_node(bits, lead, p.dtype, p.node.domain, place())
    u = Tensor(drawn, frozenset())
    sums = _sums(p, p.node.shape[-1])
    # Of the sum of all, which is 1 but for rounding: a draw passes no last place that is possible.
    whole = sums[..., -1:] if not sums.mask.parts else sums.max(-1, keepdims=True)
    return (u[..., None] * whole >= sums).sum(-1)


def _sums(p: Tensor, size: Expr) -> Tensor:
    """Return the sums up to each place: a draw lies behind those that it has passed.

    A few sums are written out; of many places there is a running sum.
    """
    if not size.is_const or size.const > FEW_PLACES:
        return cumsum(p, axis=-1)
    position = _positions(size)
    return where(position[:, None] >= position, p[..., None, :], 0.0).sum(-1)


def _open_uniform(
    parameters: Parameters, shape: ShapeLike | None, over: Over, dtype: DtypeName | None
) -> Tensor:
    """Draws from (0, 1): the one draw at 0 is put half a step above it."""
    drawn = _draw("uniform", parameters, shape, over, dtype)
    return maximum(drawn, _HALF_STEP[drawn.dtype])


def exponential(
    shape: ShapeLike | None = None,
    scale: Tensor | NonNegative = 1.0,
    over: Over = (),
    dtype: DtypeName | None = None,
) -> Tensor:
    """Return draws of density ``exp(-x / scale) / scale``; gradients flow to the scale.

    They have its shape and dimensions; ``shape`` adds axes, ``over`` dimensions.
    """
    return _shifted(-log1p(-_draw("uniform", (scale,), shape, over, dtype)), scale, 0.0)


def gumbel(
    shape: ShapeLike | None = None,
    location: Tensor | Finite = 0.0,
    scale: Tensor | NonNegative = 1.0,
    over: Over = (),
    dtype: DtypeName | None = None,
) -> Tensor:
    """Return draws of the greatest of many: ``-log`` of exponential draws, scaled and moved.

    The argmax of logits plus such noise is a categorical draw. The draws have the shape and the
    dimensions of both parameters, to which gradients flow; ``shape`` and ``over`` add to them.
    """
    drawn = _open_uniform((location, scale), shape, over, dtype)
    return _shifted(-log(-log(drawn)), scale, location)


def laplace(
    shape: ShapeLike | None = None,
    location: Tensor | Finite = 0.0,
    scale: Tensor | NonNegative = 1.0,
    over: Over = (),
    dtype: DtypeName | None = None,
) -> Tensor:
    """Return draws of density ``exp(-abs(x - location) / scale) / (2 * scale)``.

    They have the shape and the dimensions of both parameters, to which gradients flow; ``shape``
    and ``over`` add to them.
    """
    centred = _open_uniform((location, scale), shape, over, dtype) - 0.5
    return _shifted(-sign(centred) * log1p(-2.0 * absolute(centred)), scale, location)


def integers(
    low: Tensor | int,
    high: Tensor | int,
    shape: ShapeLike | None = None,
    over: Over = (),
    dtype: DtypeName = "int32",
) -> Tensor:
    """Return integers from ``low`` to ``high - 1``, int32 or int64, at every point and element.

    They have the shape and the dimensions of the bounds; ``shape`` adds axes, ``over`` dimensions.
    From 32 random bits each: probabilities differ by at most ``(high - low) / 2**32``, relatively.
    Bounds are less than 2**31 apart; where those of tensors leave no number it is ``low``.
    Errors: DtypeError; ShapeError.

    >>> import ostinato as ot
    >>> i = ot.dims("i")
    >>> dice = ot.Program(y=ot.random.integers(1, 7, (100,))).interpret()["y"]
    >>> int(dice.min()), int(dice.max())
    (1, 6)
    >>> earlier = ot.random.integers(0, ot.index(i + 1))
    >>> bool((ot.Program(y=earlier).interpret(I=50)["y"] <= range(50)).all())
    True
    """
    at = place()
    if dtype not in ("int32", "int64"):
        raise DtypeError(f"random integers of type {dtype}", "Use int32 or int64.", at)
    span = _span(low, high, at)
    wanted = _Wanted((low, high), shape, over)
    bits = Random("bits", next(_streams))
    drawn = random_node(bits, wanted.shape, "uint32", wanted.dims, at)
    wide = Tensor(drawn, frozenset()).cast("int64")
    return ((wide * span >> 32) + low).cast(dtype)


def _span(low: Tensor | int, high: Tensor | int, at: str) -> Tensor | int:
    """How many integers there are between bounds, at least one.

    Errors: ArgumentError for numbers that leave none, or too many; DtypeError for real tensors.
    """
    for bound in (low, high):
        if isinstance(bound, Tensor) and bound.dtype not in ("int32", "int64", "uint32"):
            fact = f"a bound of random integers, {called(bound.node)}, is {bound.dtype}"
            raise DtypeError(fact, "Write `.cast('int32')`, which rounds towards 0.", at)
    if isinstance(low, int) and isinstance(high, int):
        if 0 < high - low < 2**31:
            return high - low
        remedy = "Give bounds less than 2**31 apart."
        if high <= low:
            remedy = "Give a lower bound below the upper one, which is excluded."
        raise ArgumentError(f"random integers from {low} to {high} (excluded)", remedy, at)
    return maximum(as_tensor(high).cast("int64") - as_tensor(low).cast("int64"), 1)


def bernoulli(p: Tensor | Probability, shape: ShapeLike | None = None, over: Over = ()) -> Tensor:
    """Return booleans that are true with probability ``p``.

    One per element and point of ``p``; ``shape`` and ``over`` add axes and dimensions. No gradient
    flows to ``p``.
    """
    wanted = _Wanted((p,), shape, over)
    return wanted.draw("uniform") < wanted.parameter(p)


class _Wanted:
    """The type, shape and domain of draws with parameters: theirs, and what is asked for."""

    def __init__(self, parameters: Parameters, shape: ShapeLike | None, over: Over) -> None:
        nodes = [as_tensor(p).node for p in parameters]
        at = place()
        self.dtype: Dtype = accepted(common_dtype(nodes, at), FLOATS)
        known = build.order({d for x in nodes for d in x.domain} | {*as_dims(over, at)})
        self.dims, self.at = known, at
        rank = max(x.rank for x in nodes)
        padded = [build.pad_rank(x, rank).shape for x in nodes]
        common = build.broadcast_shapes(padded, nodes, "draw", at)
        self.shape = common if shape is None else as_shape(shape)
        behind = zip(reversed(common), reversed(self.shape), strict=False)
        if rank > len(self.shape) or any(mine not in (build.ONE, size) for mine, size in behind):
            fact = f"draws of shape {show_shape(self.shape)} whose parameters have shape "
            remedy = "Leave out the shape: draws have that of their parameters."
            raise ShapeError(fact + show_shape(common), remedy, at)

    def draw(self, fn: str, *more: int) -> Tensor:
        """Draws of the wanted shape, with further axes behind."""
        shape = (*self.shape, *map(expr, more))
        drawn = random_node(Random(fn, next(_streams)), shape, self.dtype, self.dims, self.at)
        return Tensor(drawn, frozenset())

    def parameter(self, value: Tensor | float) -> Tensor:
        """A parameter in the type and shape of the draws; no gradient flows to it."""
        filled = broadcast_to(
            as_tensor(value).cast(self.dtype), tuple(map(IndexExpression, self.shape))
        )
        return stop_gradient(filled)


def _log_gamma(wanted: _Wanted, concentration: Tensor | float) -> Tensor:
    """The logarithm of gamma draws of scale 1, by `ROUNDS` proposals of which the first counts.

    Source: Marsaglia and Tsang 2000, A simple method for generating gamma variables.
    """
    alpha = wanted.parameter(concentration)
    is_low = alpha < 1.0
    d = expand_dims(where(is_low, alpha + 1.0, alpha) - 1.0 / 3.0, -1)
    x = wanted.draw("normal", ROUNDS)
    root = 1.0 + x / (3.0 * d**0.5)
    is_above = root > 0.0
    logarithm = 3.0 * log(where(is_above, root, 1.0))
    bound = 0.5 * x * x + d - d * exp(logarithm) + d * logarithm
    u = maximum(wanted.draw("uniform", ROUNDS), _HALF_STEP[wanted.dtype])
    passes = is_above & (log(u) < bound)
    first = expand_dims(passes.cast("int32").argmax(-1), -1)
    chosen = squeeze(take_along_axis(where(passes, logarithm, 0.0), first, -1), -1)
    whole = log(squeeze(d, -1)) + chosen
    boost = log(maximum(wanted.draw("uniform"), _HALF_STEP[wanted.dtype]))
    return stop_gradient(where(is_low, whole + boost / where(is_low, alpha, 1.0), whole))


def gamma(
    concentration: Tensor | Positive,
    scale: Tensor | NonNegative = 1.0,
    shape: ShapeLike | None = None,
    over: Over = (),
) -> Tensor:
    """Return draws of density proportional to ``x**(concentration - 1) * exp(-x / scale)``.

    One per element and point of the concentration; ``shape`` and ``over`` add axes and dimensions.
    Each draw has 8 proposals, of which at least 95 % are accepted; if none is (probability below
    4e-11) it is the mode of the proposals. Gradients flow to the scale, not to the concentration.

    >>> import ostinato as ot
    >>> draws = ot.Program(y=ot.random.gamma(3.0, shape=(1000,))).interpret()["y"]
    >>> bool(abs(draws.mean() - 3.0) < 0.2)
    True
    """
    wanted = _Wanted((concentration,), shape, over)
    return _shifted(_inside(exp(_log_gamma(wanted, concentration))), scale, 0.0)


def beta(
    a: Tensor | Positive, b: Tensor | Positive, shape: ShapeLike | None = None, over: Over = ()
) -> Tensor:
    """Return draws from (0, 1) of density proportional to ``x**(a - 1) * (1 - x)**(b - 1)``.

    From two `gamma` draws; one that rounds to 0 or 1 is the float beside it. No gradient flows to
    the parameters.
    """
    wanted = _Wanted((a, b), shape, over)
    drawn = sigmoid(_log_gamma(wanted, a) - _log_gamma(wanted, b))
    return minimum(_inside(drawn), 1.0 - _HALF_STEP[wanted.dtype] * 2.0)


def dirichlet(concentration: Tensor, over: Over = ()) -> Tensor:
    """Return draws of probabilities along the last axis, one `gamma` draw each, which add up to 1.

    No gradient flows to the concentration.
    Shapes: concentration (..., n) -> (..., n).
    """
    if not concentration.ndim:
        fact = f"dirichlet draw from {called(concentration.node)}, a scalar"
        raise ShapeError(fact, "Give concentrations with at least one axis.", place())
    wanted = _Wanted((concentration,), None, over)
    return _inside(softmax(_log_gamma(wanted, concentration)))


def _inside(drawn: Tensor) -> Tensor:
    """Draws above 0: those that no float is small enough for are the smallest normal number."""
    return maximum(drawn, _LEAST[drawn.dtype])


def permutation(size: Size, over: Over = (), shape: ShapeLike = ()) -> Tensor:
    """Return the int32 numbers 0 ... size - 1 in random order, another at every point of ``over``.

    Every order is equally likely: each number in turn changes places with one of those before it,
    or stays, chosen by 53 random bits. The probability of a choice among k is 1 / k to within
    2**-53. Source: Durstenfeld 1964, Algorithm 235: random permutation.

    Shapes: (*shape, size).

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> rows = ot.Program(p=ot.random.permutation(4, over=t)).interpret(T=3)["p"]
    >>> sorted(rows[2].tolist())
    [0, 1, 2, 3]
    """
    at = place()
    sizes = (*as_shape(shape), *as_shape(size))
    unit = Random("uniform", next(_streams))
    drawn = random_node(unit, sizes, "float64", as_dims(over, at), at)
    number = _positions(sizes[-1]) + 1
    choices = (Tensor(drawn, frozenset()) * number.cast("float64")).cast("int32")
    return Tensor(build.along("shuffle", [choices.node], -1, where=at), frozenset())


def _positions(size: Expr) -> Tensor:
    return Tensor(build.iota(size), frozenset())


def _draw(
    fn: str,
    parameters: Parameters,
    shape: ShapeLike | None,
    over: Over,
    dtype: DtypeName | None,
) -> Tensor:
    """Draws of a type, or of that of the parameters."""
    at = place()
    wanted = _Wanted(parameters, shape, over)
    found = wanted.dtype if dtype is None else check_dtype(dtype, at)
    if found not in FLOATS:
        raise DtypeError(f"random numbers of type {dtype}", "Use float32 or float64.", at)
    node = random_node(Random(fn, next(_streams)), wanted.shape, found, wanted.dims, at)
    return Tensor(node, frozenset())


declare(__name__)

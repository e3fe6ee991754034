"""Attention over a dimension: queries look at keys of other steps."""

from __future__ import annotations

import math

from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import (
    concatenate,
    cos,
    expand_dims,
    index,
    sin,
    softmax,
    sqrt,
    stack,
    swapaxes,
    where,
)
from ostinato.language.kinds import Count, Positive
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor, constant
from ostinato.nn.init import glorot_uniform
from ostinato.nn.layers import Linear
from ostinato.nn.module import Module
from ostinato.pdg.errors import OptionError, ShapeError
from ostinato.pdg.index import expr
from ostinato.pdg.naming import sized
from ostinato.provenance.place import place


def rope(
    x: Tensor, position: object, *, base: Positive = 10_000.0, interleaved: bool = False
) -> Tensor:
    """Return ``x`` with pairs of features rotated by angles that grow with the position.

    Pair ``k`` of ``d`` features turns by ``position * base**(-2k / d)``: products of rotated
    queries and keys depend on the distance of their positions only. A pair is ``(k, k + d / 2)``,
    or the neighbours ``(2k, 2k + 1)`` if ``interleaved``, as in the source.

    Shapes: x (..., d), d even, position broadcasts to (...) -> (..., d). Positions are steps.
    Errors: ShapeError if the last axis is not even.
    Source: Su et al. 2021, RoFormer, equation 34.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> t = ot.dims("t")
    >>> y = ot.Program(y=nn.rope(ot.constant([1.0, 0.0]), ot.index(t))).interpret(T=2)["y"]
    >>> [[f"{value:.2f}" for value in row] for row in y]
    [['1.00', '0.00'], ['0.54', '0.84']]
    """
    size = x.shape[-1] if x.ndim else 1
    if not isinstance(size, int) or size % 2:
        fact = f"rotation of {sized(x.node)}, whose last axis is not made of pairs"
        raise ShapeError(fact, "Give an even, constant number of features.", place())
    speeds = constant([base ** (-2 * k / size) for k in range(size // 2)])
    angle = expand_dims(as_tensor(position).cast("float32"), -1) * speeds
    turn, lift = cos(angle), sin(angle)
    if interleaved:
        pairs = x.reshape((*x.shape[:-1], size // 2, 2))
        left, right = pairs[..., 0], pairs[..., 1]
        turned = stack([left * turn - right * lift, left * lift + right * turn], -1)
        return turned.reshape(x.shape)
    left, right = x[..., : size // 2], x[..., size // 2 :]
    return concatenate([left * turn - right * lift, left * lift + right * turn], -1)


def attend(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the mean of values, weighted by ``softmax(query @ keys.T / sqrt(d))``.

    Keys are seen where the boolean ``mask`` is true; a query that sees none gives NaN.

    Shapes: query (..., q, d), keys (..., n, d), values (..., n, e), mask broadcasts to (..., q, n)
    -> (..., q, e).
    Source: Vaswani et al. 2017, Attention is all you need, equation 1.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> t = ot.dims("t")
    >>> q, k, v = (ot.input(name, shape=(4,), over=t) for name in "qkv")
    >>> nn.attend(q[..., None, :], k[: t + 1], v[: t + 1])
    <float32[1, 4] over (t)>
    """
    if not query.ndim or query.node.shape[-1] == expr(0):
        fact = f"attention of {sized(query.node)}, which has no features"
        raise ShapeError(fact, "Give queries with a last axis of at least 1.", place())
    size = query.shape[-1]
    scale = 1 / math.sqrt(size) if isinstance(size, int) else 1 / sqrt(index(size).cast("float32"))
    scores = query @ swapaxes(keys, -1, -2) * scale
    if mask is not None:
        scores = where(mask, scores, -math.inf)
    return softmax(scores) @ values


class Attention(Module):
    """Multi-head attention; with fewer ``groups`` than ``heads``, grouped-query attention.

    A query at step ``t`` sees the steps of a slice of ``t``: all up to its own by default. Any
    other slice makes another attention: ``slice(None)`` sees everything, ``slice(ot.maximum(t - 7,
    0), t + 1)`` the last eight steps. Keys and values come from ``memory`` if it is given, read
    along its dimension ``t``: cross-attention. ``rotary`` is the base of rotary positions.

    The keys and values of earlier steps are tensors like any other: what must be kept of them to
    generate step by step follows from the slice.

    Shapes: x (..., size) over ``t`` -> (..., size); memory (..., size) over ``t``; mask, booleans,
    broadcasts to (..., n) for the n steps of the slice.
    Errors: OptionError if heads do not fill their groups, or for rotary positions of a memory.
    Source: Vaswani et al. 2017, section 3.2; groups: Ainslie et al. 2023, GQA.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> i, t = ot.dims("i t")
    >>> attention = nn.Attention(16, 4, over=i, groups=2)
    >>> attention(ot.input("x", shape=(16,), over=t), t)
    <float32[16] over (i, t)>
    """

    def __init__(
        self,
        size: Count,
        heads: Count,
        over: Over = (),
        *,
        groups: Count | None = None,
        head_size: Count | None = None,
        rotary: Positive | None = None,
        bias: bool = False,
        name: str = "attention",
    ) -> None:
        self._groups = heads if groups is None else groups
        self._heads = heads
        self._rotary = rotary
        if heads % self._groups or (head_size is None and size % heads):
            fact = f"attention of size {size} with {heads} heads in {self._groups} groups"
            remedy = "Use a number of heads that the groups divide, and that divides the size."
            raise OptionError(fact, remedy, place())
        self._head_size = size // heads if head_size is None else head_size
        wide, narrow = heads * self._head_size, self._groups * self._head_size

        def layer(part: str, inputs: int, outputs: int) -> Linear:
            return Linear(
                inputs, outputs, over, bias=bias, init=glorot_uniform, name=f"{name}_{part}"
            )

        self.query = layer("query", size, wide)
        self.key = layer("key", size, narrow)
        self.value = layer("value", size, narrow)
        self.output = layer("output", wide, size)

    def __call__(
        self,
        x: Tensor,
        t: Dimension,
        steps: slice | None = None,
        *,
        memory: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        source = x if memory is None else memory
        query, key, value = self._split(self.query(x)), self.key(source), self.value(source)
        key, value = self._split(key), self._split(value)
        if self._rotary is not None:
            if memory is not None:
                fact = "rotary positions of a query and of a memory's keys, along two dimensions"
                raise OptionError(fact, "Leave rotary out, or rotate by `nn.rope`.", place())
            query, key = (rope(part, index(t), base=self._rotary) for part in (query, key))
        seen = slice(0, t + 1) if steps is None else steps
        keys, values = (_last_but_one(part.at(**{t.name: seen})) for part in (key, value))
        lead = x.shape[:-1]
        rows = (*lead, self._groups, self._heads // self._groups, self._head_size)
        masked = None if mask is None else mask[..., None, None, :]
        out = attend(query.reshape(rows), keys, values, masked)
        return self.output(out.reshape((*lead, self._heads * self._head_size)))

    def _split(self, x: Tensor) -> Tensor:
        """The last axis as (heads, features)."""
        return x.reshape((*x.shape[:-1], -1, self._head_size))


def _last_but_one(x: Tensor) -> Tensor:
    """The axis of steps moved from the front, (n, ..., head, d) to (..., head, n, d)."""
    return x.transpose(*range(1, x.ndim - 1), 0, x.ndim - 1)

"""Rotary position embedding."""

from __future__ import annotations

from ostinato.language.functions.basic import concatenate, cos, expand_dims, sin, stack
from ostinato.language.kinds import Positive
from ostinato.language.tensor import Tensor, as_tensor, constant
from ostinato.pdg.errors import ShapeError
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

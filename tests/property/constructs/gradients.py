"""Gradients beside values: a program may use both."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct


def loss_of(y: Tensor, scale: float = 0.1) -> Tensor:
    """The sum of squares over every axis and every dim."""
    per_point = (y * y).sum() if y.ndim else y * y
    dims = per_point.node.domain
    whole = per_point[tuple(slice(None) for _ in dims)].sum() if dims else per_point
    return whole * scale


@construct("gradients")
def gradient_of_all(w: Workshop, s: Step) -> Tensor | None:
    """The gradient of a loss over all points, kept small."""
    x, y = w.pool[s.b % len(w.pool)], w.real(s)
    if x.dtype != w.dtype or x is y:
        return None
    return ot.tanh(ot.grad(loss_of(y), x)) + x


@construct("gradients")
def gradient_at_a_point(w: Workshop, s: Step) -> Tensor | None:
    """The gradient of a loss that each point has for itself."""
    x, y = w.pool[s.b % len(w.pool)], w.real(s)
    if x.dtype != w.dtype or x is y:
        return None
    return ot.tanh(ot.grad((y * y).sum() * 0.1 if y.ndim else y * y, x)) * 0.5 + x


@construct("gradients")
def descent(w: Workshop, s: Step) -> Tensor | None:
    """A weight that learns along a dim from a tensor over it."""
    d, x = w.along(s), w.real(s)
    if d is None or any(not n.is_const for n in x.node.shape):
        return None
    weight = ot.recurrent(f"w{w.number}", shape=x.shape, dtype=x.dtype, over=(d,))
    weight[0] = 0.0
    error = weight - x
    rest = [e for e in x.node.domain if e.name != d.name]
    at = tuple(slice(None) if e in rest else d for e in error.node.domain)
    per_step = error[at] if rest else error
    weight[d + 1] = weight - 0.2 * ot.grad((per_step**2).sum() * 0.1, weight)
    return weight


@construct("gradients")
def directional(w: Workshop, s: Step) -> Tensor | None:
    """The derivative of a tensor along a direction that another gives."""
    x, y = w.pool[s.b % len(w.pool)], w.real(s)
    if x.dtype != w.dtype or x is y:
        return None
    return ot.tanh(ot.jvp(y, x, ot.cos(x))) * 0.5 + y


@construct("gradients")
def hessian_times_vector(w: Workshop, s: Step) -> Tensor | None:
    x, y = w.pool[s.b % len(w.pool)], w.real(s)
    if x.dtype != w.dtype or x is y:
        return None
    return ot.tanh(ot.hvp(loss_of(y), x, ot.cos(x))) * 0.5 + x


@construct("gradients")
def own_derivative(w: Workshop, s: Step) -> Tensor:
    """Rounding with the derivative of the identity."""

    @ot.custom_gradient
    def rounded(x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        return ot.round(x * 4.0) * 0.25, lambda upstream: upstream

    return rounded(w.real(s))

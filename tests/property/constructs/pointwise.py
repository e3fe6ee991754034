"""Elementwise functions of one and two tensors."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct

UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": ot.tanh,
    "sin": ot.sin,
    "cos": ot.cos,
    "sigmoid": ot.sigmoid,
    "silu": ot.silu,
    "gelu": ot.gelu,
    "softplus": ot.softplus,
    "abs": ot.abs,
    "neg": lambda x: -x,
    "square": lambda x: x * x * 0.5,
    "relu": lambda x: ot.relu(x - 0.25),
    "exp": lambda x: ot.exp(ot.minimum(x, 1.5)),
    "expm1": lambda x: ot.expm1(ot.tanh(x)),
    "log": lambda x: ot.log(x * x + 0.5),
    "log1p": lambda x: ot.log1p(ot.abs(x)),
    "sqrt": lambda x: ot.sqrt(ot.abs(x) + 0.1),
    "cube": lambda x: ot.tanh(x) ** 3,
    "floor": lambda x: ot.floor(x * 2.0) * 0.5 + x,
    "ceil": lambda x: ot.ceil(x * 2.0) * 0.5,
    "round": lambda x: ot.round(x * 2.0) - x,
    "sign": lambda x: ot.sign(x) * 0.5 + x,
    "clip": lambda x: ot.clip(x, -0.5, 0.7),
    "stop_gradient": lambda x: ot.stop_gradient(x) * 0.5 + x,
    "rest": lambda x: x % 0.75,
}

BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y * 0.5,
    "mul": lambda x, y: ot.tanh(x) * y,
    "div": lambda x, y: x / (y * y + 0.5),
    "minimum": ot.minimum,
    "maximum": ot.maximum,
    "where": lambda x, y: ot.where(x > 0.1, y, x * 0.3),
    "where_both": lambda x, y: ot.where((x > y) | ~(x < 0.5), x, y * 0.5),
    "pow": lambda x, y: (ot.abs(x) + 0.5) ** ot.tanh(y),
}


@construct("pointwise", *UNARY)
def unary(w: Workshop, s: Step) -> Tensor:
    return UNARY[s.op](w.real(s))


@construct("pointwise", *BINARY)
def binary(w: Workshop, s: Step) -> Tensor | None:
    y = w.other(s)
    return None if y is None else BINARY[s.op](w.real(s), y)


@construct("pointwise")
def index(w: Workshop, s: Step) -> Tensor:
    return w.real(s) + ot.index(w.dim(s)).cast(w.dtype) * 0.125

"""Elementwise functions of one and two tensors."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.tensor import Tensor
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
    "arctan": ot.arctan,
    "arcsin": lambda x: ot.arcsin(ot.tanh(x) * 0.9),
    "arccos": lambda x: ot.arccos(ot.tanh(x) * 0.9) * 0.5,
    "sinh": lambda x: ot.sinh(ot.tanh(x)),
    "cosh": lambda x: ot.cosh(ot.tanh(x)) - 1.0,
    "arcsinh": ot.arcsinh,
    "arccosh": lambda x: ot.arccosh(ot.abs(x) + 1.1),
    "arctanh": lambda x: ot.arctanh(ot.tanh(x) * 0.8) * 0.5,
    "tan": lambda x: ot.tan(ot.tanh(x)),
    "exp2": lambda x: ot.exp2(ot.minimum(x, 2.0)) * 0.5,
    "log2": lambda x: ot.log2(ot.abs(x) + 0.5),
    "log10": lambda x: ot.log10(ot.abs(x) + 0.5),
    "rsqrt": lambda x: ot.rsqrt(x * x + 0.5),
    "reciprocal": lambda x: ot.reciprocal(ot.abs(x) + 0.7),
    "erf": ot.erf,
    "erfc": lambda x: ot.erfc(x) * 0.5,
    "lgamma": lambda x: ot.lgamma(ot.abs(x) + 0.6),
    "digamma": lambda x: ot.digamma(ot.abs(x) + 0.8) * 0.5,
    "trunc": lambda x: ot.trunc(x * 2.0) * 0.5 + x,
    "elu": ot.elu,
    "mish": ot.mish,
    "leaky_relu": ot.leaky_relu,
    "hard_tanh": ot.hard_tanh,
    "softsign": ot.softsign,
    "finite": lambda x: ot.nan_to_num(ot.where(x > 0.9, x / 0.0, x), 0.25, 0.5, -0.5),
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
    "where_mixed": lambda x, y: ot.where(((x > y) | (x < -0.5)) & ~(y > 0.5), x, y * 0.5),
    "arctan2": lambda x, y: ot.arctan2(x + 1.5, y),
    "hypot": lambda x, y: ot.hypot(x, y + 0.1) * 0.7,
    "logaddexp": ot.logaddexp,
    "fmod": lambda x, y: ot.fmod(x, ot.abs(y) + 0.4),
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

"""Ostinato: a compiler for recurrent-tensor programs.

Write equations for one point of time; get one compiled program for all of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ostinato import random
from ostinato.activations import (
    elu,
    hard_tanh,
    leaky_relu,
    mish,
    softsign,
)
from ostinato.carries import CarriedRecord, Carry, carried, carry
from ostinato.custom import custom_gradient
from ostinato.dims import Condition, Dimension, IndexExpression, dims
from ostinato.elementary import (
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    cosh,
    digamma,
    erf,
    erfc,
    exp2,
    fmod,
    hypot,
    isinf,
    isnan,
    lgamma,
    log2,
    log10,
    logaddexp,
    nan_to_num,
    reciprocal,
    rsqrt,
    sinh,
    trunc,
)
from ostinato.experiment import Experiment, Solved
from ostinato.functions import (
    abs,
    arange,
    broadcast_to,
    ceil,
    clip,
    concatenate,
    cos,
    cumsum,
    discounted_sum,
    exp,
    expand_dims,
    expm1,
    flip,
    floor,
    full,
    gelu,
    index,
    isfinite,
    log,
    log1p,
    log_softmax,
    logical_and,
    logical_not,
    logical_or,
    logsumexp,
    matmul,
    maximum,
    minimum,
    one_hot,
    ones,
    relu,
    reshape,
    round,
    sigmoid,
    sign,
    silu,
    sin,
    softmax,
    softplus,
    sqrt,
    square,
    squeeze,
    stack,
    stop_gradient,
    swapaxes,
    take,
    take_along_axis,
    tan,
    tanh,
    transpose,
    unstack,
    where,
    zeros,
)
from ostinato.gradient import grad, hvp, jvp, vjp
from ostinato.pdg.errors import OstinatoError
from ostinato.program import Program
from ostinato.record import Record, RecurrentRecord
from ostinato.recurrent import Recurrent, input, recurrent
from ostinato.tensor import Tensor, constant

if TYPE_CHECKING:
    from ostinato import nn, optim, rl
    from ostinato.rewrite.registry import RuleSet

    rules: RuleSet

__all__ = [
    "CarriedRecord",
    "Carry",
    "Condition",
    "Dimension",
    "Experiment",
    "IndexExpression",
    "OstinatoError",
    "Program",
    "Record",
    "Recurrent",
    "RecurrentRecord",
    "Solved",
    "Tensor",
    "abs",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "broadcast_to",
    "carried",
    "carry",
    "ceil",
    "clip",
    "concatenate",
    "constant",
    "cos",
    "cosh",
    "cumsum",
    "custom_gradient",
    "digamma",
    "dims",
    "discounted_sum",
    "elu",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "flip",
    "floor",
    "fmod",
    "full",
    "gelu",
    "grad",
    "hard_tanh",
    "hvp",
    "hypot",
    "index",
    "input",
    "isfinite",
    "isinf",
    "isnan",
    "jvp",
    "leaky_relu",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logsumexp",
    "matmul",
    "maximum",
    "minimum",
    "mish",
    "nan_to_num",
    "nn",
    "one_hot",
    "ones",
    "optim",
    "random",
    "reciprocal",
    "recurrent",
    "relu",
    "reshape",
    "rl",
    "round",
    "rsqrt",
    "rules",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "softsign",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stop_gradient",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "transpose",
    "trunc",
    "unstack",
    "vjp",
    "where",
    "zeros",
]

_LATER = ("nn", "optim", "rl")


def __getattr__(name: str) -> object:
    """Import the larger parts at their first use."""
    if name in _LATER:
        return importlib.import_module(f"ostinato.{name}")
    if name == "rules":
        from ostinato.rewrite.registry import every_rule

        return every_rule()
    raise AttributeError(f"module 'ostinato' has no attribute {name!r}")

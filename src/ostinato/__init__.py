"""Ostinato: a compiler for recurrent-tensor programs.

Write equations for one point of time; get one compiled program for all of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ostinato import random
from ostinato.custom import custom_gradient
from ostinato.dims import Condition, Dimension, IndexExpression, dims
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
    "broadcast_to",
    "ceil",
    "clip",
    "concatenate",
    "constant",
    "cos",
    "cumsum",
    "custom_gradient",
    "dims",
    "discounted_sum",
    "exp",
    "expand_dims",
    "expm1",
    "flip",
    "floor",
    "full",
    "gelu",
    "grad",
    "hvp",
    "index",
    "input",
    "isfinite",
    "jvp",
    "log",
    "log1p",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logsumexp",
    "matmul",
    "maximum",
    "minimum",
    "nn",
    "one_hot",
    "ones",
    "optim",
    "random",
    "recurrent",
    "relu",
    "reshape",
    "rl",
    "round",
    "rules",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softmax",
    "softplus",
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

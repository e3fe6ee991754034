"""Elementwise functions and folds as operators of ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from ostinato.pdg.functions import FLOATS
from ostinato.pdg.node import Dtype, Node

SAME: Mapping[str, str] = {
    "abs": "Abs", "add": "Add", "and": "And", "ceil": "Ceil", "cos": "Cos", "div": "Div",
    "eq": "Equal", "erf": "Erf", "exp": "Exp", "floor": "Floor", "ge": "GreaterOrEqual",
    "gt": "Greater", "le": "LessOrEqual", "log": "Log", "lt": "Less", "maximum": "Max",
    "minimum": "Min", "mul": "Mul", "neg": "Neg", "not": "Not", "or": "Or", "pow": "Pow",
    "round": "Round", "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "sqrt": "Sqrt",
    "stop_gradient": "Identity", "sub": "Sub", "tan": "Tan", "tanh": "Tanh", "where": "Where",
}  # fmt: skip
FOLDS: Mapping[str, str] = {
    "sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin",
    "any": "ReduceMax", "all": "ReduceMin", "argmax": "ArgMax", "argmin": "ArgMin",
}  # fmt: skip


class Writer(Protocol):
    """Writes operators into a graph; values are named."""

    def op(self, kind: str, *args: str, **attributes: object) -> str: ...

    def number(self, value: float, dtype: Dtype) -> str: ...

    def cast(self, value: str, dtype: Dtype) -> str: ...


Made = Callable[[Writer, Node, list[str]], str]


def _log1p(w: Writer, node: Node, args: list[str]) -> str:
    return w.op("Log", w.op("Add", args[0], w.number(1.0, node.dtype)))


def _expm1(w: Writer, node: Node, args: list[str]) -> str:
    return w.op("Sub", w.op("Exp", args[0]), w.number(1.0, node.dtype))


def _exp2(w: Writer, node: Node, args: list[str]) -> str:
    return w.op("Pow", w.number(2.0, node.dtype), args[0])


def _log2(w: Writer, node: Node, args: list[str]) -> str:
    return w.op("Div", w.op("Log", args[0]), w.number(float(np.log(2.0)), node.dtype))


def _erfc(w: Writer, node: Node, args: list[str]) -> str:
    return w.op("Sub", w.number(1.0, node.dtype), w.op("Erf", args[0]))


def _ne(w: Writer, node: Node, args: list[str]) -> str:
    return w.op("Not", w.op("Equal", *args))


def _isfinite(w: Writer, node: Node, args: list[str]) -> str:
    return w.op("Not", w.op("Or", w.op("IsInf", args[0]), w.op("IsNaN", args[0])))


def _left_over(w: Writer, node: Node, args: list[str]) -> tuple[str, str]:
    """What is left over with the sign of the dividend, and whether that is not the divisor's."""
    zero = w.number(0, node.dtype)
    rest = w.op("Mod", *args, fmod=1)
    other = w.op("Xor", w.op("Less", rest, zero), w.op("Less", args[1], zero))
    return rest, w.op("And", w.op("Not", w.op("Equal", rest, zero)), other)


def _floordiv(w: Writer, node: Node, args: list[str]) -> str:
    """The quotient rounded down, by way of what is left over, which is exact."""
    if node.dtype not in FLOATS:
        return w.op("Div", w.op("Sub", args[0], w.op("Mod", *args)), args[1])
    rest, is_other = _left_over(w, node, args)
    whole = w.op("Div", w.op("Sub", args[0], rest), args[1])
    below = w.op("Sub", whole, w.number(1, node.dtype))
    found = w.op("Round", w.op("Where", is_other, below, whole))
    is_zero = w.op("Equal", args[1], w.number(0, node.dtype))
    return w.op("Where", is_zero, w.op("Div", *args), found)


def _mod(w: Writer, node: Node, args: list[str]) -> str:
    """What is left over, with the sign of the divisor."""
    if node.dtype not in FLOATS:
        return w.op("Mod", *args)
    rest, is_other = _left_over(w, node, args)
    return w.op("Where", is_other, w.op("Add", rest, args[1]), rest)


def _cast(w: Writer, node: Node, args: list[str]) -> str:
    return w.cast(args[0], node.dtype)


COMPOSED: Mapping[str, Made] = {
    "cast": _cast, "erfc": _erfc, "exp2": _exp2, "expm1": _expm1, "floordiv": _floordiv,
    "isfinite": _isfinite, "log1p": _log1p, "log2": _log2, "mod": _mod, "ne": _ne,
}  # fmt: skip

"""Identities of elementary functions, by sympy: every leaf is a real number."""

from __future__ import annotations

import importlib
from fractions import Fraction
from functools import cache
from typing import Any

from ostinato.rewrite.prove.application import Call, Number, Value, key
from ostinato.rewrite.prove.normal import height, real

_OWN = frozenset(("exp", "log", "sqrt", "sin", "cos", "tan", "tanh"))  # sympy's by the same name
_OTHER = frozenset(("add", "sub", "mul", "div", "pow", "neg", "log1p", "expm1", "sigmoid")) | (
    frozenset(("abs", "maximum", "minimum", "stop_gradient", "cast:real"))
)


def equal_scalars(left: Value, right: Value) -> bool:
    """Whether two elements without folds are equal for all real values of their leaves."""
    if height(left) or height(right):
        return False
    gap = _sympy().simplify(_expression(left) - _expression(right))
    return bool(gap == 0)


@cache
def _sympy() -> Any:  # an untyped library
    return importlib.import_module("sympy")


def _expression(value: Value) -> Any:
    match value:
        case Number(of) if isinstance(of, Fraction):
            return _sympy().Rational(of.numerator, of.denominator)
        case Number():
            return _sympy().Symbol(key(value), integer=True)
        case Call(fn, args) if fn in _OWN | _OTHER:
            a, b = map(_expression, (args[0], args[-1]))
            return _apply(fn, a, b)
        case _:
            return _sympy().Symbol(key(real(value)), real=True)


def _apply(fn: str, a: Any, b: Any) -> Any:
    s = _sympy()
    match fn:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul":
            return a * b
        case "div":
            return a / b
        case "pow":
            return a**b
        case "neg":
            return -a
        case "log1p":
            return s.log(1 + a)
        case "expm1":
            return s.exp(a) - 1
        case "sigmoid":
            return 1 / (1 + s.exp(-a))
        case "abs" | "maximum" | "minimum":
            found = getattr(s, {"abs": "Abs", "maximum": "Max", "minimum": "Min"}[fn])
            return found(a) if fn == "abs" else found(a, b)
        case "stop_gradient" | "cast:real":
            return a
        case _:
            return getattr(s, fn)(a)

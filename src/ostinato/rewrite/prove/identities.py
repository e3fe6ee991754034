"""Identities of elementary functions, by sympy: every leaf is a real number."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from ostinato.rewrite.prove.application import Call, Number, Value, key
from ostinato.rewrite.prove.normal import height, real

Meaning = Callable[[Any, Any, Any], Any]  # of sympy and the first and the last operand


def _own(name: str) -> Meaning:
    return lambda s, a, b: getattr(s, name)(a)


_MEANING: dict[str, Meaning] = {
    **{fn: _own(fn) for fn in ("exp", "log", "sqrt", "sin", "cos", "tan", "tanh")},
    "abs": _own("Abs"),
    "add": lambda s, a, b: a + b,
    "sub": lambda s, a, b: a - b,
    "mul": lambda s, a, b: a * b,
    "div": lambda s, a, b: a / b,
    "pow": lambda s, a, b: a**b,
    "neg": lambda s, a, b: -a,
    "log1p": lambda s, a, b: s.log(1 + a),
    "expm1": lambda s, a, b: s.exp(a) - 1,
    "sigmoid": lambda s, a, b: 1 / (1 + s.exp(-a)),
    "maximum": lambda s, a, b: s.Max(a, b),
    "minimum": lambda s, a, b: s.Min(a, b),
    "stop_gradient": lambda s, a, b: a,
    "cast:real": lambda s, a, b: a,
}


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
        case Call(fn, args) if fn in _MEANING:
            return _MEANING[fn](_sympy(), _expression(args[0]), _expression(args[-1]))
        case _:
            return _sympy().Symbol(key(real(value)), real=True)

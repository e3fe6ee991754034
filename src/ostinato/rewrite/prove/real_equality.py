"""Equality of elements over the reals, beyond that of their normal forms.

- Elements that choose by a truth value are equal if they are where it holds and where not.
- Sums of products and quotients are equal as fractions of parts of sums. A count of steps times its
  inverse is 1, whatever the count is made of: what is left once no term has a denominator is
  compared as a polynomial.
- Sums with powers of the summed index are cut in parts, whose powers have a common factor:
  ``sum_{v < m + n} g^v x[v] = sum_{v < m} g^v x[v] + g^m sum_{v < n} g^v x[m + v]``.
- Products over ranges of steps: of products, of powers, of what does not vary, in either order.
- Identities of elementary functions, by sympy: every leaf is a real number.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

from ostinato.rewrite.prove.application import (
    Call,
    Choice,
    Fold,
    Leaf,
    Less,
    Number,
    Value,
    free,
    key,
    number,
    operands,
    rename,
)
from ostinato.rewrite.prove.integers import Poly, Var, is_less, never_negative, poly
from ostinato.rewrite.prove.normal import Ring, height, plus, real, ring, term, times
from ostinato.rewrite.prove.range_folds import in_segments


def by_cases(left: Value, right: Value) -> bool:
    """Whether two elements are equal over the reals for each value of the truths they ask for."""
    asked = _asked(left) or _asked(right)
    if asked is None:
        return key(real(left)) == key(real(right))
    return all(
        by_cases(*(_given(v, asked, holds) for v in (left, right))) for holds in (True, False)
    )


def _asked(value: Value) -> Value | None:
    """A truth value, outside of folds, on which a choice depends."""
    match value:
        case Call("where", (Leaf() | Call("ge" | "and" | "or") as asked, _, _)):
            return asked
        case Call("cast:real", (Call("ge") as asked,)):
            return asked
        case Call("cast:real", (Leaf() as asked,)) if asked.is_truth:
            return asked
        case Call(_, args):
            return next((found for a in args if (found := _asked(a))), None)
        case _:
            return None


def _given(value: Value, asked: Value, holds: bool) -> Value:
    """The value where a truth is known."""
    match value:
        case Call("where", (test, yes, no)) if test == asked:
            return _given(yes if holds else no, asked, holds)
        case Call("cast:real", (test,)) if test == asked:
            return number(int(holds))
        case Call(fn, args):
            return Call(fn, tuple(_given(a, asked, holds) for a in args))
        case _:
            return value


def fractions_in_segments(left: Value, right: Value) -> bool:
    """Whether two elements are equal over the reals wherever no denominator is zero.

    Sums over ranges of one history are cut where any of them begins or ends.
    """
    if not (divides(left) or divides(right)):
        return False
    parts = in_segments(real(left), real(right), real)
    return parts is not None and equal_fractions(*parts)


def equal_fractions(left: Value, right: Value) -> bool:
    """Whether two elements are equal over the reals once nothing is divided."""
    minus_one = term((), Fraction(-1))
    return not _cleared(plus(ring(left), times(minus_one, ring(right))))


def divides(value: Value) -> bool:
    """Whether a value has a denominator."""
    divided = isinstance(value, Call) and value.fn == "div"
    return divided or any(map(divides, operands(value)))


def _is_inverse(value: Value) -> bool:
    return isinstance(value, Call) and value.fn == "inverse"


def _cleared(r: Ring) -> Ring:
    """A multiple of a sum of products in which nothing is divided."""
    below = [Counter(key(f) for f in factors if _is_inverse(f)) for factors, _ in r.values()]
    most = Counter[str]()
    for one in below:
        most |= one
    known = {key(f): ring(operands(f)[0]) for fs, _ in r.values() for f in fs if _is_inverse(f)}
    out: Ring = {}
    for (factors, k), has in zip(r.values(), below, strict=True):
        part = term([f for f in factors if not _is_inverse(f)], k)
        for name, count in (most - has).items():
            for _ in range(count):
                part = times(part, known[name])
        out = plus(out, part)
    return out


_FEW = 2


def equal_in_parts(left: Value, right: Value) -> bool:
    """Whether a weighted sum is that of the parts on the right, over the reals."""
    match left:
        case Fold("sum", (v,), body) if v.size is not None:
            parts = _parts(v, v.size, body, [fold.over[0] for fold in _folds(right)])
            return parts is not None and key(real(parts)) == key(real(_counted(right)))
        case _:
            return False


def _folds(value: Value) -> Iterator[Fold]:
    """Sums over one variable, from left to right."""
    if isinstance(value, Fold) and value.fn == "sum" and len(value.over) == 1:
        yield value
    elif isinstance(value, Call):
        for part in operands(value):
            yield from _folds(part)


def _parts(v: Var, size: Poly, body: Value, others: list[Var]) -> Value | None:
    """The sum with parts as long as other sums, and a few single elements."""
    out: list[Value] = []
    done = poly(0)
    for other in others:
        if other.size is not None and never_negative(size - done - other.size):
            part = Var(f"{v.name}.{len(out)}", other.size)
            out.append(Fold("sum", (part,), _apart(rename(body, {v: done + part}), part)))
            done = done + other.size
    rest = (size - done).constant
    if rest is None or not 0 <= rest <= _FEW:
        return None
    out += [rename(body, {v: done + k}) for k in range(rest)]
    whole: Value = Number(poly(0))
    for one in out:
        whole = Call("add", (whole, one))
    return whole


def _counted(value: Value) -> Value:
    """The value with sums of counts in exponents as one count."""
    match value:
        case Call("pow", (base, power)):
            count = _count(power)
            return value if count is None else Call("pow", (base, Number(count)))
        case Call(fn, args):
            return Call(fn, tuple(map(_counted, args)))
        case _:
            return value


def _count(value: Value) -> Poly | None:
    match value:
        case Number(Poly() as of):
            return of
        case Call("cast:real", (of,)):
            return _count(of)
        case Call("add", (a, b)):
            first, second = _count(a), _count(b)
            return None if first is None or second is None else first + second
        case _:
            return None


def _apart(value: Value, v: Var) -> Value:
    """Powers of a sum as products of powers."""
    match value:
        case Call("pow", (base, Call("cast:real", (power,)))):
            return _apart(Call("pow", (base, power)), v)
        case Call("pow", (base, Number(Poly() as power))) if v not in (power - v).variables():
            rest = Call("pow", (base, Number(power - v)))
            return Call("mul", (rest, Call("pow", (base, Number(poly(v))))))
        case Call(fn, args):
            return Call(fn, tuple(_apart(a, v) for a in args))
        case _:
            return value


_PRODUCTS = ("prod", "scan prod")


def spread(value: Value) -> Value:
    """The value with products over ranges taken apart, each in the order of the lesser name."""
    match value:
        case Fold(fn, over, body) if fn in _PRODUCTS and len(over) == 1:
            return _spread(Fold(fn, over, spread(body)))
        case Call(fn, args):
            return Call(fn, tuple(map(spread, args)))
        case _:
            return value


def _spread(fold: Fold) -> Value:
    (v,), body = fold.over, fold.body
    assert v.size is not None, "a product has an end"
    match body:
        case Call(("mul" | "div") as fn, args):
            return Call(fn, tuple(_spread(Fold(fold.fn, fold.over, a)) for a in args))
        case Choice(Less(low, high), yes, no) if (holds := is_less(low, high)) is not None:
            return _spread(Fold(fold.fn, fold.over, yes if holds else no))
        case Call("exp", (x,)):
            return Call("exp", (Fold("sum", fold.over, x),))
        case Number(of) if of == 1:
            return body
        case _ if v not in free(body):
            return Call("pow", (body, Number(v.size)))
        case _:
            other = Fold(fold.fn, fold.over, rename(body, {v: v.size - 1 - poly(v)}))
            return min(fold, other, key=lambda f: key(real(f)))


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

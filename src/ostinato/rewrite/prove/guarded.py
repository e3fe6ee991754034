"""Sums of what a comparison with the summed index lets through, as sums over the indices it does.

``sum_{s < n} where(s >= d, u[s], 0) v[s] = sum_{k < n - d} u[d + k] v[d + k]`` for 0 <= d <= n.
Sums of powers whose exponents count down begin at the other end:
``sum_{s <= d} g^(d - s) v[s] = sum_{k <= d} g^k v[d - k]``.
"""

from __future__ import annotations

from fractions import Fraction

from ostinato.rewrite.prove.application import Call, Fold, Number, Value, rename
from ostinato.rewrite.prove.integers import Poly, Var, never_negative, poly


def restricted(value: Value) -> Value:
    """The value with the ranges of guarded sums cut, and integers computed."""
    match value:
        case Fold(("sum" | "dot"), (v,), Call("mul", (Call("where", (test, yes, no)), other))):
            return _cut(v, test, (yes, no, other)) or value
        case Fold(("sum" | "dot"), (v,), Call("mul", (other, Call("where", (test, yes, no))))):
            return _cut(v, test, (yes, no, other)) or value
        case Fold(("sum" | "dot"), (v,), body) if v.size and _counts_down(computed(body), v):
            rest = Var(f"{v.name}<", v.size)
            return Fold("sum", (rest,), computed(rename(body, {v: v.size - 1 - rest})))
        case Fold(("prod" | "scan prod") as fn, (v,), Call("where", (test, yes, Number(of)))) if (
            of == 1 and (span := _span(v, computed(test))) is not None
        ):
            first, size, sign = span
            rest = Var(f"{v.name}>", size)
            return Fold(fn, (rest,), computed(rename(yes, {v: poly(rest) * sign + first})))
        case Call(fn, args):
            return Call(fn, tuple(map(restricted, args)))
        case _:
            return value


def _cut(v: Var, test: Value, parts: tuple[Value, Value, Value]) -> Value | None:
    yes, no, other = parts
    match _span(v, test), no:
        case (first, size, sign), Number(of) if of == 0:
            rest = Var(f"{v.name}>", size)
            body = rename(Call("mul", (yes, other)), {v: poly(rest) * sign + first})
            return Fold("sum", (rest,), computed(body))
        case _:
            return None


def _span(v: Var, test: Value) -> tuple[Poly, Poly, int] | None:
    """The values of a variable that a comparison lets through, as `_let_through` gives them."""
    match test:
        case Call(("ge" | "le") as fn, (a, b)) if v.size is not None:
            left, right = map(_integer, (a, b) if fn == "ge" else (b, a))
            if left is not None and right is not None:
                return _let_through(v, v.size, left - right)
        case _:
            pass
    return None


def _counts_down(value: Value, v: Var) -> bool:
    """Whether there is a power whose exponent is a number less a variable."""
    match value:
        case Call("pow", (_, Call(_, (Number(Poly() as of),)) | Number(Poly() as of))):
            return v in of.variables() and v not in (of + v).variables()
        case Call(_, args):
            return any(_counts_down(a, v) for a in args)
        case _:
            return False


def _let_through(v: Var, size: Poly, gap: Poly) -> tuple[Poly, Poly, int] | None:
    """The values of a variable for which ``gap >= 0``: the first, how many, and in which direction.

    They are counted from where the gap is 0.
    """
    first, last = poly(v) - gap, poly(v) + gap
    if v not in first.variables():
        known = never_negative(first) and never_negative(size - first)
        return (first, size - first, 1) if known else None
    if v not in last.variables():
        known = never_negative(last + 1) and never_negative(size - last - 1)
        return (last, last + 1, -1) if known else None
    return None


def computed(value: Value) -> Value:
    """The value with differences of indices as one index."""
    match value:
        case Call(("ge" | "le" | "gt" | "lt") as fn, (a, b)):
            left, right = _integer(a), _integer(b)
            if left is None or right is None:
                return Call(fn, (computed(a), computed(b)))
            gap = left - right if fn in ("ge", "gt") else right - left
            gap = gap - 1 if fn in ("gt", "lt") else gap
            return Call("ge", (Number(gap), Number(Fraction(0))))
        case Call(fn, args):
            found = _integer(value)
            return Number(found) if found is not None else Call(fn, tuple(map(computed, args)))
        case _:
            return value


def _integer(value: Value) -> Poly | None:
    """The value of a sum or difference of indices."""
    match value:
        case Number(of):
            if isinstance(of, Poly):
                return of
            return poly(of.numerator) if of.denominator == 1 else None
        case Call("sub" | "add" as fn, (a, b)):
            left, right = _integer(a), _integer(b)
            if left is None or right is None:
                return None
            return left - right if fn == "sub" else left + right
        case _:
            return None

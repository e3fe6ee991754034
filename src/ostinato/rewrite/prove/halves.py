"""Sums with powers of the summed index: cut in parts, whose powers have a common factor.

``sum_{v < m + n} g^v x[v] = sum_{v < m} g^v x[v] + g^m sum_{v < n} g^v x[m + v]``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.prove.application import Call, Fold, Number, Value, key, operands, rename
from ostinato.rewrite.prove.integers import Poly, Var, never_negative, poly
from ostinato.rewrite.prove.normal import real

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

"""Folds over ranges of one history, cut where any of them begins or ends.

``sum(x[a:c]) = sum(x[a:b]) + sum(x[b:c])``; of the folds that count repeated elements once, parts
may overlap. Bit for bit only those are cut: the others round in the order in which they fold.

Sums of what a comparison with the summed index lets through are sums over the indices it does:
``sum_{s < n} where(s >= d, u[s], 0) v[s] = sum_{k < n - d} u[d + k] v[d + k]`` for 0 <= d <= n.
Sums of powers whose exponents count down begin at the other end:
``sum_{s <= d} g^(d - s) v[s] = sum_{k <= d} g^k v[d - k]``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cmp_to_key

from ostinato.pdg.functions import REPEATED
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
    operands,
    rename,
)
from ostinato.rewrite.prove.integers import Poly, Var, never_negative, poly
from ostinato.rewrite.prove.normal import real, unit_of
from ostinato.rewrite.relations.meanings import EXACT


def restricted(value: Value) -> Value:
    """The value with the ranges of guarded sums cut, and integers computed."""
    match value:
        case Fold(("sum" | "dot"), (v,), Call("mul", (Call("where", (test, yes, no)), other))):
            return _cut_where(v, test, (yes, no, other)) or value
        case Fold(("sum" | "dot"), (v,), Call("mul", (other, Call("where", (test, yes, no))))):
            return _cut_where(v, test, (yes, no, other)) or value
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


def segmented(value: Value) -> Value:
    """The value with folds over what an order of positions chooses cut where the choice changes.

    Parts in which nothing is folded but what the fold of nothing gives are left out.
    """
    match value:
        case Fold(fn, (v,), Call() as body) if isinstance(lifted := _lifted(body), Choice):
            return segmented(Fold(fn, (v,), lifted))
        case Fold(fn, (v,), Choice() as body) if (side := _side(v, body)) is not None:
            return segmented(Fold(fn, (v,), side))
        case Fold(fn, (v,), body) if (cut := _changes(v, body)) is not None and v.size is not None:
            at, yes, no = cut
            low, high = Var(f"{v.name}l", at), Var(f"{v.name}h", v.size - at)
            parts = [(low, rename(yes, {v: poly(low)})), (high, rename(no, {v: at + high}))]
            unit = unit_of(fn.removeprefix("scan "))
            kept = [segmented(Fold(fn, (w,), x)) for w, x in parts if x != unit]
            kept = [x for x in kept if x != unit]
            join = REPEATED[fn.removeprefix("scan ")]
            return functools.reduce(lambda a, b: Call(join, (a, b)), kept) if kept else unit
        case Call(fn, args):
            return Call(fn, tuple(map(segmented, args)))
        case _:
            return value


def _lifted(value: Value) -> Value:
    """A function of a choice as a choice of the function."""
    match value:
        case Call(fn, args):
            inner = tuple(map(_lifted, args))
            for k, a in enumerate(inner):
                if isinstance(a, Choice):
                    yes, no = ((*inner[:k], side, *inner[k + 1 :]) for side in (a.yes, a.no))
                    return Choice(a.test, _lifted(Call(fn, yes)), _lifted(Call(fn, no)))
            return value
        case _:
            return value


def _side(v: Var, body: Choice) -> Value | None:
    """The side of a choice between positions that all positions take, if they do."""
    match body:
        case Choice(Less(a, b), yes, no) if v.size is not None and v not in (b - a + v).variables():
            at = b - a + v
            return yes if never_negative(at - v.size) else no if never_negative(-at) else None
        case _:
            return None


def _changes(v: Var, body: Value) -> tuple[Poly, Value, Value] | None:
    """Where a choice between the first positions and the others changes, and both sides."""
    match body:
        case Choice(Less(a, b), yes, no) if v.size is not None:
            at = b - a + v
            inside = never_negative(at) and never_negative(v.size - at)
            return (at, yes, no) if v not in at.variables() and inside else None
        case _:
            return None


def _cut_where(v: Var, test: Value, parts: tuple[Value, Value, Value]) -> Value | None:
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


_PLACE = Var("place")
_MOST_ELEMENTS = 4
Form = Callable[[Value], Value]


class _Apart(Exception):
    """Two ends are in no known order."""


def equal_in_segments(left: Value, right: Value, form: Form) -> bool:
    """Whether two values agree once all folds are cut at the same places."""
    parts = in_segments(left, right, form)
    return parts is not None and key(form(parts[0])) == key(form(parts[1]))


def in_segments(left: Value, right: Value, form: Form) -> tuple[Value, Value] | None:
    """Both values with all folds cut at the same places, where these are in order."""
    ends: dict[str, list[Poly]] = {}
    for fold in (*_folds(left, form), *_folds(right, form)):
        for end in _ends(fold):
            known = ends.setdefault(_history(fold, form), [])
            if end not in known:
                known.append(end)
    try:
        ordered = {name: sorted(found, key=cmp_to_key(_order)) for name, found in ends.items()}
    except _Apart:
        return None
    return _cut(left, ordered, form), _cut(right, ordered, form)


def _order(a: Poly, b: Poly) -> int:
    if a == b:
        return 0
    if never_negative(b - a):
        return -1
    if never_negative(a - b):
        return 1
    raise _Apart


def _folds(value: Value, form: Form) -> Iterator[Fold]:
    """Folds over one range that may be cut, outside of other folds."""
    if isinstance(value, Fold):
        if _may_be_cut(value, form):
            yield value
    elif isinstance(value, Call | Choice):
        for part in operands(value):
            yield from _folds(part, form)


def _may_be_cut(fold: Fold, form: Form) -> bool:
    return _start(fold) is not None and (form is real or _bare(fold) in EXACT)


def _start(fold: Fold) -> Poly | None:
    """The first step of a fold over a range of steps."""
    if len(fold.over) != 1 or fold.over[0].size is None or _bare(fold) not in REPEATED:
        return None
    (v,) = fold.over
    for leaf in _leaves(fold.body):
        for _, at in leaf.coordinates:
            if v not in (at - v).variables():
                return at - v
    return None


def _bare(fold: Fold) -> str:
    return fold.fn.removeprefix("scan ")


def _leaves(value: Value) -> Iterator[Leaf]:
    if isinstance(value, Leaf):
        yield value
    for part in operands(value):
        yield from _leaves(part)


def _at(fold: Fold, step: Poly | Var) -> Value:
    """What a fold takes at a step."""
    start = _start(fold)
    assert start is not None, "a fold over no range"
    return rename(fold.body, {fold.over[0]: poly(step) - start})


def _history(fold: Fold, form: Form) -> str:
    return f"{_bare(fold)} {key(form(_at(fold, _PLACE)))}"


def _ends(fold: Fold) -> list[Poly]:
    """Where a range begins and ends, and every place between in a range of a few elements."""
    start, size = _start(fold), fold.over[0].size
    assert start is not None and size is not None, "a fold over no range"
    few = size.constant if size.constant is not None else 0
    between = range(1, few) if few <= _MOST_ELEMENTS else range(0)
    return [start, *(start + k for k in between), start + size]


def _cut(value: Value, ends: dict[str, list[Poly]], form: Form) -> Value:
    match value:
        case Fold() if _may_be_cut(value, form):
            return _joined(value, ends[_history(value, form)])
        case Call(fn, args):
            return Call(fn, tuple(_cut(a, ends, form) for a in args))
        case Choice(test, yes, no):
            return Choice(test, _cut(yes, ends, form), _cut(no, ends, form))
        case _:
            return value


def _joined(fold: Fold, ends: list[Poly]) -> Value:
    """The fold as a combination of the parts between ends."""
    first, last = _ends(fold)[0], _ends(fold)[-1]
    if _order(last, first) <= 0:
        return fold  # nothing is folded
    inner = [e for e in ends if _order(first, e) <= 0 and _order(e, last) <= 0]
    out: Value | None = None
    for a, b in zip(inner, inner[1:], strict=False):
        part = _part(fold, a, b - a)
        out = part if out is None else Call(REPEATED[_bare(fold)], (out, part))
    assert out is not None, "a range has two ends"
    return out


def _part(fold: Fold, start: Poly, size: Poly) -> Value:
    if size.constant == 1:
        return _at(fold, start)
    v = Var("~part", size)
    assert v not in free(fold.body), "names of parts are new"
    return Fold(_bare(fold), (v,), _at(fold, start + v))

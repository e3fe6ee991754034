"""Recurrences: a value that satisfies the equation and its start is the recurrence.

With F the left side, a scan needs F[d] = F[d - 1] + x[d] for d >= 0 (before 0 both sides are
compared as they are), a linear recurrence F[d] = a[d] + g[d] F[d - 1] (or d + 1 in reverse) inside
the box and F = 0 where it starts. Sums are split at the steps that enter and leave. A recurrence F
is what its definition says: at its first step, which reads no other, and at every later one.
"""

from __future__ import annotations

from collections.abc import Callable

from ostinato.pdg.functions import POSITIONS
from ostinato.rewrite.prove.application import (
    Call,
    Choice,
    Fold,
    Less,
    Number,
    Recursion,
    Value,
    free,
    key,
    number,
    rename,
)
from ostinato.rewrite.prove.general import Claims, generalized
from ostinato.rewrite.prove.integers import Poly, Var, never_negative, poly
from ostinato.rewrite.prove.normal import real
from ostinato.rewrite.prove.range_folds import restricted
from ostinato.rewrite.prove.real_equality import (
    by_cases,
    divides,
    equal_fractions,
    fractions_in_segments,
)
from ostinato.rewrite.prove.setting import Point
from ostinato.rewrite.prove.term_meaning import Meaning
from ostinato.rewrite.prove.term_operators import Element, Tensor, thin
from ostinato.rewrite.relations.sexpr import Tree


def by_induction(
    meaning: Meaning, sides: tuple[Tree, Tree], element: Element, claims: Claims
) -> bool:
    """Whether the left side is the scan or the linear recurrence on the right."""

    def follows(now: Value, carried: Value, entering: Value) -> bool:
        pair = now, Call("add", (carried, entering))
        return any(claims.once("a step", _is_step, x) for x in (generalized(*pair), pair))

    left, (setting, point) = meaning.of(sides[0]), (meaning.setting, meaning.setting.point())
    match sides[1]:
        case ("running", '"sum"', name, flag, x) if not meaning.number(flag):
            dim = meaning.dim(name)
            before, here = left.at(point.moved(dim, point[dim] - 1), element), point[dim]
            entering = meaning.of(x).at(point, element)
            return never_negative(here) and follows(left.at(point, element), before, entering)
        case ("running", '"sum"', name, _, x) if setting.inside:
            dim = meaning.dim(name)
            after = left.at(point.moved(dim, point[dim] + 1), element)
            entering = meaning.of(x).at(point, element)
            return follows(left.at(point, element), after, entering)
        case ("lin", name, flag, g, a) if setting.inside and setting.is_first is not None:
            return _by_definition(meaning, sides, element, follows)
        case ("lin", name, flag, g, a) if setting.inside:
            dim, reverse = meaning.dim(name), bool(meaning.number(flag))
            start = setting.extent(dim) if reverse else poly(-1)
            if key(real(restricted(left.at(point.moved(dim, start), element)))) != "0":
                return False
            nearby = point.moved(dim, point[dim] + (1 if reverse else -1))
            factor, body = (_element(meaning.of(t), point, element) for t in (g, a))
            carried = Call("mul", (factor, left.at(nearby, element)))
            return follows(left.at(point, element), carried, body)
        case _:
            return False


def by_steps(left: Value, right: Value) -> bool:
    """Whether the right side is a linear recurrence at any step, and the left side satisfies it."""
    match right:
        case Recursion(reverse, step, factor, body, at, size):
            pass
        case _:
            return False
    here = next((v for v in at.variables() if poly(v) == at), None)
    if here is None or here.size != size or here in free(factor) | free(body):
        return False

    def elsewhere(index: Poly) -> Value:
        return rename(left, {here: index})

    def follows(index: Poly) -> bool:
        gain, entering = (rename(v, {step: index}) for v in (factor, body))
        before = elsewhere(index + (1 if reverse else -1))
        return _equal(elsewhere(index), Call("mul", (gain, before)), entering)

    start, first = (size, size - 1) if reverse else (poly(-1), poly(0))
    if key(real(restricted(elsewhere(start)))) == "0":
        return follows(at)
    if key(real(elsewhere(first))) != key(real(rename(body, {step: first}))):
        return False
    later = poly(Var("later", None, True))
    return follows(size - 1 - later if reverse else later)


def telescoped(value: Value) -> Value:
    """Linear recurrences whose factors are ``exp(h[c - 1] - h[c])`` as sums.

    ``y[e] = sum_{c <= e} exp(h[c] - h[e]) a[c]``. The first step reads no factor, so a factor of
    its own is none.
    """
    match value:
        case Call(fn, args):
            return Call(fn, tuple(map(telescoped, args)))
        case Recursion(False, step, Choice(Less(a, b), power, _), body, at, size):
            from_second = b - a == poly(step) and never_negative(size - at - 1)
            match power:
                case Call("exp", (Call("sub", (before, here)),)) if from_second:
                    pass
                case _:
                    return value
            if key(real(before)) != key(real(rename(here, {step: poly(step) - 1}))):
                return value
            there = Var(f"{step.name}c", at + 1)
            inner, last = rename(here, {step: poly(there)}), rename(here, {step: at})
            weight = Call("exp", (Call("sub", (inner, last)),))
            terms = Call("mul", (weight, rename(body, {step: poly(there)})))
            return Fold("sum", (there,), terms)
        case _:
            return value


def one_step(
    meaning: Meaning, sides: tuple[Tree, Tree], element: Element
) -> tuple[Value, Value] | None:
    """What a recurrence is defined by, and one step of the linear recurrence that it is to be.

    None for other laws.
    """
    match sides:
        case ("rec", str(rec)) as side, ("lin", name, flag, g, a) if (
            rec in meaning.setting.bodies and meaning.setting.is_first is not None
        ):
            pass
        case _:
            return None
    point = meaning.setting.point()
    dim, reverse = meaning.dim(name), bool(meaning.number(flag))
    now = meaning.of(meaning.setting.bodies[rec]).at(point, element)
    entering = _element(meaning.of(a), point, element)
    if meaning.setting.is_first:
        return now, entering
    nearby = point.moved(dim, point[dim] + (1 if reverse else -1))
    before = meaning.of(side).at(nearby, element)
    carried = Call("mul", (_element(meaning.of(g), point, element), before))
    return now, Call("add", (carried, entering))


def _by_definition(
    meaning: Meaning,
    sides: tuple[Tree, Tree],
    element: Element,
    follows: Callable[[Value, Value, Value], bool],
) -> bool:
    """Whether the definition of a recurrence is one step of a linear recurrence."""
    match one_step(meaning, sides, element):
        case (now, Call("add", (carried, entering))) if not meaning.setting.is_first:
            return follows(now, carried, entering)
        case (now, entering):
            return key(real(now)) == key(real(entering))
        case _:
            return False


def _element(x: Tensor, point: Point, element: Element) -> Value:
    return x.at(point, thin(x, element))


def _equal(now: Value, carried: Value, entering: Value) -> bool:
    """Whether ``now = carried + entering``, splitting sums at either end."""
    return _is_step(now, Call("add", (carried, entering))) != ""


def _is_step(now: Value, step: Value) -> str:
    """A method if a value is a sum of two, "" if not: sums are split at either end."""
    match step:
        case Call("add", (carried, entering)):
            now, step = restricted(now), Call("add", (restricted(carried), entering))
        case _:
            raise AssertionError(f"{key(step)} is no step")
    if divides(step):
        is_step = fractions_in_segments(now, step) or _is_step_of_fractions(now, step)
        return "induction" if is_step else ""
    ends = ((first, last) for first in (None, True, False) for last in (None, True, False))
    pairs = [(split(now, a), split(step, b)) for a, b in ends]
    if any(key(real(a)) == key(real(b)) for a, b in pairs):
        return "induction"
    is_place = _has_place(now) and any(by_cases(real(a), real(b)) for a, b in pairs)
    return "induction" if is_place else ""


def _is_step_of_fractions(now: Value, step: Value) -> bool:
    """Whether fractions of sums are equal once the longest sums are split at one end.

    Over the reals first: what is the same for all that is summed leaves a sum.
    """
    match now:
        case Fold("sum", (Var(_, Poly() as size),)) if never_negative(size - 1):
            pass
        case _:
            return False
    values = real(now), real(step)
    pairs = ([_longest_split(v, size, first) for v in values] for first in (True, False))
    return any(equal_fractions(*pair) for pair in pairs)


def _longest_split(value: Value, size: Poly, first: bool) -> Value:
    """Sums of one length with their first, or last, element on its own."""
    match value:
        case Fold("sum", (v,), _) if v.size == size:
            return split(value, first)
        case Call(fn, args):
            return Call(fn, tuple(_longest_split(a, size, first) for a in args))
        case _:
            return value


def _has_place(value: Value) -> bool:
    return isinstance(value, Fold) and value.fn in POSITIONS


def split(value: Value, first: bool | None) -> Value:
    """Sums with their first, or last, element on its own."""
    match value:
        case Fold(("sum" | "scan sum" | "dot") as fn, (v,), body) if (
            first is not None and v.size is not None and never_negative(v.size - 1)
        ):
            rest = Var(f"{v.name}'", v.size - 1)
            at, others = _ends(v.size, rest, first)
            inner = rename(body, {v: others})
            left = Fold(fn, (rest,), _with_first(inner))
            return Call("add", (rename(body, {v: at}), left))
        case Fold(("argmax" | "argmin") as fn, (v,), body) if (
            first is not None and v.size is not None and never_negative(v.size - 1)
        ):
            return _place(fn, v, v.size, body, first)
        case Call(fn, args):
            return Call(fn, tuple(split(a, first) for a in args))
        case _:
            return value


def _place(fn: str, v: Var, size: Poly, body: Value, first: bool) -> Value:
    """Where the best element is: at one end, or where it is among the others.

    The last one has to be beyond the others, which the first one has to reach; a NaN is beyond all
    numbers and reaches NaN.
    """
    rest = Var(f"{v.name}'", size - 1)
    at, others = _ends(size, rest, first)
    end, inner = rename(body, {v: at}), rename(body, {v: others})
    best = Fold(fn.removeprefix("arg"), (rest,), inner)
    elsewhere = Fold(fn, (rest,), inner)
    reaches, passed = ("ge", "le") if fn == "argmax" else ("le", "ge")
    if first:
        found = Call("or", (Call(reaches, (end, best)), Call("ne", (end, end))))
        return Call("where", (found, number(0), Call("add", (number(1), elsewhere))))
    beyond = Call("not", (Call(passed, (end, best)),))
    found = Call("and", (beyond, Call("eq", (best, best))))
    return Call("where", (found, Number(at), elsewhere))


def _with_first(value: Value) -> Value:
    """Running products and sums of what surely has a first element, with it on its own."""
    match value:
        case Fold(("scan prod" | "prod" | "scan sum") as fn, (v,), body) if (
            v.size is not None and never_negative(v.size - 1)
        ):
            rest = Var(f"{v.name}'", v.size - 1)
            left = Fold(fn, (rest,), _with_first(rename(body, {v: poly(rest) + 1})))
            join = "add" if fn == "scan sum" else "mul"
            return Call(join, (rename(body, {v: poly(0)}), left))
        case Call(fn, args):
            return Call(fn, tuple(map(_with_first, args)))
        case Choice(test, yes, no):
            return Choice(test, _with_first(yes), _with_first(no))
        case _:
            return value


def _ends(size: Poly, rest: Var, first: bool) -> tuple[Poly, Poly]:
    return (poly(0), poly(rest) + 1) if first else (size - 1, poly(rest))

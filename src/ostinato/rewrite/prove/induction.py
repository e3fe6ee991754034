"""Linear recurrences: a value that satisfies the equation and its end is the recurrence."""

from __future__ import annotations

from ostinato.rewrite.prove.index import Var, never_negative, poly
from ostinato.rewrite.prove.meaning import Meaning
from ostinato.rewrite.prove.normal import real
from ostinato.rewrite.prove.text import Tree
from ostinato.rewrite.prove.value import Call, Fold, Recursion, Value, key, rename


def by_induction(meaning: Meaning, sides: tuple[Tree, Tree], values: tuple[Value, Value]) -> bool:
    """Whether the left side is the recurrence on the right, step by step inside the box.

    With F the left side: F is 0 one step outside the box, where the recurrence starts, and
    F[d] = a[d] + g[d] F[d - 1] (or d + 1) at every step. Sums are split at the step that enters.
    """
    left, right = values
    if not isinstance(right, Recursion) or not meaning.setting.inside:
        return False
    point = meaning.setting.point()
    dim = next((d for d, p in point.at if p == right.at), None)
    if dim is None:
        return False
    here = point[dim]
    (variable,) = here.variables()
    outside = right.size if right.reverse else poly(-1)
    nearby = here + (1 if right.reverse else -1)
    start = rename(left, {variable: outside})
    if key(real(start)) != "0":
        return False
    there = rename(left, {variable: nearby})
    factor, body = (rename(part, {right.step: here}) for part in (right.factor, right.body))
    step = Call("add", (body, Call("mul", (factor, there))))
    return key(real(first_split(left, right.reverse))) == key(real(step))


def first_split(value: Value, reverse: bool) -> Value:
    """Sums with the element that enters at this step on its own: the first, or the last."""
    match value:
        case Fold(("sum" | "scan sum") as fn, (v,), body) if v.size and never_negative(v.size - 1):
            rest = Var(f"{v.name}'", v.size - 1)
            at, others = (poly(0), poly(rest) + 1) if reverse else (v.size - 1, poly(rest))
            return Call(
                "add", (rename(body, {v: at}), Fold(fn, (rest,), rename(body, {v: others})))
            )
        case Call(fn, args):
            return Call(fn, tuple(first_split(a, reverse) for a in args))
        case _:
            return value

"""Elements that choose by a truth value: equal if they are both where it holds and where not."""

from __future__ import annotations

from ostinato.rewrite.prove.application import Call, Leaf, Value, key, number
from ostinato.rewrite.prove.normal import real


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

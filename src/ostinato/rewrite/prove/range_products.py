"""Products over ranges of steps: of products, of powers, of what does not vary, in either order."""

from __future__ import annotations

from ostinato.rewrite.prove.application import (
    Call,
    Choice,
    Fold,
    Less,
    Number,
    Value,
    free,
    key,
    rename,
)
from ostinato.rewrite.prove.integers import is_less, poly
from ostinato.rewrite.prove.normal import real

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
        case Call("mul", args):
            return Call("mul", tuple(_spread(Fold(fold.fn, fold.over, a)) for a in args))
        case Choice(Less(low, high), yes, no) if (holds := is_less(low, high)) is not None:
            return _spread(Fold(fold.fn, fold.over, yes if holds else no))
        case Call("exp", (x,)):
            return Call("exp", (Fold("sum", fold.over, x),))
        case _ if v not in free(body):
            return Call("pow", (body, Number(v.size)))
        case _:
            other = Fold(fold.fn, fold.over, rename(body, {v: v.size - 1 - poly(v)}))
            return min(fold, other, key=lambda f: key(real(f)))

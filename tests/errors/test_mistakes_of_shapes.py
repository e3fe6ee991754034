"""Positions, axes and shapes that make no sense: line, fact and remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ostinato
from ostinato.pdg import errors
from ostinato.pdg.errors import OstinatoError
from tests.errors.refusal import refusal

# As those write it who use no type checker, which would find many of these.
ot: Any = ostinato

b, i, t = ot.dims("b i t")
x = ot.input("x", (3,), over=t)
y = ot.input("y", (3,), over=t)


MISTAKES: dict[str, tuple[Callable[[], object], type[OstinatoError], str]] = {
    "an axis of a number": (
        lambda: ot.searchsorted(x[t, 0].named("first"), 1.0),
        errors.ShapeError,
        "axis -1 of `first`, which has 0 axes\n  It has no axes: it is scalar.",
    ),
    "a division by zero": (
        lambda: t // 0,
        errors.AffineError,
        "an index is divided (`//`) by 0\n  Divide by a positive integer constant.",
    ),
    "a remainder by a negative number": (
        lambda: t % -3,
        errors.AffineError,
        "an index is divided (`%`) by -3\n  Divide by a positive integer constant.",
    ),
    "a dimension that x does not have": (
        lambda: x.at(b=0),
        errors.DomainError,
        "`x` has no dimension `b`\n  Its dimensions are: t.",
    ),
    "a position without its name": (
        lambda: x.at(3),
        errors.ArgumentError,
        "`at` gets 1 argument by place, it takes none\n  Give them by name: at(name=...).",
    ),
    "a text as an axis": (
        lambda: x.sum("a"),
        errors.ArgumentError,
        "`sum` of `x` gets 'a' for `axis`\n  Give an integer, a list of integers or None.",
    ),
    "an axis that there is not": (
        lambda: x.sum(2),
        errors.ShapeError,
        "axis 2 of `x`, which has 1 axes\n  Use an axis from -1 to 0.",
    ),
    "a float as an axis": (
        lambda: x.sum(0.0),
        errors.ArgumentError,
        "`sum` of `x` gets 0.0 for `axis`\n  Give an integer, a list of integers or None.",
    ),
    "a new axis in the place of a dimension": (
        lambda: x[None, :],
        errors.DomainError,
        "`x` is read at None along dimension `t`\n"
        "  Axes come after the dimensions: `[..., None]` adds the last one.",
    ),
    "a dimension as an axis": (
        lambda: x.sum(t),
        errors.ArgumentError,
        "`sum` of `x` gets `t` for `axis`\n"
        "  Give an integer, a list of integers or None:"
        " `x.at(t=slice(None))` has the points of `t` along axis 0.",
    ),
    "a misspelt parameter": (
        lambda: ot.softmax(x, axs=-1),
        errors.ArgumentError,
        "`softmax` has no parameter `axs`\n  Did you mean `axis`? It takes: x, axis.",
    ),
    "a superfluous argument": (
        lambda: ot.tanh(x, y),
        errors.ArgumentError,
        "`tanh` gets 2 arguments by place, it takes 1\n  It takes: x.",
    ),
    "a missing argument": (
        lambda: ot.reshape(x),
        errors.ArgumentError,
        "`reshape` is called without `shape`\n  Write reshape(x, shape).",
    ),
    "a reshape to another size": (
        lambda: x.reshape(2, 2),
        errors.ShapeError,
        "`x` of shape (3,) reshaped to (2, 2)\n  The number of elements must stay the same.",
    ),
    "a reshape with two open sizes": (
        lambda: x.reshape(-1, -1),
        errors.ShapeError,
        "shape (-1, -1)\n  Leave at most one size as -1.",
    ),
    "a negative size": (
        lambda: ot.zeros(-1),
        errors.ShapeError,
        "shape (-1,) has the size -1\n"
        "  Sizes are integers from 0, or index expressions such as t.size.",
    ),
    "a size that is a float": (
        lambda: ot.zeros(2.5),
        errors.ArgumentError,
        "`zeros` gets 2.5 for `shape`\n  Give an integer, an index expression or a list of these.",
    ),
    "a size that is a tensor": (
        lambda: ot.zeros(x),
        errors.ArgumentError,
        "`zeros` gets `x` for `shape`\n"
        "  Give an integer, an index expression or a list of these: what a tensor"
        " holds is known only when a program runs.",
    ),
    "a shape of 10**36 elements": (
        lambda: ot.zeros((10**18, 10**18)),
        errors.ShapeError,
        "shape (1000000000000000000, 1000000000000000000) has more than "
        "576460752303423488 elements\n"
        "  Give smaller sizes.",
    ),
    "an einsum of too few operands": (
        lambda: ot.einsum("i,i->", x),
        errors.ShapeError,
        "einsum `i,i->` names 2 operands, 1 are given\n"
        "  Give one comma-separated term per operand.",
    ),
    "an einsum without a specification": (
        lambda: ot.einsum(x, y),
        errors.ArgumentError,
        "`einsum` gets `x` for `spec`\n"
        "  Give a text: what a tensor holds is known only when a program runs.",
    ),
    "a concatenation of nothing": (
        lambda: ot.concatenate([]),
        errors.ShapeError,
        "concatenation of nothing\n  Give at least one tensor.",
    ),
    "a concatenation of one tensor": (
        lambda: ot.concatenate(x),
        errors.ArgumentError,
        "`concatenate` gets `x` for `tensors`\n  Give a list.",
    ),
    "a concatenation of other shapes": (
        lambda: ot.concatenate([x, ot.zeros((2, 2))]),
        errors.ShapeError,
        "concatenation of `x` (3,) and the constant 0.0 (2, 2)\n"
        "  All axes but axis -1 must have equal sizes.",
    ),
    "a product of vectors of other lengths": (
        lambda: x @ ot.zeros(4),
        errors.ShapeError,
        "matrix product of `x` (3,) and the constant 0.0 (4,)\n"
        "  The last axis left must equal the last but one right; scalars need "
        "`*`.",
    ),
    "a broadcast of other sizes": (
        lambda: x + ot.zeros(4),
        errors.ShapeError,
        "`add` of `x` (3,) and the constant 0.0 (4,): axis -1 is 3 in `x` and 4 "
        "in the constant 0.0\n"
        "  Make the sizes equal, or 1 where the axis is to be repeated.",
    ),
    "a choice by a float": (
        lambda: ot.where(x, 1.0, 2.0),
        errors.DtypeError,
        "`where` chooses by `x`, which is float32\n  Compare it: ot.where(x > 0, ...).",
    ),
    "a choice between a record and a tensor": (
        lambda: ot.where(x > 0, ot.Record(a=x), x),
        errors.ArgumentError,
        "a choice between a Record and `x`\n"
        "  Give two records with the same fields, or two tensors.",
    ),
    "a clip without a bound": (
        lambda: ot.clip(x, None, 1.0),
        errors.ArgumentError,
        "`clip` of `x` gets None for `low`\n  Give an index expression, a number or a tensor.",
    ),
    "one_hot of floats": (
        lambda: ot.one_hot(x, 3),
        errors.DtypeError,
        "one_hot of `x` (float32)\n  Cast the positions to an integer type.",
    ),
}


@pytest.mark.parametrize(("make", "kind", "text"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_answered_with_place_fact_and_remedy(
    make: Callable[[], object], kind: type[OstinatoError], text: str
) -> None:
    where, _, rest = refusal(kind, make).partition(": ")
    assert where == f"test_mistakes_of_shapes.py:{make.__code__.co_firstlineno}"
    assert rest == text

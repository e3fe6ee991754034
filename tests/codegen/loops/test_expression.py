"""Parentheses stand where Python would group otherwise: the text means what the tree means."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from ostinato.codegen.loops.calls import cast, function
from ostinato.codegen.loops.expression import Expression, Name

Tree = tuple[Any, ...]  # a function and its operands, or a name
Meaning = Callable[..., Any]
LOGIC: dict[str, Meaning] = {"and": bool.__and__, "or": bool.__or__}
TESTS: dict[str, Meaning] = {"lt": operator.lt, "ge": operator.ge, "eq": operator.eq}
SUMS: dict[str, Meaning] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
VALUES = {"a": 7.0, "b": -3.0, "c": 11.0, "yes": True, "no": False}


def where(test: bool, yes: float, no: float) -> float:
    return yes if test else no


MEANING: dict[str, Meaning] = {
    **LOGIC,
    **TESTS,
    **SUMS,
    "not": operator.not_,
    "neg": operator.neg,
    "where": where,
    "count": float,  # a truth value as a number
}


def means(tree: Tree) -> Any:
    fn, *args = tree
    return MEANING[fn](*map(means, args)) if args else VALUES[fn]


def text(tree: Tree) -> Expression:
    fn, *args = tree
    if not args:
        return Name(fn)
    if fn == "count":
        return cast(text(args[0]), "bool", "float64")
    return function(fn, "bool" if fn in LOGIC else "float64", tuple(map(text, args)))


def grown(truths: list[Tree], numbers: list[Tree]) -> tuple[list[Tree], list[Tree]]:
    """Every truth value and every number made of these."""
    more: list[Tree] = [("not", x) for x in truths]
    more += itertools.product(LOGIC, truths, truths)
    more += itertools.product(TESTS, numbers, numbers)
    sums: list[Tree] = [("neg", x) for x in numbers] + [("count", x) for x in truths]
    sums += itertools.product(SUMS, numbers, numbers)
    return more, [*sums, *(("where", test, *numbers[:2]) for test in truths)]


def trees() -> Iterator[Tree]:
    names: list[Tree] = [("yes",), ("no",)]
    constants: list[Tree] = [("a",), ("b",), ("c",)]
    truths, numbers = grown(names, constants)
    for found in grown([*names, *truths], [*constants[:1], *numbers]):
        yield from found


def test_every_text_of_three_levels_means_its_tree() -> None:
    known = {**VALUES, "where": where, "f64": float}
    for tree in trees():
        assert eval(str(text(tree)), known) == means(tree), text(tree)


def test_differences_and_quotients_group_to_the_left() -> None:
    a, b, c = (Name(name) for name in "abc")
    quotient, product = function("div", "float64", (a, b)), function("mul", "float64", (a, b))
    assert str(function("div", "float64", (quotient, c))) == "a / b / c"
    assert str(function("div", "float64", (c, quotient))) == "c / (a / b)"
    assert str(function("div", "float64", (c, product))) == "c / (a * b)"

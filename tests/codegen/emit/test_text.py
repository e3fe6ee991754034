"""Parentheses stand where Python would group otherwise: the text means what the tree means."""

import itertools

import pytest

from ostinato.codegen.cpu.target import function
from ostinato.codegen.emit.text import Text

LOGIC = {"and": lambda a, b: a & b, "or": lambda a, b: a | b}
ARITHMETIC = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}


@pytest.mark.parametrize("first", LOGIC)
@pytest.mark.parametrize("then", LOGIC)
@pytest.mark.parametrize("on_the_left", [True, False])
def test_truth_values_group_as_they_were_joined(first: str, then: str, on_the_left: bool) -> None:
    inner = function(first, "bool", (Text("a"), Text("b")))
    pair = (inner, Text("c")) if on_the_left else (Text("c"), inner)
    text = str(function(then, "bool", pair))
    for a, b, c in itertools.product((False, True), repeat=3):
        of = LOGIC[first](a, b)
        expected = LOGIC[then](*((of, c) if on_the_left else (c, of)))
        assert eval(text, {"a": a, "b": b, "c": c}) == expected, text


@pytest.mark.parametrize("first", ARITHMETIC)
@pytest.mark.parametrize("then", ARITHMETIC)
@pytest.mark.parametrize("on_the_left", [True, False])
def test_numbers_group_as_they_were_joined(first: str, then: str, on_the_left: bool) -> None:
    inner = function(first, "float64", (Text("a"), Text("b")))
    pair = (inner, Text("c")) if on_the_left else (Text("c"), inner)
    of = ARITHMETIC[first](7.0, 3.0)
    expected = ARITHMETIC[then](*((of, 11.0) if on_the_left else (11.0, of)))
    assert eval(str(function(then, "float64", pair)), {"a": 7.0, "b": 3.0, "c": 11.0}) == expected


@pytest.mark.parametrize("compared", ["lt", "ge", "eq"])
def test_a_comparison_of_truth_values_and_one_within_them_keep_apart(compared: str) -> None:
    either = function("or", "bool", (Text("a"), Text("b")))
    outer = function(compared, "bool", (either, Text("c")))
    inner = function("and", "bool", (function(compared, "bool", (Text("a"), Text("b"))), Text("c")))
    tests = {"lt": lambda a, b: a < b, "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b}
    for a, b, c in itertools.product((False, True), repeat=3):
        names = {"a": a, "b": b, "c": c}
        assert eval(str(outer), names) == tests[compared](a | b, c)
        assert eval(str(inner), names) == (tests[compared](a, b) & c)

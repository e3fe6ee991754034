"""Functions that differ in names only are written once, and no others are taken for equal."""

from __future__ import annotations

import pytest

from ostinato.codegen.cpu.llvm_text import Part
from ostinato.codegen.cpu.native import llvm_modules
from ostinato.codegen.loops.expression import Constant, Expression, Name, call
from ostinato.codegen.loops.nameless import nameless
from ostinato.codegen.loops.statements import Block, Body, Definition, Function


def function(x: str, y: str, added: Expression, dtype: str = "float32") -> Function:
    """Reads an element, adds to it, and writes it."""
    out = Block()
    out.let(x, call("load", "memory", 0))
    out.let(y, Name(x) + added)
    out.do(call("store", "memory", 0, Name(y)))
    access = Definition(("load", "store"), "access", (0, 1, dtype))
    return Function(f"{x}{y}", (("memory", "uint8[::1]"),), out.body, (access,), remarks=(x,))


def test_names_and_remarks_make_no_other_function() -> None:
    assert nameless(function("x", "y", Name("x"))) == nameless(function("a", "b", Name("a")))


@pytest.mark.parametrize(
    "other",
    [
        function("x", "y", Constant(1.0)),
        function("x", "y", Constant(True)),
        function("x", "y", Name("x")),
        function("x", "x", Constant(1)),
        function("x", "y", Constant(1), "float64"),
    ],
)
def test_what_is_computed_makes_another_function(other: Function) -> None:
    assert nameless(function("x", "y", Constant(1))) != nameless(other)


def test_zeros_of_both_signs_are_two_numbers() -> None:
    plus, minus = (function("x", "y", Constant(zero)) for zero in (0.0, -0.0))
    assert nameless(plus) != nameless(minus)


def test_a_primitive_is_not_a_variable() -> None:
    """A function that binds the name of what another one finds outside is another function."""
    outside = Function("f", (("a", "int64"),), _let("b", Name("where")))
    inside = Function("f", (("where", "int64"),), _let("b", Name("where")))
    assert nameless(outside) != nameless(inside)


def _let(name: str, value: Expression) -> Body:
    out = Block()
    out.let(name, value)
    return out.body


def test_equal_functions_are_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written, made = llvm_modules.written, list[str]()

    def counted(of: Function, parts: dict[str, Part] | None = None) -> str:
        made.append(of.name)
        return written(of, parts)

    monkeypatch.setattr(llvm_modules, "written", counted)
    given = [function(x, y, Name(x)) for x, y in ("xy", "ab", "cd")]
    texts = [unit.text for unit in llvm_modules.units(given)]
    assert made == ["xy"]
    assert texts == [written(each) for each in given]

"""Functions that are none are refused, each with its statement."""

from collections.abc import Iterator

import pytest

from ostinato.codegen.cpu.access import access
from ostinato.codegen.cpu.native.llvm_modules import NAMES
from ostinato.codegen.cpu.primitive import Inner
from ostinato.codegen.cpu.sorting import argsort, searchleft
from ostinato.codegen.emit.generated_module import functions
from ostinato.codegen.loops.checker import InvariantError, check
from ostinato.codegen.loops.statements import Definition, Function, Kind, Let
from tests.codegen.loops.interpreting import planned
from tests.codegen.loops.reading import read
from tests.codegen.loops.test_interpreter import MADE


def made(text: str, *definitions: Definition) -> Function:
    import ast

    return Function("k", (("n", "int64"),), read(ast.parse(text).body), definitions)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("y = x + 1", "k: `x` has no value here, in `y = x + 1`"),
        ("if n > 0:\n    y = 1\nz = y", "k: `y` has no value here, in `z = y`"),
        ("for i in range(n):\n    y = i\nz = y", "k: `y` has no value here, in `z = y`"),
        ("for i in range(n):\n    i = 2", "k: `i` is assigned in its loop, in `i = 2`"),
        ("y = sine(n)", "k: `sine` is no function, in `y = sine(n)`"),
        ("break", "k: no loop to leave, in `break`"),
        ("total += n", "k: `total` has no value here, in `total += n`"),
    ],
)
def test_what_is_no_function_is_refused(text: str, fact: str) -> None:
    with pytest.raises(InvariantError) as failure:
        check((made(text),), NAMES)
    assert str(failure.value) == fact


def test_a_definition_of_nothing_is_refused() -> None:
    with pytest.raises(InvariantError, match="k: no primitive `wish`"):
        check((made("pass", Definition(("w",), "wish", ())),), NAMES)


def test_what_every_way_gives_has_a_value() -> None:
    check((made("if n > 0:\n    y = 1\nelse:\n    y = 2\nz = max(y, n)"),), NAMES)


def of_inner(inner: Inner) -> Iterator[None]:
    """Check a function that generated code calls, and those that it calls."""
    kinds: dict[str, Kind] = {
        name: "int64[::1]" if kind == "array" else "int64"
        for name, kind in inner.parameters.items()
    }
    closing = () if inner.value is None else (Let(("result",), inner.value),)
    check((Function(inner.name, tuple(kinds.items()), (*inner.body, *closing)),), inner.calls)
    yield
    for each in inner.calls.values():
        if isinstance(each, Inner):
            yield from of_inner(each)


def test_what_generated_code_calls_are_functions() -> None:
    load, store = access(0, 1, "int32")
    names = ("claim", "enter", "finish", "open_next", "rest", "begin", "mark", "stamp")
    sorts = argsort("int32", load, load, store, load, store), searchleft("int32", load)
    found = [each for each in (*map(NAMES.get, names), *sorts) if isinstance(each, Inner)]
    assert len(found) == len(names) + len(sorts)
    assert sum(len([*of_inner(each)]) for each in found) == 21


@pytest.mark.parametrize("make", MADE)
def test_what_emission_makes_are_functions(make: str) -> None:
    plan, _ = planned(MADE[make]()[0], threads=2)
    check(tuple(functions(plan)), NAMES)

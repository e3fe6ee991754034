"""Programs: names, streams, and what they keep alive."""

import gc
import subprocess
import sys
import weakref

import pytest

import ostinato as ot
from ostinato.pdg.errors import ArgumentError, EquationError
from ostinato.pdg.node import Random, Rec
from tests.garbage import only_new


def counter(name: str = "x") -> ot.Recurrent:
    t = ot.dims("t")
    x = ot.recurrent(name, over=t)
    x[0] = 0.0
    x[t + 1] = x + 1.0
    return x


def test_recurrences_keep_the_users_name_in_every_program() -> None:
    for _ in range(2):
        assert list(ot.Program(y=counter()).pdg.equations) == ["x"]


def test_two_recurrences_of_one_name_are_numbered() -> None:
    t = ot.dims("t")
    total = ot.constant(0.0)
    for _ in range(2):
        x = ot.recurrent("x", over=t)
        x[True] = 1.0
        total = total + x
    assert list(ot.Program(y=total).pdg.equations) == ["x", "x#2"]


def test_a_program_needs_only_what_its_outputs_reach() -> None:
    t = ot.dims("t")
    x, unused = ot.recurrent("x", over=t), ot.recurrent("unused", over=t)
    unused[True] = x
    x[True] = 1.0
    assert list(ot.Program(y=x).pdg.equations) == ["x"]


def streams(program: ot.Program) -> list[int]:
    return sorted(n.op.stream for n in program.pdg.nodes() if isinstance(n.op, Random))


def test_streams_are_numbered_per_program() -> None:
    for _ in range(2):
        t = ot.dims("t")
        u, v = ot.random.uniform(over=t), ot.random.normal(over=t)
        assert streams(ot.Program(y=v - u)) == [0, 1]
        assert streams(ot.Program(y=v)) == [0]


def test_equal_programs_print_alike() -> None:
    def build() -> str:
        t = ot.dims("t")
        x = ot.recurrent("x", over=t)
        x[0] = ot.random.normal()
        x[t + 1] = ot.tanh(x)
        return str(ot.Program(y=x, s=x[: t + 1].sum()))

    assert build() == build()


def test_a_dropped_program_is_freed() -> None:
    with only_new():
        x = counter()
        gone = weakref.ref(x.definition)
        del x
        gc.collect()
    assert gone() is None


def test_outputs_name_what_has_no_name() -> None:
    x = counter()
    program = ot.Program(doubled=x * 2.0, x=x, half=(x / 2.0).named("halved"))
    assert [str(node) for _, node in program.pdg.outputs] == ["doubled", "x", "halved"]
    assert isinstance(program.pdg.outputs[1][1].op, Rec)
    assert program.outputs == ("doubled", "x", "half")


def test_two_dimensions_of_one_name_are_refused() -> None:
    x, y = counter("x"), counter("y")
    with pytest.raises(EquationError, match="two dimensions of the program are called `t`"):
        ot.Program(z=x + y)


def test_two_inputs_of_one_name_are_refused() -> None:
    total = ot.input("x") + ot.input("x", shape=(2,))
    with pytest.raises(ArgumentError, match="two inputs are called `x`"):
        ot.Program(y=total)


def test_a_program_without_outputs_is_refused() -> None:
    with pytest.raises(ArgumentError, match="without outputs"):
        ot.Program()


def test_places_are_the_users() -> None:
    program = ot.Program(y=counter() * 2.0)
    assert all(
        node.where.startswith("test_program.py:") for node in program.pdg.nodes() if node.where
    )


def test_the_import_loads_no_compiler() -> None:
    heavy = "{'numba', 'egglog', 'islpy', 'sympy', 'rich', 'typer'}"
    code = f"import ostinato, sys; print(sorted({heavy} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.strip() == "[]", found.stderr

"""The loop IR of kernels is interpreted: what reads, waits or computes wrongly is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

import ostinato as ot
from ostinato.certificate.loop_runs import check_loops
from ostinato.certificate.runs import Different, Promise
from ostinato.codegen.loops.checker import InvariantError
from ostinato.codegen.loops.expression import Binary, Name
from ostinato.codegen.loops.memory import Trap
from ostinato.codegen.loops.statements import Function, Let, Statement
from tests.codegen.loops.interpreting import emission
from tests.codegen.loops.test_interpreter import (
    changed,
    learning,
    one_further,
    running,
    without_barriers,
    without_stores,
)

ANY_ORDER = Promise("reassociates")


def halves_and_calls() -> ot.Program:
    """Return values in 16 bits, medians by Python, and rows as long as the point says."""
    b, t = ot.dims("b t")
    x = ot.input("x", shape=(3,), over=(b, t), dtype="float16")
    y = x.cast("float32") * np.arange(3.0, dtype=np.float32)
    return ot.Program(x=x, median=ot.host(np.median, y), past=y.sum()[b, : t + 1])


def test_loop_ir_that_means_the_program_holds() -> None:
    program = halves_and_calls()
    made = emission(program, threads=2)
    assert check_loops(program.pdg, made, ANY_ORDER).endswith("in any order")


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        (without_stores, "never written"),
        (one_further, "outside of"),
        (without_barriers, "no barrier is between them"),
    ],
)
def test_loop_ir_that_accesses_memory_wrongly_is_refused(
    change: Callable[[Sequence[Function]], list[Function]], fact: str
) -> None:
    program, _ = learning()
    made = emission(program, threads=2)
    with pytest.raises(Trap, match=fact):
        check_loops(program.pdg, replace(made, functions=tuple(change(made.functions))), ANY_ORDER)


def test_loop_ir_that_computes_something_else_is_refused() -> None:
    program, _ = running()
    made = emission(program, threads=2)

    def other(each: Statement) -> Statement:
        match each:
            case Let((name,), Binary("+", Name() as left, Name() as right)) if name[:2] != "o_":
                return Let((name,), Binary("-", left, right))  # a value, no place in memory
            case _:
                return each

    functions = tuple(replace(f, body=changed(f.body, other)) for f in made.functions)
    with pytest.raises(Different, match="of the loop IR at"):
        check_loops(program.pdg, replace(made, functions=functions), ANY_ORDER)


def test_functions_that_are_none_are_refused() -> None:
    program, _ = running()
    made = emission(program, threads=2)
    first, *rest = made.functions
    unknown = replace(first, parameters=first.parameters[:-1])
    with pytest.raises(InvariantError, match="has no value here"):
        check_loops(program.pdg, replace(made, functions=(unknown, *rest)), ANY_ORDER)

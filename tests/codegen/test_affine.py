"""Gathers by index expressions are reads: no copy, no computed address, clamped where needed."""

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato.codegen.ir.system import System
from ostinato.codegen.lowering.lower import lower

X = np.arange(24, dtype=np.float32).reshape(4, 6)
TAKEN: dict[str, Callable[[ot.Tensor], ot.Tensor]] = {
    "every third": lambda x: x.take(3 * ot.arange(2), 1),
    "beyond both ends": lambda x: x.take(3 * ot.arange(6) - 4, 1),
    "backwards": lambda x: ot.flip(x, 1),
    "halves": lambda x: x.take(ot.arange(6) // 2 + 1, 1),
    "around": lambda x: x.take((ot.arange(6) + 4) % 6, 1),
    "an even literal": lambda x: x.take(ot.constant([5, 3, 1]), 1),
    "of a product": lambda x: (2.0 * x).reshape(24).take(5 * ot.arange(7) - 3, 0),
    "two axes": lambda x: x.take(ot.minimum(ot.arange(5), 2), 1).take(1 - ot.arange(3), 0),
    "windows": lambda x: ot.max_pool1d(x, 3, 2, 1),
}


def system(tensor: ot.Tensor) -> System:
    return lower(ot.Program(y=tensor).pdg)


@pytest.mark.parametrize("name", TAKEN)
def test_nothing_is_gathered(name: str) -> None:
    found = system(TAKEN[name](ot.input("x", X.shape)))
    assert not [s for s in found.statements if "gather" in s]
    for s in found.statements.values():
        assert not any(load.picks for load in s.reads)


@pytest.mark.parametrize("name", TAKEN)
def test_the_reads_are_the_interpreters(name: str) -> None:
    program = ot.Program(y=TAKEN[name](ot.input("x", X.shape)))
    expected = program.interpret(x=X)["y"]
    np.testing.assert_array_equal(program.compile()(x=X)["y"], expected)


@pytest.mark.parametrize(("start", "step"), [(0, 1), (2, -1), (-3, 2)])
def test_steps_of_a_dimension_are_read_in_place(start: int, step: int) -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    y = (3.0 * x)[b, :].take(step * ot.arange(5) + start + ot.index(b), 0)
    program = ot.Program(y=y, sums=x[b, : t + 1].sum(0))
    expected, found = program.interpret(x=X), program.compile()(x=X)
    np.testing.assert_array_equal(found["y"], expected["y"])


def test_an_uneven_literal_and_a_computed_index_are_gathered() -> None:
    x, k = ot.input("x", (6,)), ot.input("k", (2,), "int32")
    for index in (ot.constant([0, 1, 3]), k, k * k):
        found = system(x.take(index, 0))
        assert any(load.picks for s in found.statements.values() for load in s.reads)

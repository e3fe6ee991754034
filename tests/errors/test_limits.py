"""What int64 indices and int32 positions cannot count is refused, at the user's line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import AffineError, OptionError, OstinatoError, ShapeError
from ostinato.pdg.intervals import LONGEST
from ostinato.pdg.limits import MOST_DIMS
from tests.errors.refusal import refusal

T = ot.dims("t")
X = ot.input("x", over=T)

TOO_LARGE: dict[str, Callable[[], object]] = {
    "a slice": lambda: X[T : ot.minimum(T + sys.maxsize, T.size)],
    "a factor": lambda: X[ot.minimum((2**61 + 12345) * T, T.size - 1)],
    "a value": lambda: ot.index((2**62 + 7) * T),
    "a condition": lambda: ot.where(2**62 * T < 5, 1.0, 0.0),
    "an equality": lambda: ot.where(2**62 * T == 0, 1.0, 0.0),
    "a bound": lambda: ot.where(T < 2**62, 1.0, 0.0),
    "a divisor": lambda: X[T // 2**62],
    "a remainder": lambda: X[ot.minimum(T % 2**62, T.size - 1)],
    "a negative factor": lambda: X[ot.maximum(-(2**40) * T, 0)],
    "a step": lambda: ot.Program(y=X[:: 2**62]),
    "a constant": lambda: ot.Program(y=X[2**62]),
    "reads of reads": lambda: ot.Program(y=ot.index(2**29 * T)[2**29 * T][2**29 * T]).compile(),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_an_index_that_may_leave_64_bits_is_refused_at_its_line(name: str) -> None:
    with pytest.raises(OstinatoError, match="may leave the 64 bits") as raised:
        TOO_LARGE[name]()
    first, remedy = str(raised.value).split("\n")
    assert first.startswith("test_limits.py:")
    assert remedy == (
        "  Use smaller constants: where all dimensions have 2**30 steps, 2**60 is the most."
    )


def test_factors_that_64_bits_hold_have_their_value() -> None:
    program = ot.Program(y=X[ot.minimum(2**29 * T, T.size - 1)], z=ot.where(2**29 * T < 5, 1, 0))
    found = program.compile()(x=[1, 2, 3])
    assert found["y"].tolist() == [1, 3, 3] and found["z"].tolist() == [1, 0, 0]


@pytest.mark.parametrize("steps", [LONGEST + 1, 2**31, 2**40, 2**63, 2**70])
def test_too_many_steps_are_refused(steps: int) -> None:
    program = ot.Program(y=ot.index(T))
    for run in (program.interpret, program.compile()):
        with pytest.raises(
            OstinatoError, match=r"`T` is [^\n]*\n  Pass an integer of at most 1,073,741,824"
        ):
            run(T=steps)


def test_a_derived_extent_is_no_longer() -> None:
    n = ot.dim("n", size=T.size * 4)
    with pytest.raises(OstinatoError, match=r"the extent `N` is 2147483648 \(T=536870912\)"):
        ot.Program(y=ot.index(n)).interpret(T=2**29)


def test_an_axis_has_positions_of_32_bits() -> None:
    with pytest.raises(
        OstinatoError, match=r"`v` of shape \(1099511627776,\) has too long an axis"
    ):
        ot.Program(y=ot.input("v", shape=(2**40,)).sum(0))
    b = ot.dims("b")
    program = ot.Program(y=ot.arange(T.size * b.size).sum(0))
    for run in (program.interpret, program.compile()):
        with pytest.raises(OstinatoError, match=r"B \* T = 4294967296 .*, the most is 2147483647"):
            run(T=2**16, B=2**16)


def test_a_tensor_has_a_limited_number_of_axes_and_dimensions() -> None:
    few, many = ot.input("few", (1,) * MOST_DIMS), ot.input("many", (1,) * MOST_DIMS, over=T)
    program = ot.Program(y=few.sum(), z=ot.transpose(few) * 2.0)
    assert program.compile()(few=np.full((1,) * MOST_DIMS, 3.0))["y"] == 3.0
    text = refusal(ShapeError, lambda: ot.Program(y=many * 2.0))
    assert text.endswith(
        ": `many` has 1 dimensions and 60 axes\n  A tensor has at most 60 of them."
    )


def test_a_program_has_a_limited_number_of_dimensions() -> None:
    each = ot.dims(" ".join(f"d{k}" for k in range(MOST_DIMS)))
    few = {f"y{k}": ot.input(f"x{k}", over=d)[:].sum() for k, d in enumerate(each)}
    given = {f"x{k}": [1.0] * (k + 1) for k in range(MOST_DIMS)}
    assert ot.Program(**few).compile()(**given)["y7"] == 8.0
    text = refusal(AffineError, lambda: ot.Program(**few, last=X[:].sum()))
    assert text.endswith(
        " the program is over more than 60 dimensions\n"
        "  Use one dimension for all that has as many steps, or write two programs."
    )


def test_a_position_beyond_every_dimension_is_refused() -> None:
    with pytest.raises(OstinatoError, match="`x` is read at t = 1099511627776"):
        ot.Program(y=X[2**40])
    with pytest.raises(OstinatoError, match="the program reads 20001 steps"):
        ot.Program(y=X[20_000]).compile()(x=[1.0])


def test_memory_that_nobody_has_is_refused() -> None:
    b = ot.dims("b")
    program = ot.Program(y=ot.index(T) + ot.index(b))
    for run in (program.interpret, program.compile()):
        with pytest.raises(OstinatoError, match="this machine has") as raised:
            run(T=2**30, B=2**30)
        assert str(raised.value).startswith("test_limits.py:")


def test_functions_of_an_index_in_each_other_are_limited() -> None:
    t = ot.dims("t")
    deep: ot.IndexExpression = t
    for _ in range(100):
        deep = (deep + 3) // 2
    text = refusal(AffineError, lambda: (deep + 3) // 2)
    assert text.endswith(
        ": an index of more than 100 functions (//, %, minimum, maximum) in each other\n"
        "  Write it with fewer, or as an int32 tensor: ot.index(t)."
    )
    assert ot.Program(y=ot.index(deep)).compile()(T=5)["y"].tolist() == [2, 2, 2, 3, 3]


def test_a_condition_is_nested_so_deep_and_no_deeper() -> None:
    t = ot.dims("t")
    condition = t > 0
    for k in range(49):
        condition = (condition | (t == k)) & (t < 1000 - k)
    text = refusal(AffineError, lambda: ((condition | (t == 7)) & (t < 9)) | (t == 8) | (t == 9))
    assert text.endswith(
        ": a condition of more than 100 and, or, not in each other\n"
        "  Choose in turn: ot.where(one, x, ot.where(another, y, z))."
    )


def test_a_low_limit_of_python_is_told_and_a_users_recursion_is_his_own() -> None:
    chain, limit = ot.input("x", (2,)), sys.getrecursionlimit()
    for _ in range(150):
        chain = ot.tanh(chain + 1.0)
    program = ot.Program(y=chain)

    def endless(x: ot.Tensor) -> ot.Tensor:
        return ot.exp(endless(x))

    def in_few_frames() -> str:
        sys.setrecursionlimit(120)
        try:
            return refusal(OptionError, lambda: program.compile(without="LLVM passes"))
        finally:
            sys.setrecursionlimit(limit)

    with ThreadPoolExecutor(1) as thread:  # which has a stack of its own
        text = thread.submit(in_few_frames).result()
    assert text.endswith(
        ": `compile` needs more calls within calls than Python's limit of 120\n"
        "  Raise it first: sys.setrecursionlimit(10000)."
    )
    with pytest.raises(RecursionError):
        endless(chain)

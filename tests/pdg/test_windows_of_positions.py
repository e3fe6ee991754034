"""Computed positions and the windows that they must stay in, at the edges."""

from __future__ import annotations

import numpy as np
import pytest

from ostinato.pdg import build
from ostinato.pdg.errors import DomainError
from ostinato.pdg.index import Extent, Point, Slice, expr
from ostinato.pdg.interpret import interpret
from ostinato.pdg.meaning import window_error
from ostinato.pdg.node import Dtype
from tests.pdg.programs import T, n, program, window

LO, HI = 2, 5
REMEDY = "\n  Clip the index to the window with `ot.clip`, or widen `within`."


def read_at(step: int, dtype: Dtype = "int32") -> float:
    """``x[step]`` within ``LO <= step < HI``, the way the language spells it."""
    span = Slice(expr(LO), expr(HI))
    x = build.input_node("x", (), "float32", (T,))
    step_node = build.input_node("step", (expr(1),), dtype, ())
    offset = build.map_node("sub", (step_node, build.const(LO, dtype)))
    y = build.gather(window(x, span.lo, span.hi), offset, -1, "train.py:9", (T, span))
    inputs = {"x": np.arange(6, dtype="float32"), "step": np.array([step], dtype)}
    return float(interpret(program(y=y), {"T": 6}, inputs)["y"][0])


@pytest.mark.parametrize("step", range(LO, HI))
def test_a_step_inside_its_window_is_read(step: int) -> None:
    assert read_at(step) == step


@pytest.mark.parametrize(
    ("step", "dtype"),
    [
        (LO - 1, "int32"),
        (HI, "int32"),
        (-(2**31), "int32"),
        (2**31 - 1, "int32"),
        (-(2**63), "int64"),
        (2**60 + 1, "int64"),
        (0, "uint32"),
        (2**32 - 1, "uint32"),
    ],
)
def test_a_step_outside_is_told_as_it_was_given(step: int, dtype: Dtype) -> None:
    with pytest.raises(DomainError) as caught:
        read_at(step, dtype)
    fact = f"train.py:9: `x` is read at t = {step}, where its window is 2 <= t < 5"
    assert str(caught.value) == fact + REMEDY


@pytest.mark.parametrize(("lo", "shown"), [(4, "4 <= t < 5"), (5, "empty"), (6, "empty")], ids=str)
def test_a_window_without_steps_is_called_empty(lo: int, shown: str) -> None:
    place = ((T,), "train.py:3")
    env: Point = {T: 1, Extent("T"): 5}
    error = window_error("`x`", (T, Slice(expr(lo), n)), env, 2, place)
    fact = f"train.py:3: `x` is read at t = {lo + 2} at t = 1, where its window is {shown}"
    assert str(error) == fact + REMEDY

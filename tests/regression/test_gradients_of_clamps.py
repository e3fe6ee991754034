"""Gradients of recurrences that read themselves at clamped and rounded steps."""

from __future__ import annotations

import numpy as np
import pytest

import ostinato as ot
from ostinato.language.dims import Condition, IndexExpression

T = ot.dims("t")
CASES: dict[str, tuple[Condition, IndexExpression]] = {
    "two steps back, clamped": (T == 0, ot.maximum(T - 2, 0)),
    "clamped at 1": (T <= 1, ot.maximum(T - 2, 1)),
    "clamped above": (T == 0, ot.minimum(T - 1, 3)),
    "clamped on both sides": (T < 3, ot.minimum(ot.maximum(T - 4, 0), 2)),
    "ahead, clamped": (T == T.size - 1, ot.minimum(T + 2, T.size - 1)),
    "half": (T == 0, T // 2),
    "the last multiple": (T % 3 == 0, T - T % 3),
    "the last multiple, divided": (T % 3 == 0, T // 3 * 3),
    "the multiple before": (T == 0, (T - 1) // 3 * 3),
    "half of a rest": (T % 3 == 0, T - (T % 3 + 1) // 2),
    "two thirds of a rest": (T % 4 == 0, T - (2 * (T % 4) + 2) // 3),
    "a rest of a half": (T <= 1, T // 2 - (T // 2) % 2),
    "less than a quotient": (T == 0, T - T // 3 - 1),
    "the later of two": (T == 0, ot.maximum(T - 5, T // 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_its_gradient_is_compiled_and_true(name: str) -> None:
    first, step = CASES[name]
    x = ot.input("x", over=T, dtype="float64")
    h = ot.recurrent("h", over=T, dtype="float64")
    h[first] = x * x
    h[True] = 0.7 * h[step] * h[step] + ot.sin(x)
    loss = h[:].sum(0)
    at = np.linspace(-1, 1, 11)
    found = ot.Program(d=ot.grad(loss, x)).compile()(x=at)["d"]
    program, small = ot.Program(loss=loss).compile(), 1e-6
    for k, derivative in enumerate(found):
        moved = np.where(np.arange(11) == k, small, 0.0)
        change = program(x=at + moved)["loss"] - program(x=at - moved)["loss"]
        assert abs(change / (2 * small) - derivative) < 1e-5

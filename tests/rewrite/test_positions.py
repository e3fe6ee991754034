"""The steps of a range are positions of the dimension, however they are counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from tests.rewrite.test_spellings import extracted

Positions = Callable[[Any, Any, Any], Any]

POSITIONS: dict[str, Positions] = {
    "indices": lambda t, lo, n: ot.index(t)[lo : t + 1],
    "first and count": lambda t, lo, n: lo + ot.arange(n),
    "count and first": lambda t, lo, n: ot.arange(n) + lo,
}


def turned(positions: Positions) -> ot.Program:
    """A window of numbers, each turned by an angle of its position."""
    b, t = ot.dims("b t")
    lo = ot.maximum(t - 7, 0)
    window = ot.input("x", over=(b, t))[b, lo : t + 1]
    angles = positions(t, lo, window.shape[0]).cast("float32") * 0.1
    return ot.Program(y=(ot.cos(angles) * window).max(0))


@pytest.mark.parametrize("name", POSITIONS)
def test_what_is_computed_from_positions_is_computed_once_for_each(name: str) -> None:
    found = extracted(turned(POSITIONS[name]))
    assert "iota" not in found and found == extracted(turned(POSITIONS["indices"]))
    x = np.random.default_rng(0).normal(size=(2, 12)).astype("float32")
    expected = turned(POSITIONS["indices"]).interpret(x=x)["y"]
    np.testing.assert_allclose(turned(POSITIONS[name]).interpret(x=x)["y"], expected, rtol=1e-5)

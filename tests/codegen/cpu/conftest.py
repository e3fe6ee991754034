"""Runs primitives over arrays, in compiled loops as the emitter writes them."""

from collections.abc import Callable
from typing import Any

import numpy.typing as npt
import pytest

from bench.mathematics.loops import applied

Array = npt.NDArray[Any]


@pytest.fixture
def apply() -> Callable[..., Array]:
    """Return ``apply(function, *arrays)``: the function of every element."""
    return applied

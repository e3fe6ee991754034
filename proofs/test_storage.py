"""Kept values in 16 bits: reading back what was written is rounding, within the stated bound.

Rounding is monotone, so between two neighbouring halves its error is largest at their middle. All
pairs of neighbours, and the float32 numbers next to the middles, are all cases.
"""

import numpy as np
import pytest

from ostinato.pdg.functions import FUNCTIONS, Array

BOUNDS = {"bfloat16": (2.0**-8, 2.0**-126), "float16": (2.0**-11, 2.0**-14)}


def read_back(half: str, x: Array) -> Array:
    return FUNCTIONS[f"{half}_value"].numpy(FUNCTIONS[f"{half}_bits"].numpy(x))


def halves(half: str) -> Array:
    """Every finite half that is not negative, in order."""
    values = FUNCTIONS[f"{half}_value"].numpy(np.arange(1 << 15, dtype="uint16"))
    return values[np.isfinite(values)]


@pytest.mark.parametrize("half", BOUNDS)
def test_a_half_is_read_back_as_it_is(half: str) -> None:
    found = halves(half)
    assert np.array_equal(read_back(half, found), found)
    assert np.array_equal(read_back(half, -found), -found)


@pytest.mark.parametrize("half", BOUNDS)
def test_the_relative_error_of_normal_numbers_is_bounded(half: str) -> None:
    bound, normal = BOUNDS[half]
    found = halves(half)
    middles = ((found[:-1].astype("float64") + found[1:]) / 2).astype("float32")
    ways = (middles, np.nextafter(middles, np.float32(0)), np.nextafter(middles, np.float32("inf")))
    for x in ways:
        x = x[x >= normal]
        assert (np.abs(read_back(half, x) - x.astype("float64")) <= bound * x).all()


@pytest.mark.parametrize("half", BOUNDS)
def test_rounding_is_monotone(half: str) -> None:
    x = np.sort(np.random.default_rng(0).normal(size=10**5).astype("float32"))
    assert (np.diff(read_back(half, x)) >= 0).all()

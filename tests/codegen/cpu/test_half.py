"""Half floats against NumPy: every bit pattern read, and rounding at every midpoint."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.cpu import scalar

Array = npt.NDArray[Any]
Apply = Callable[..., Array]

ALL_BITS = np.arange(2**16, dtype="uint32").astype("uint16")
TYPES = {"float16": np.dtype("float16"), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
VALUE = {"float16": scalar.float16_value_u16, "bfloat16": scalar.bfloat16_value_u16}
BITS = {"float16": scalar.float16_bits_f32, "bfloat16": scalar.bfloat16_bits_f32}


def hard_values(name: str) -> Array:
    """Every half, the points halfway between neighbours, and their float32 neighbours."""
    halves = ALL_BITS.view(TYPES[name]).astype("float32")
    finite = np.sort(halves[np.isfinite(halves)])
    middles = ((finite[1:].astype("float64") + finite[:-1]) / 2).astype("float32")
    near = [np.nextafter(middles, side).astype("float32") for side in (-np.inf, np.inf)]
    far = np.array([65519.9, 65520, 1e30, 3.4e38, np.inf, 1e-45, -1e-45], "float32")
    return np.concatenate([halves, middles, *near, far, -far])


@pytest.mark.parametrize("name", TYPES)
def test_the_value_of_every_bit_pattern_is_numpys(name: str, apply: Apply) -> None:
    expected = ALL_BITS.view(TYPES[name]).astype("float32")
    np.testing.assert_array_equal(apply(VALUE[name], ALL_BITS), expected)


@pytest.mark.parametrize("name", TYPES)
def test_rounding_is_to_the_nearest_and_halfway_to_even(name: str, apply: Apply) -> None:
    x = hard_values(name)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = x.astype(TYPES[name])
    found = apply(BITS[name], x).view(TYPES[name])
    np.testing.assert_array_equal(found.astype("float32"), expected.astype("float32"))


@pytest.mark.parametrize("name", TYPES)
def test_the_sign_of_zero_stays(name: str, apply: Apply) -> None:
    bits = apply(BITS[name], np.array([0.0, -0.0], "float32"))
    assert bits.tolist() == [0, 0x8000]

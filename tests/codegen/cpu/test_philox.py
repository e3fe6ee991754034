"""Compiled draws against the NumPy law, bit by bit."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.cpu import random_bits as compiled
from ostinato.codegen.cpu.access import access
from ostinato.codegen.cpu.flags import DRIVER
from ostinato.codegen.cpu.numba_door import njit
from ostinato.codegen.cpu.primitive import Primitive
from ostinato.pdg import philox
from ostinato.pdg.node import Dtype

Array = npt.NDArray[Any]
SEED, OPERATOR, POINT = 0x0123456789ABCDEF, 5, (1, 2, 3)  # a seed of more than 32 bits
COUNT = 4096


def drawn(function: Primitive, dtype: Dtype, count: int = COUNT, first: int = 0) -> Array:
    _, store = access(0, 1, dtype)
    key_of = compiled.seed_key

    @njit(**DRIVER)
    def fill(out: Array, seed: int, length: int, start: int) -> None:
        key = key_of(seed)
        for i in range(length):
            store(out, i, function(start + i, 1, 2, 3, key, 5))

    out = np.empty(count, dtype)
    fill(out, SEED, count, first)
    return out


@pytest.mark.parametrize("word", range(4))
def test_compiled_words_equal_numpy_words(word: int) -> None:
    names = ["philox_bits", "philox_bits_1", "philox_bits_2", "philox_bits_3"]
    counter, key = philox.draw_counter(COUNT, POINT, SEED), philox.draw_key(SEED, OPERATOR, POINT)
    expected = philox.philox4x32(counter, key)[:, word]
    np.testing.assert_array_equal(drawn(getattr(compiled, names[word]), "uint32"), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compiled_uniforms_equal_numpy_uniforms(dtype: philox.FloatDtype) -> None:
    function = compiled.uniform_f32 if dtype == "float32" else compiled.uniform_f64
    expected = philox.draw_uniform(SEED, OPERATOR, POINT, (COUNT,), dtype)
    np.testing.assert_array_equal(drawn(function, dtype), expected)


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-6), ("float64", 1e-14)])
def test_compiled_normals_agree_with_numpy(dtype: philox.FloatDtype, bound: float) -> None:
    function = compiled.normal_f32 if dtype == "float32" else compiled.normal_f64
    expected = philox.draw_normal(SEED, OPERATOR, POINT, (COUNT,), dtype)
    np.testing.assert_allclose(drawn(function, dtype), expected, rtol=bound, atol=bound)


def test_one_at_a_time_equals_many_at_once() -> None:
    many = drawn(compiled.philox_bits, "uint32")
    for index in (0, 1, 17, COUNT - 1):
        assert drawn(compiled.philox_bits, "uint32", 1, index)[0] == many[index]
    all_normals = drawn(compiled.normal_f32, "float32")
    assert drawn(compiled.normal_f32, "float32", 1, 33)[0] == all_normals[33]

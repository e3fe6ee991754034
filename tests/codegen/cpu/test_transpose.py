"""Squares of numbers, transposed."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.cpu.access import transpose_f32, transpose_f64
from ostinato.codegen.cpu.flags import DRIVER
from ostinato.codegen.cpu.numba_door import njit
from ostinato.codegen.loops.shared_words import SQUARE

Array = npt.NDArray[Any]
FORMS = ((transpose_f32, "float32"), (transpose_f64, "float64"))


@pytest.mark.parametrize(("transpose", "dtype"), FORMS)
def test_a_square_is_transposed_and_nothing_beside_it_is_touched(
    transpose: Any, dtype: str
) -> None:
    wide, tall, to = 20, 11, 300
    source = np.arange(to, dtype=dtype)
    view = np.concatenate([source, np.full(tall * SQUARE, -1.0, dtype)])

    @njit(**DRIVER)
    def run(view: Array) -> None:
        transpose(view, to + 1, tall, 3, wide)

    run(view)
    expected = np.full((SQUARE, tall), -1.0, dtype)
    rows = source[3 : 3 + SQUARE * wide].reshape(SQUARE, wide)[:, :SQUARE]
    expected[:, 1 : 1 + SQUARE] = rows.T
    np.testing.assert_array_equal(view[to:].reshape(SQUARE, tall), expected)
    np.testing.assert_array_equal(view[:to], source)

"""Compile options and vector widths."""

import os
import subprocess
import sys

import pytest

from ostinato.codegen.cpu.flags import DRIVER, FASTMATH, KERNEL, lanes, vector_bits


@pytest.mark.parametrize(
    ("features", "bits"),
    [({"avx512f": True, "avx2": True}, 512), ({"avx2": True}, 256), ({"neon": True}, 128)],
)
def test_the_widest_registers_of_the_host_are_used(features: dict[str, bool], bits: int) -> None:
    assert vector_bits(features) == bits


def test_a_float64_vector_has_half_the_lanes() -> None:
    assert lanes("float32") == 2 * lanes("float64") >= 4


def test_no_kernel_may_break_nan_tests_or_reorder_sums() -> None:
    assert list(FASTMATH) == sorted(FASTMATH)
    assert not {"fast", "nnan", "ninf", "reassoc", "arcp"} & set(FASTMATH)
    assert KERNEL["fastmath"] == DRIVER["fastmath"] == dict.fromkeys(FASTMATH, True)


@pytest.mark.parametrize(("given", "expected"), [(None, "2"), ("3", "3")])
def test_the_optimization_level_is_set_unless_the_user_did(
    given: str | None, expected: str
) -> None:
    environment = {name: text for name, text in os.environ.items() if name != "NUMBA_OPT"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    if given is not None:
        environment["NUMBA_OPT"] = given
    code = "import os, ostinato.codegen.cpu.flags; print(os.environ['NUMBA_OPT'])"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected

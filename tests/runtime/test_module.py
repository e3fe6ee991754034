"""Generated modules are compiled by several processes, and the work is shared fairly."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ostinato.runtime.module import ONLY, compile_together, load_module, only, shares

KERNEL = """

mm{k} = {k}  # a definition belongs to the function below it


@kernel(1)
def k{k}(memory, table, n):
    at = carray(table, 1)
    for _ in range(n):
        at[{k}] += 1{padding}
"""
HEAD = "from ostinato.codegen.cpu.prelude import carray, driver, invoke, kernel\n"
DRIVER = """

@driver("int64[::1]", "uint8[::1]", "int64[::1]")
def main(kernels, arena, at):
    for k in range(len(kernels) - 1):
        invoke(kernels[k], arena, at, (k,))


KERNELS = ({names})
"""


def source(kernels: int, padding: int = 0) -> str:
    parts = [
        KERNEL.format(k=k, padding="\n    # " + "x" * padding * (k + 1)) for k in range(kernels)
    ]
    return HEAD + "".join(parts) + DRIVER.format(names="".join(f"k{k}, " for k in range(kernels)))


def test_a_small_module_is_compiled_by_one_process() -> None:
    assert len(shares(source(3), 8)) == 1


def test_a_large_module_is_divided_evenly() -> None:
    parts = shares(source(5, 10_000), 2)
    assert sorted(name for part in parts for name in part) == [f"k{k}" for k in range(5)]
    assert parts == [["k4", "k1", "k0"], ["k3", "k2"]]


def test_kernels_compiled_elsewhere_are_found(tmp_path: Path) -> None:
    import numpy as np

    (tmp_path / "program.py").write_text(source(3, 10_000))
    compile_together(tmp_path, "together", 2)
    assert len(list((tmp_path / "__pycache__").glob("*.nbc"))) == 3  # the driver comes later
    loaded = load_module(tmp_path, "together", 2)
    at = np.zeros(3, np.int64)
    loaded.entry(loaded.kernels, np.zeros(1, np.uint8), at)
    assert at.tolist() == [0, 1, 2]


def test_the_choice_of_kernels_ends_with_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ONLY, "k7")
    with only(["k1"]):
        assert os.environ[ONLY] == "k1"
    assert os.environ[ONLY] == "k7"


def test_a_module_that_does_not_compile_says_why(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("KERNELS = (undefined,)\n")
    with pytest.raises(NameError, match="undefined"):
        load_module(tmp_path, "broken")

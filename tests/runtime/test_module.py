"""Generated modules are compiled kernel by kernel, by several processes, and found again."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from ostinato.codegen.cpu.native import llvm_modules
from ostinato.codegen.cpu.native.llvm_modules import units
from ostinato.runtime.disk import sealed
from ostinato.runtime.machine_code import objects, optimise
from ostinato.runtime.machine_code.compiling import Team
from ostinato.runtime.machine_code.piecewise import Making
from ostinato.runtime.machine_code.source_module import (
    KEYS,
    Kept,
    Loaded,
    load_module,
    load_with_numba,
)
from tests.codegen.loops.reading import module

HEAD = "from ostinato.codegen.cpu.prelude import carray, driver, invoke, kernel\n"
EMPTY = 'define void @"ostinato.entry"() { ret void }'
KERNEL = """

@kernel(1)
def k{k}(memory, table, n):
    # line {k} of the user's program
    at = carray(table, 1)
    for i in range(n):
        at[n] = at[n] + {k}
"""
PRODUCT = """

product_{k} = matmul(
    Matmul("float32", m=1, n=8, k=3, a=(3, 1), b=(8, 1), form="broadcast",
           operands=(Operand("{name}", 8, 1),), steps=(Step("z", ("name", "acc"), "{name}"),)))


@kernel(1)
def k{k}(memory, table, n):
    arena, at = carray(memory, 1), carray(table, 1)
    product_{k}(arena, (at[0] + {k}, at[1], at[2]), ())
"""
DRIVER = """

@driver("int64[::1]", "uint8[::1]", "int64[::1]")
def main(kernels, arena, at):
    for k in range({count}):
        invoke(kernels[k], arena, at, (k,))


KERNELS = ({names})
"""


def source(*kernels: int) -> str:
    parts = [KERNEL.format(k=k) for k in kernels]
    names = "".join(f"k{k}, " for k in kernels)
    return HEAD + "".join(parts) + DRIVER.format(names=names, count=len(kernels))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules that this process compiles from now on."""
    found: list[str] = []
    original = optimise.machine_code

    def counted(text: str) -> bytes:
        found.append(text)
        return original(text)

    monkeypatch.setattr(optimise, "machine_code", counted)
    return found


def load(directory: Path, *kernels: int, cores: int = 1) -> Loaded:
    directory.mkdir(exist_ok=True)
    (directory / "program.py").write_text(source(*kernels))
    return load_module(kept(directory), cores)


def kept(directory: Path, key: str = "any") -> Kept:
    text = (directory / "program.py").read_text()
    return Kept(text, lambda: units(module(text)), directory, key)


def keys(directory: Path) -> dict[str, list[str]]:
    """The names of a program's machine code, as they are kept."""
    found: dict[str, list[str]] = json.loads(sealed.read(directory / KEYS, "any"))
    return found


def run(loaded: Loaded) -> list[int]:
    at = np.zeros(3, np.int64)
    loaded.entry(loaded.kernels, np.zeros(1, np.uint8), at)
    return [int(x) for x in at]


def test_kernels_compiled_by_other_processes_are_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostinato.runtime.machine_code.source_module.WORTH_A_TEAM", 0)
    assert run(load(tmp_path / "a", 1, 5, 7, cores=3)) == [0, 5, 14]


def test_the_work_of_a_process_that_dies_is_done_here() -> None:
    with Team(2) as team:
        team.workers[0].process.kill()
        team.put("a", EMPTY)
        team.put("b", EMPTY)
        assert team.finish().keys() == {"a", "b"}


@pytest.mark.parametrize("cores", [1, 2])
def test_threads_take_turns_as_before_when_teams_are_done(cores: int) -> None:
    before = sys.getswitchinterval()
    with Team(cores) as team, Team(cores) as left:
        for key in "abc":
            team.put(key, EMPTY)
            left.put(key, EMPTY)
        team.finish()
    assert sys.getswitchinterval() == before


def test_kernels_are_compiled_while_the_others_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = source(1, 5)
    (tmp_path / "program.py").write_text(text)
    with Team(2) as team:
        making = Making(team)
        making.add(units(module(text)))
        monkeypatch.setattr(llvm_modules, "written", None)
        assert run(load_module(kept(tmp_path), 1, making)) == [0, 5, 0]


def test_programs_share_the_machine_code_of_equal_kernels(
    tmp_path: Path, compiled: list[str]
) -> None:
    load(tmp_path / "a", 1, 5)
    assert len(compiled) == 3  # the driver too
    assert run(load(tmp_path / "b", 5, 1, 5)) == [0, 1, 10]
    assert len(compiled) == 4  # another driver
    a, b = (keys(tmp_path / x)["kernels"] for x in "ab")
    assert b == [a[1], a[0], a[1]]


def test_a_changed_comment_compiles_nothing(tmp_path: Path, compiled: list[str]) -> None:
    text = source(1, 5)
    for name, each in (("a", text), ("b", text.replace("of the user's", "further down in the"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "program.py").write_text(each)
        load_module(kept(tmp_path / name))
    assert len(compiled) == 3


def test_a_program_seen_before_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(tmp_path / "a", 1, 5)
    monkeypatch.setattr(llvm_modules, "written", None)
    assert run(load(tmp_path / "a", 1, 5)) == [0, 5, 0]


def test_a_kernel_that_was_evicted_is_compiled_again(tmp_path: Path, compiled: list[str]) -> None:
    load(tmp_path / "a", 1, 5)
    (gone,) = keys(tmp_path / "a")["kernels"][1:]
    objects.path_of(gone).unlink()
    assert run(load(tmp_path / "a", 1, 5)) == [0, 5, 0]
    assert len(compiled) == 4


def test_numba_compiles_the_same_module(tmp_path: Path) -> None:
    load(tmp_path / "a", 1, 5, 7)
    assert run(load_with_numba(tmp_path / "a", "numba")) == [0, 5, 14]


def test_numba_compiles_what_is_outside_the_language_and_says_so(tmp_path: Path) -> None:
    text = source(1, 5).replace("at[n] + 5", "at[n] + 5 if n else 0")
    (tmp_path / "program.py").write_text(text)
    with pytest.warns(UserWarning, match="Numba compiles the program.* kind IfExp, in `at"):
        loaded = load_module(kept(tmp_path, "outside"))
    assert run(loaded) == [0, 5, 0]


def test_a_module_that_does_not_compile_says_why(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("KERNELS = (undefined,)\n")
    with (
        pytest.warns(UserWarning, match="no driver"),
        pytest.raises(NameError, match="undefined"),
    ):
        load_module(kept(tmp_path, "broken"))


def products(directory: Path, *names: str) -> Loaded:
    """A module of kernels with one product each, whose results have these names."""
    head = HEAD.replace("carray", "Matmul, Operand, Step, carray, matmul")
    parts = [PRODUCT.format(k=k, name=name) for k, name in enumerate(names)]
    given = "".join(f"k{k}, " for k in range(len(names)))
    directory.mkdir()
    text = head + "".join(parts) + DRIVER.format(names=given, count=len(names))
    (directory / "program.py").write_text(text)
    return load_module(kept(directory))


def test_kernels_and_programs_share_equal_products(tmp_path: Path, compiled: list[str]) -> None:
    loaded = products(tmp_path / "a", "mean", "deviation")
    assert len(compiled) == 4  # two kernels, their driver, one product
    arena = np.arange(40, dtype=np.float32)
    loaded.entry(loaded.kernels, arena.view(np.uint8), np.array([0, 4, 32]))
    assert arena[32:].tolist() == (np.arange(1, 4) @ np.arange(4, 28).reshape(3, 8)).tolist()
    products(tmp_path / "b", "other")
    assert len(compiled) == 5  # another driver


def test_an_evicted_product_is_compiled_again(tmp_path: Path, compiled: list[str]) -> None:
    products(tmp_path / "a", "mean")
    (gone,) = keys(tmp_path / "a")["parts"]
    objects.path_of(gone).unlink()
    load_module(kept(tmp_path / "a"))
    assert len(compiled) == 4


def test_an_interrupt_between_threads_that_begin_is_the_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The threads that had not begun were waited for: Ctrl-C ended in a RuntimeError."""
    start, before = threading.Thread.start, sys.getswitchinterval()
    begun = list[threading.Thread]()

    def interrupted(thread: threading.Thread) -> None:
        if begun:
            raise KeyboardInterrupt
        begun.append(thread)
        start(thread)

    with pytest.raises(KeyboardInterrupt), Team(3) as team:
        monkeypatch.setattr(threading.Thread, "start", interrupted)
        team.put("one", EMPTY)
    monkeypatch.undo()
    assert not begun[0].is_alive() and sys.getswitchinterval() == before

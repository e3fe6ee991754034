"""The cache on disk: found by content, written atomically, rebuilt when damaged."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from ostinato.codegen.cpu.native.llvm_modules import units
from ostinato.runtime.cache import programs
from ostinato.runtime.disk import trust
from ostinato.runtime.machine_code.arena_layout import Layout
from ostinato.runtime.machine_code.ports import Interface
from ostinato.runtime.run.artifact import Artifact, Words
from ostinato.runtime.run.execution import Bound
from ostinato.runtime.run.executor import Executable
from tests.codegen.loops.reading import module

SOURCE = """
from ostinato.codegen.cpu.prelude import driver

@driver(
    "int64", "int64", "int64[::1]", "int64[::1]", "uint8[::1]", "int64[::1]", "int64", "int64",
    "int64[::1]",
)
def main(tid, nt, bar, kernels, arena, at, stride, seed, control):
    control[8] = seed

KERNELS = ()
"""


def nowhere(extents: object, workers: int) -> Layout:
    """A layout without tensors."""
    return Layout({}, 0, 0, 0)


def artifact() -> Artifact:
    code = SOURCE, partial(units, tuple(module(SOURCE)))
    interface = Interface((), (), (), (), (), "", frozenset())
    return Artifact(*code, interface, nowhere, {}, {}, Words(0, 8, 24, 48, 16))


def stored(key: str) -> Path:
    """Keep the artifact and return its directory."""
    place = programs.store(key, artifact())
    assert place is not None
    return place


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(programs.VARIABLE, str(tmp_path))
    trust.warn_once.cache_clear()


def test_what_was_stored_is_found() -> None:
    key = programs.digest("one")
    assert programs.load(key) is None
    place = stored(key)
    found = programs.load(key)
    assert found is not None
    assert found.source == SOURCE
    assert place == programs.directory_of(key)


def test_a_digest_knows_where_its_parts_end() -> None:
    assert programs.digest("ab", "c") != programs.digest("a", "bc")
    assert programs.digest("ab") == programs.digest(b"ab")


@pytest.mark.parametrize("damage", ["truncate", "garbage", "foreign", "edited"])
def test_a_damaged_entry_is_rebuilt_with_a_warning(damage: str) -> None:
    key = programs.digest(damage)
    place = stored(key)
    path = place / programs.ARTIFACT
    raw = path.read_bytes()
    match damage:
        case "truncate":
            path.write_bytes(raw[:-7])
        case "garbage":
            path.write_bytes(b"no artifact")
        case "foreign":
            path.write_bytes(pickle.dumps({"a": 1}))
        case _:
            (place / "program.py").write_text("x = 1")
    with pytest.warns(UserWarning, match="is damaged"):
        assert programs.load(key) is None
    assert programs.store(key, artifact()) == place
    assert programs.load(key) is not None


def test_processes_may_store_the_same_key_at_once() -> None:
    key = programs.digest("shared")
    with ThreadPoolExecutor(8) as pool:
        places = list(pool.map(programs.store, [key] * 32, [artifact()] * 32))
    assert set(places) == {programs.directory_of(key)}
    assert programs.load(key) is not None
    assert [p.name for p in programs.directory_of(key).parent.iterdir()] == [key]


def test_a_cache_that_cannot_be_written_keeps_nothing_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(programs.VARIABLE, str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="nothing is cached"):
        assert programs.store(programs.digest("x"), artifact()) is None
    assert (tmp_path / "file").read_text() == ""


def test_a_second_load_takes_the_compiled_code_from_disk(tmp_path: Path) -> None:
    key = programs.digest("compiled")
    place = stored(key)
    Executable(artifact(), place, key).run(Bound({}))
    (made,) = (tmp_path / "objects").rglob("*.o")
    before = made.stat().st_ino
    Executable(artifact(), place, key).run(Bound({}))
    assert made.stat().st_ino == before


@pytest.mark.parametrize("damage", ["no kernel", "0" * 64 + "\n"])
def test_damaged_machine_code_is_compiled_again(tmp_path: Path, damage: str) -> None:
    key = programs.digest("machine code", damage)
    place = stored(key)
    Executable(artifact(), place, key).load()
    (made,) = (tmp_path / "objects").rglob("*.o")
    good = made.read_bytes()
    made.write_text(damage)
    with pytest.warns(UserWarning, match="its digest is wrong.: compiled again"):
        Executable(artifact(), place, key).run(Bound({}))
    assert made.read_bytes() == good


def test_the_runtime_needs_no_compiler() -> None:
    """A process that runs from the cache imports no e-graph, no sets, no algebra."""
    code = (
        "import sys, ostinato.runtime.run.executor, ostinato.runtime.run.stream\n"
        "import ostinato.runtime.cache.programs\n"
        "bad = {'egglog', 'islpy', 'sympy', 'numba', 'ostinato.codegen'} & set(sys.modules)\n"
        "assert not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": "src"})

"""Histories that do not fit into memory lie in a file."""

import errno
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import MemoryLimitError, OptionError
from tests.api.test_memory_limit import HINTS, trained

LIMIT = 250_000  # the argument takes 65,536, and steps in use take memory


@cache
def given() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    weights = {f"w{k}": rng.normal(size=(16, 8)) for k in range(2)}
    return {"x": rng.normal(size=(16, 128, 8)), **weights}


@cache
def spilled() -> Any:
    return trained().compile(memory_limit=LIMIT, spill=True, hints=HINTS)


def test_what_lies_in_a_file_has_the_same_bits() -> None:
    expected = trained().compile(hints=HINTS)(**given())
    for _ in range(2):
        found = spilled()(**given())
        assert all(found[name].tobytes() == value.tobytes() for name, value in expected.items())


def test_all_but_histories_stays_in_memory_and_is_told() -> None:
    use = spilled().explain(**HINTS).memory
    assert use.predicted_peak_bytes <= LIMIT < use.file_bytes
    assert f"peak {use.predicted_peak_bytes:,} bytes, {use.file_bytes:,} bytes in a file" in str(
        use
    )
    (line,) = (line for line in use.table().splitlines() if line.endswith("in a file"))
    assert line.startswith("of the workers")


def test_no_file_has_a_name_while_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_SPILL_DIR", str(tmp_path))
    run = trained().compile(memory_limit=LIMIT + 64, spill=True, hints=HINTS)
    run(**given())
    mapped = Path("/proc/self/maps")
    assert not mapped.exists() or f"{tmp_path}/ostinato-spill-" in mapped.read_text()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, start: int, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    monkeypatch.setenv("OSTINATO_SPILL_DIR", str(tmp_path))
    run = trained().compile(memory_limit=LIMIT + 128, spill=True, hints=HINTS)
    with pytest.raises(MemoryLimitError) as caught:
        run(**given())
    assert caught.value.fact.endswith(f"which {tmp_path} has no room for: No space left on device")
    assert "OSTINATO_SPILL_DIR" in caught.value.remedy
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="no way to drop a cache")
def test_what_leaves_memory_leaves_the_cache_if_a_user_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dropped, advise = list[int](), os.posix_fadvise

    def told(file: int, start: int, size: int, advice: int) -> None:
        dropped.append(size)
        advise(file, start, size, advice)

    monkeypatch.setenv("OSTINATO_SPILL_CACHE", "0")
    monkeypatch.setattr(os, "posix_fadvise", told)
    run = trained().compile(memory_limit=LIMIT + 320, spill=True, hints=HINTS)
    found, expected = run(**given())["slope"], spilled()(**given())["slope"]
    assert found.tobytes() == expected.tobytes()
    assert sum(dropped) >= run.explain(**HINTS).memory.file_bytes


def test_a_folder_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_SPILL_DIR", "/nowhere/at/all")
    run = trained().compile(memory_limit=LIMIT + 192, spill=True, hints=HINTS)
    with pytest.raises(MemoryLimitError, match="/nowhere/at/all has no room for: No such file"):
        run(**given())


def test_a_process_that_forks_shares_no_file() -> None:
    expected = spilled()(**given())["slope"].tobytes()
    child = os.fork()
    if not child:
        same = spilled()(**{**given(), "w0": given()["w1"]})["slope"].tobytes() != expected
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert spilled()(**given())["slope"].tobytes() == expected


def test_a_file_needs_a_limit() -> None:
    with pytest.raises(OptionError) as caught:
        trained().compile(spill=True)
    assert caught.value.fact == "`spill` is given without a `memory_limit`"


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no folder that is in memory")
def test_a_folder_that_is_in_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_SPILL_DIR", "/dev/shm")
    run = trained().compile(memory_limit=LIMIT + 256, spill=True, hints=HINTS)
    with pytest.warns(UserWarning, match="/dev/shm is kept in memory .tmpfs.: what lies in a file"):
        run(**given())


def moved(passages: Any) -> int:
    """How many transfers there are in a call of each kernel."""
    return sum(part.times * len(part.transfers) for p in passages for part in p.parts)


@contextmanager
def seen(kind: str) -> Generator[list[int]]:
    """The most by which such memory grows meanwhile."""
    before, most, over = resident(kind), [0], threading.Event()

    def look() -> None:
        while not over.wait(0.001):
            most[0] = max(most[0], resident(kind) - before)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def resident(kind: str) -> int:
    """Bytes of this process, anonymous (RssAnon) or of files (RssFile)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(x.split()[1]) << 10 for x in lines if x.startswith(kind))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no account of memory")
def test_other_memory_of_the_process_grows_by_no_more_than_the_peak() -> None:
    sizes = {"B": 16, "T": 10_000}
    shapes = {"x": (16, 10_000, 8), "w0": (16, 8), "w1": (16, 8)}
    arrays = {n: np.full(shape, 0.1, "float32") for n, shape in shapes.items()}
    other = ("computing again", "late readers", "segments")
    limit = arrays["x"].nbytes + 1_000_000
    run = trained().compile(memory_limit=limit, spill=True, hints=sizes, without=other)
    run(**{**arrays, "x": arrays["x"][:, :10]})
    before, use = resident("RssAnon"), run.explain(**sizes).memory
    with seen("RssFile") as most:
        run(**arrays)
    assert use.file_bytes > 4 * limit and not use.unplanned
    assert resident("RssAnon") - before <= use.predicted_peak_bytes + (1 << 20)
    assert most[0] <= use.room_bytes + (2 << 20)


def test_every_transfer_of_the_plan_is_done_in_every_call() -> None:
    spilled()(**given())
    frame = spilled().executable.frame(HINTS)
    spilled().executable._free = [frame]
    planned = moved(frame.layout.moves.passages)
    calls = -(-HINTS["B"] // 8)  # tiles
    assert frame.transfers.count == calls * planned > 0


def test_transfers_take_turns_with_computing_and_are_shown() -> None:
    use = spilled().explain(**HINTS).memory
    (timeline,) = use.transfers
    link = sum(end - first for first, end in timeline.moving)
    assert abs(link - timeline.bytes) < 1  # a gigabyte a second
    assert max(link, timeline.compute_ns) <= timeline.end_ns <= link + timeline.compute_ns
    assert str(timeline) in str(spilled().explain(**HINTS))


def test_what_no_kernel_goes_through_step_by_step_is_named() -> None:
    use = trained().compile(memory_limit=50_000, spill=True, hints=HINTS).explain(**HINTS).memory
    assert use.unplanned == ("x",) and "moved by the system: x" in str(use)


def test_certificates_cover_what_lies_in_a_file(tmp_path: Path) -> None:
    spilled().certificate(tmp_path / "file.json")
    verdict = ot.verify_certificate(tmp_path / "file.json")
    assert verdict.holds, str(verdict)


def test_a_device_moves_nothing_to_a_file() -> None:
    with pytest.raises(OptionError) as caught:
        trained().compile(memory_limit=LIMIT, spill=True, hints=HINTS, target="cuda")
    assert caught.value.fact == "`spill` is given, and target='cuda' moves nothing to a file"

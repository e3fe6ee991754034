"""Workers without a processor: results are the same bits, and nobody waits for who holds nothing.

Here a worker begins late or never, and kernels stop at random moments as if the system had taken
the processor away from the worker that runs them.
"""

from __future__ import annotations

import ctypes
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.compiler.compiled import Compiled
from ostinato.runtime.run.blocking_pool import Entry, Workers
from ostinato.runtime.run.executor import Executable
from ostinato.runtime.run.spinning_pool import HELD, Post
from tests.pipeline.programs import SMALL, grid, reinforce
from tests.returned import all_returned

Outputs = dict[str, npt.NDArray[np.float32]]
TRAINING = "reinforce"
SIZES = {
    "shared_weight": {"B": 530, "T": 5, "I": 4},
    "crowd": {"B": 530, "T": 6},
    TRAINING: {"B": 530, "T": 12, "I": 2},
    "grid": {"T": 9},
}
NAMES = tuple(SIZES)
PAUSES = (0.0, 0.0, 0.0, 0.0, 2e-4, 2e-3)


@cache
def program(name: str) -> Compiled:
    if name not in SMALL:
        return {TRAINING: reinforce, "grid": grid}[name]().compile(threads=2)
    return SMALL[name][0]().compile(widths={"b": 32}, threads=2)


@cache
def expected(name: str) -> Outputs:
    """What one worker computes."""
    return run(name, 1)


def run(name: str, threads: int) -> Outputs:
    executable, extents = program(name).executable, SIZES[name]
    executable.threads = threads
    assert executable.workers(extents) == threads
    return program(name)(seed=3, **extents)


def assert_expected(name: str, found: Outputs) -> None:
    for output, value in expected(name).items():
        assert value.tobytes() == found[output].tobytes(), output


def starting(begin: Callable[[int], object]) -> type[Workers]:
    """Workers of which each does something before it begins."""

    class Late(Workers):
        def _work(self, entry: Entry, *arguments: object) -> None:
            tid = arguments[0]
            assert isinstance(tid, int)
            begin(tid)
            super()._work(entry, *arguments)

    return Late


@pytest.mark.parametrize("threads", [2, 3, 16])
@pytest.mark.parametrize("name", NAMES)
def test_workers_that_begin_at_any_time_give_the_same_bits(
    name: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    want, chance = expected(name), random.Random(threads)
    assert want

    def delay(_: int) -> None:
        time.sleep(chance.choice((0.0, 1e-4, 1e-3, 5e-3)))

    late = starting(delay)
    monkeypatch.setattr("ostinato.runtime.run.executor.Workers", late)
    monkeypatch.setattr(Executable, "is_brief", never)
    for _ in range(6):
        assert_expected(name, run(name, threads))


@pytest.mark.parametrize("absent", [(0,), (1,), (1, 2), (0, 2)])
@pytest.mark.parametrize("name", NAMES)
def test_a_run_ends_without_workers_that_never_begin(
    name: str, absent: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    want, go = expected(name), threading.Event()
    assert want

    def delay(tid: int) -> None:
        if tid in absent:
            go.wait(60)

    late = starting(delay)
    monkeypatch.setattr("ostinato.runtime.run.executor.Workers", late)
    monkeypatch.setattr(Executable, "is_brief", never)
    try:
        for _ in range(3):  # a later run has what an absent worker of an earlier one may still use
            assert_expected(name, run(name, 3))
        assert not go.is_set()
    finally:
        go.set()
    assert all_returned()
    assert_expected(name, run(name, 3))


@pytest.fixture
def stopping(request: pytest.FixtureRequest) -> Iterator[str]:
    """A program in whose kernels workers stop now and then, before and after the work."""
    name: str = request.param
    assert expected(name)
    executable, chance = program(name).executable, random.Random(7)
    counts = map(int, re.findall(r"@kernel\((\d+)", executable.artifact.source))
    before, kept = executable.loaded, list[object]()

    def stopped(address: int, count: int) -> int:
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * (2 + count))
        kernel = kind(address)

        def call(*arguments: int) -> None:
            time.sleep(chance.choice(PAUSES))
            kernel(*arguments)
            time.sleep(chance.choice(PAUSES))

        made = kind(call)
        kept.append(made)
        return ctypes.cast(made, ctypes.c_void_p).value or 0

    table = [stopped(int(a), n) for a, n in zip(before.kernels[:-1], counts, strict=True)]
    executable.loaded = replace(before, kernels=np.array([*table, 0], np.int64))
    yield name
    executable.loaded = before


@pytest.mark.parametrize("threads", [2, 3, 16])
@pytest.mark.parametrize("stopping", NAMES, indirect=True)
def test_workers_that_stop_in_the_middle_of_an_item_give_the_same_bits(
    stopping: str, threads: int
) -> None:
    for _ in range(2):
        assert_expected(stopping, run(stopping, threads))


@pytest.mark.parametrize("name", NAMES)
def test_a_brief_run_ends_without_threads_that_do_not_wake(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert expected(name)
    monkeypatch.setattr("ostinato.runtime.run.executor.BRIEF_S", 60.0)
    run(name, 3)

    class Sleeper(Post):
        def wake(self) -> None:
            self.state[0] = HELD

    with monkeypatch.context() as patch:
        patch.setattr(Post, "take", Sleeper)
        for _ in range(3):
            assert_expected(name, run(name, 3))
    assert_expected(name, run(name, 3))
    sleepers = [post for post in Post.looking if isinstance(post, Sleeper)]
    assert len(sleepers) == 6
    Post.looking = [post for post in Post.looking if post not in sleepers]


def test_the_words_of_a_brief_run_name_the_kernels_that_are_loaded_now() -> None:
    executable, extents = program(TRAINING).executable, SIZES[TRAINING]
    frame = executable.frame(extents)

    def words(kernels: npt.NDArray[np.int64]) -> list[int]:
        place = frame.table, frame.layout.local_stride, 3, frame.control
        arguments = (frame.shared, kernels, frame.arena, *place, *extents.values())
        rows = frame.rows(frame.workers, arguments)
        return [int(row[1]) - kernels.ctypes.data for row in rows[:, 2:]]

    before = executable.loaded.kernels
    assert words(before) == words(before.copy()) == [0] * frame.workers


def never(*_: object) -> bool:
    return False


def always(*_: object) -> bool:
    return True

"""Phases: every item is done once, and nobody is waited for who holds none."""

from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.cpu.flags import DRIVER
from ostinato.codegen.cpu.llvm import Builder, declare
from ostinato.codegen.cpu.llvm_text import I32, Value
from ostinato.codegen.cpu.numba_door import njit
from ostinato.codegen.cpu.phase_workers import (
    LOOKS_FOR,
    THREAD,
    atomic_add,
    awaited,
    claim,
    finish,
    load_acquire,
    open_next,
    rest,
)
from ostinato.codegen.cpu.primitive import in_llvm
from ostinato.codegen.loops.shared_words import OPEN, SHARED_WORDS, WORKER_WORDS

Array = npt.NDArray[Any]
ITEMS = 7


@in_llvm("void", "int64")
def nap_us(b: Builder, args: list[Value]) -> None:
    b.call(declare(b, "usleep", I32, [I32]), [b.trunc(args[0], I32)])


@njit(**DRIVER)
def go_through(words: Array, done: Array, seen: Array, worker: int, workers: int, nap: int) -> None:
    """Count who does which item of each phase, and see that the phase before is complete."""
    for phase in range(len(done)):
        if phase % 16 == worker and nap > 0:
            nap_us(nap)
        if load_acquire(words, OPEN) == phase:
            count = 0
            item = claim(words, phase, worker, workers, ITEMS, count)
            while item >= 0:
                if phase > 0:
                    for other in range(ITEMS):
                        if load_acquire(done[phase - 1], other) != 1:
                            atomic_add(seen, 0, 1)
                if nap > 0 and item == phase % ITEMS and phase % 8 == 0:
                    nap_us(nap)
                atomic_add(done[phase], item, 1)
                count += 1
                item = claim(words, phase, worker, workers, ITEMS, count)
            if finish(words, workers, ITEMS, count) == 1:
                open_next(words, workers)
        rest(words, phase + 1, worker, workers)


def words_of(workers: int) -> Array:
    return np.zeros(SHARED_WORDS + WORKER_WORDS * workers, np.int64)


@pytest.mark.parametrize("nap", [0, 30])
@pytest.mark.parametrize("workers", [1, 2, 3, 16])
def test_every_item_is_done_once_and_after_the_phase_before(workers: int, nap: int) -> None:
    words, done, wrong = words_of(workers), np.zeros((600, ITEMS), np.int64), np.zeros(1, np.int64)
    all_done(words, done, wrong, range(workers), workers, nap)
    assert (done == 1).all() and wrong[0] == 0


@pytest.mark.parametrize("present", [[0], [1], [2, 0]])
def test_phases_end_without_a_worker_that_never_begins(present: list[int]) -> None:
    words, done, wrong = words_of(3), np.zeros((50, ITEMS), np.int64), np.zeros(1, np.int64)
    all_done(words, done, wrong, present, 3, 0)
    assert (done == 1).all() and wrong[0] == 0


def test_a_worker_that_comes_when_all_is_over_does_nothing() -> None:
    words, done, wrong = words_of(2), np.zeros((50, ITEMS), np.int64), np.zeros(1, np.int64)
    all_done(words, done, wrong, [1], 2, 0)
    all_done(words, done, wrong, [0], 2, 0)
    assert (done == 1).all() and wrong[0] == 0


@njit(**DRIVER)
def watch(words: Array, found: Array, phase: int) -> None:
    found[0] = awaited(words, phase, 0, 1)


@pytest.mark.parametrize(
    ("looks_for", "is_awaited"), [(0, True), (7, True), (8, False), (-8, False), (-7, True)]
)
def test_who_waits_for_the_same_phase_awake_or_asleep_is_not_waited_for(
    looks_for: int, is_awaited: bool
) -> None:
    words, found, own = words_of(2), np.zeros(1, np.int64), SHARED_WORDS + WORKER_WORDS
    words[own + LOOKS_FOR], words[own + THREAD] = looks_for, 123
    watch(words, found, 7)
    assert found[0] == (123 if is_awaited else 0)


def all_done(words: Array, done: Array, wrong: Array, present: Any, workers: int, nap: int) -> None:
    threads = [
        Thread(target=go_through, args=(words, done, wrong, k, workers, nap)) for k in present
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)


@njit(**DRIVER)
def count_up(words: Array, rounds: int) -> None:
    for _ in range(rounds):
        atomic_add(words, 0, 1)


def test_atomic_additions_are_not_lost() -> None:
    words = np.zeros(1, np.int64)
    count_up(words, 0)
    threads = [Thread(target=count_up, args=(words, 20_000)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert words[0] == 60_000

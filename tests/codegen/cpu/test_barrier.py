"""Workers that meet at a barrier see each other's writes."""

from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.codegen.cpu.barrier import BARRIER_WORDS, atomic_add, barrier
from ostinato.codegen.cpu.flags import DRIVER
from ostinato.codegen.cpu.twins import njit

Array = npt.NDArray[Any]
ROUNDS = 2000


@njit(**DRIVER)
def swap_rounds(words: Array, own: Array, seen: Array, worker: int, workers: int) -> None:
    """Publish the round, meet, and add what the neighbour published."""
    for step in range(ROUNDS):
        own[worker * 16] = step
        barrier(words, workers)
        seen[worker] += own[(worker + 1) % workers * 16]
        barrier(words, workers)


@njit(**DRIVER)
def count_up(words: Array, rounds: int) -> None:
    for _ in range(rounds):
        atomic_add(words, 0, 1)


def run_all(kernel: Any, arguments: list[tuple[object, ...]]) -> None:
    threads = [Thread(target=kernel, args=each) for each in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)


def test_two_workers_always_see_the_round_of_the_other() -> None:
    words = np.zeros(BARRIER_WORDS, np.int64)
    own, seen = np.zeros(64, np.int64), np.zeros(2, np.int64)
    swap_rounds(words, own, seen, 0, 1)  # compiled, alone: a barrier of one does not wait
    seen[:] = 0
    run_all(swap_rounds, [(words, own, seen, worker, 2) for worker in range(2)])
    assert seen.tolist() == [ROUNDS * (ROUNDS - 1) // 2] * 2


def test_atomic_additions_are_not_lost() -> None:
    words = np.zeros(1, np.int64)
    count_up(words, 0)
    run_all(count_up, [(words, 20_000)] * 3)
    assert words[0] == 60_000

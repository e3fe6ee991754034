"""The threads that run a compiled driver, and the words they share with Python."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import numpy as np

Entry = Callable[..., None]
BARRIER_WORDS = 64


def available_cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    """Threads that run ``entry(tid, nt, barrier, *arguments)`` from the start to the end.

    All of them are background threads, so that Ctrl-C reaches the caller while they work.
    """

    def __init__(self, entry: Entry, count: int, arguments: tuple[object, ...]) -> None:
        """Start ``count`` workers."""
        self._failure: BaseException | None = None
        barrier = np.zeros(BARRIER_WORDS, np.int64)
        shared = (count, barrier, *arguments)
        self._threads = [
            threading.Thread(target=self._work, args=(entry, tid, *shared), daemon=True)
            for tid in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def _work(self, entry: Entry, *arguments: object) -> None:
        try:
            entry(*arguments)
        except BaseException as failure:  # handed to the thread that waits
            self._failure = failure

    def is_running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def wait(self) -> None:
        """Wait until all workers have returned, and raise what any of them raised."""
        for thread in self._threads:
            thread.join()
        if self._failure is not None:
            raise self._failure

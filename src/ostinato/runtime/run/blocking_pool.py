"""The threads that run a compiled driver, and the words they share with Python."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import ClassVar

from ostinato.pdg.forked import in_forked_processes

Entry = Callable[..., None]
NAP_S = 0.02
GRACE_S = 3e-4  # in which the others of a run return, if they have processors


class PoolThread:
    """A background thread that does one job after the other, and is idle between them.

    All runs share these threads, long ones and brief ones.
    """

    idle: ClassVar[list[PoolThread]] = []
    busy: ClassVar[set[PoolThread]] = set()  # with the part of a run that they must end

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            self._jobs.get()()

    @classmethod
    def take(cls) -> PoolThread:
        """An idle thread, or a new one."""
        try:
            return cls.idle.pop()
        except IndexError:
            return cls()

    def do(self, job: Callable[[], object], ended: threading.Lock | None = None) -> None:
        """Begin a job; ``ended``, of a part of a run, is held until it is over."""
        if ended is not None:
            ended.acquire()
            PoolThread.busy.add(self)

        def work() -> None:
            try:
                job()
            finally:
                PoolThread.busy.discard(self)
                PoolThread.idle.append(self)
                if ended is not None:
                    ended.release()

        self._jobs.put(work)


def working() -> int:
    """How many workers of this process are in a run."""
    return len(PoolThread.busy)


def _forget() -> None:
    """A forked process has none of the threads."""
    PoolThread.idle.clear()
    PoolThread.busy.clear()


in_forked_processes(_forget)


class Workers:
    """Threads that run ``entry(tid, nt, *arguments)`` from the start to the end.

    Who returns has seen the end of all work: the run is over when the first one returns. One that
    had no processor returns later, or never begins. All of them are background threads, so that
    Ctrl-C reaches the caller while they work. They wait for the next run when one is over:
    starting a thread takes longer than a small program. Of a run that ``is_brief`` the thread that
    waits is the first worker: waking another one takes longer than Ctrl-C may have to wait.
    """

    def __init__(
        self,
        entry: Entry,
        count: int,
        arguments: tuple[object, ...],
        is_brief: bool = False,
        memory: object = None,
    ) -> None:
        """Start ``count`` workers; the first one of a brief run starts with `wait`.

        ``memory`` is what they may touch: kept until the last one has ended, awaited or not.
        """
        self._failure: BaseException | None = None
        self._memory = memory
        self._over = threading.Event()
        shared = (count, *arguments)
        self._mine = partial(self._work, entry, 0, *shared) if is_brief else None
        first = 1 if is_brief else 0
        self._ended = [threading.Lock() for _ in range(first, count)]
        threads = [PoolThread.take() for _ in self._ended]
        for tid, (thread, ended) in enumerate(zip(threads, self._ended, strict=True), first):
            thread.do(partial(self._work, entry, tid, *shared), ended)

    def _work(self, entry: Entry, *arguments: object) -> None:
        if self._over.is_set():
            return  # the others have done everything
        try:
            entry(*arguments)
        except BaseException as failure:  # handed to the thread that waits
            self._failure = failure
        self._over.set()

    def is_running(self) -> bool:
        return not self._over.is_set()

    def is_late(self) -> bool:
        """Whether a worker has not returned."""
        return any(ended.locked() for ended in self._ended)

    def wait(self, seconds: float = math.inf) -> None:
        """Wait until the run is over, and raise what a worker raised.

        With ``seconds``, wait no longer. A signal that arrives just before a thread goes to sleep
        does not wake it, so that it looks from time to time.
        """
        mine, self._mine = self._mine, None
        if mine is not None:
            mine()
        end = time.monotonic() + seconds
        while not self._over.wait(NAP_S):
            if time.monotonic() > end:
                return
        self._await_others()
        if self._failure is not None:
            raise self._failure

    def _await_others(self) -> None:
        end = time.monotonic() + GRACE_S
        for ended in self._ended:
            if ended.acquire(timeout=max(0.0, end - time.monotonic())):
                ended.release()

"""Brief runs: their workers look for the next run a while before they sleep.

Waking a thread takes longer than many a run. So a worker that is done with its part looks at a word
that the next caller writes, without the GIL, and sleeps when nobody comes. The caller is the first
worker; no signal reaches it before the end of all work. Who had no processor may return after it.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from queue import SimpleQueue

import numpy as np
import numpy.typing as npt

from ostinato.runtime.build import objects, optimise
from ostinato.runtime.build.linking import Entry, Library, key_of, named
from ostinato.runtime.disk import folder
from ostinato.runtime.run.arrays import empty_arena
from ostinato.runtime.run.cores import available_cores
from ostinato.runtime.run.pool_code import (
    ASLEEP,
    HELD,
    LEAD,
    LOOKING,
    SERVE,
    SLOT_BYTES,
    TAKEN,
    spread,
)

LOOKS = 16_000  # before a thread sleeps: 0.2 ms or so, longer than Python is between two calls


class Post:
    """A thread that serves brief runs, and the slot through which it is told what to do."""

    looking: list[Post]  # or asleep since; no run has them
    late: list[Post]  # those that have not returned from a run that is over

    def __init__(self) -> None:
        self.state: npt.NDArray[np.int64] = empty_arena(SLOT_BYTES).view(np.int64)
        self.state[:] = ASLEEP
        self.address = self.state.ctypes.data
        self._calls: SimpleQueue[None] = SimpleQueue()
        self._serve = _native(SERVE, 2)  # an error is the caller's
        self.memory: object = None  # what a late one may touch
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        looks = LOOKS if available_cores() > 1 else 1
        while True:
            self._calls.get()
            self._serve.function(self.address, looks)

    def wake(self) -> None:
        """Let the thread look for work until it is given some."""
        self.state[0] = HELD
        self._calls.put(None)

    def let_go(self) -> None:
        """Let the thread sleep if nobody needs it."""
        if self.state[0] == HELD:
            self.state[0] = LOOKING

    def give_back(self, memory: object) -> bool:
        """Wait for another run; False if the thread is late, and may touch some memory."""
        self.let_go()
        is_late = self.state[0] == TAKEN
        self.memory = memory if is_late else None
        (Post.late if is_late else Post.looking).append(self)
        return not is_late

    @classmethod
    def take(cls) -> Post:
        """One that no run has; a new one only if there is none."""
        try:
            for _ in range(len(cls.late)):
                post = cls.late.pop(0)  # nobody else has it now
                post.give_back(post.memory)
        except IndexError:
            pass  # another thread was faster
        try:
            return cls.looking.pop()
        except IndexError:
            return cls()


Post.looking, Post.late = [], []


def _forget() -> None:
    """A forked process has none of the threads."""
    Post.looking, Post.late = [], []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class Crew:
    """The workers of a brief run of machine code; they begin when the caller waits for them."""

    def __init__(self, entry: Entry, words: npt.NDArray[np.int64], memory: object) -> None:
        """Row k of ``words`` has the arguments of worker k; a late one may touch ``memory``."""
        self._entry, self._words, self._memory = entry, words, memory
        self._is_awaited = self._is_late = False

    def is_running(self) -> bool:
        return False

    def is_late(self) -> bool:
        """Whether a worker has not returned."""
        return self._is_late

    def wait(self, seconds: float = math.inf) -> None:
        """Run, and return when all work is done; nothing is left to wait for later."""
        if self._is_awaited:
            return
        self._is_awaited = True
        workers, count = self._words.shape
        run, place = _spread(count), self._words.ctypes.data
        if workers == 1:
            run.function(self._entry.address, place)
            return
        lead, posts = lead_of(), [Post.take() for _ in range(workers - 1)]
        try:
            slots = np.array([post.address for post in posts], np.int64)
            job = slots.ctypes.data, run.address, self._entry.address, place, count
            while (asleep := lead(workers - 1, *job)) > 0:
                posts[asleep - 1].wake()
        finally:
            memory = (self._words, self._memory, self._entry, run)
            self._is_late = not all([post.give_back(memory) for post in posts])


@dataclass(frozen=True)
class _Native:
    """A function of integers, called without the GIL; it is valid as long as its library is."""

    library: Library
    address: int
    function: Callable[..., int]


def _native(text: str, count: int) -> _Native:
    """The function of a module, which takes so many integers."""
    return made_for(text, count, folder.diverted())


@cache
def made_for(text: str, count: int, _cache: str) -> _Native:
    """The same, made once for each cache: one is not used where another one is looked at."""
    key = key_of(text)
    body = objects.load(key)
    if body is None:
        body = optimise.machine_code(named(text, key))
        objects.store(key, body)
    library = Library({key: body})
    address = library.address(key)
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)
    return _Native(library, address, kind(address))


def lead_of() -> Callable[..., int]:
    """What a caller does: see `LEAD`."""
    return _native(LEAD, 6).function


def _spread(count: int) -> _Native:
    return _native(spread(count), 2)

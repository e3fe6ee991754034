"""Brief runs: their workers look for the next run a while before they sleep.

Waking a thread takes longer than many a run. So a worker that is done with its part looks at a word
that the next caller writes, without the GIL, and sleeps when nobody comes. The caller is the first
worker; no signal reaches it between the first worker's start and the last one's end.
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

from ostinato.runtime import objects, optimise
from ostinato.runtime.arrays import empty_arena
from ostinato.runtime.linking import Entry, Library, key_of, named
from ostinato.runtime.posts import ASLEEP, HELD, LEAD, LOOKING, SERVE, SLOT_BYTES, spread
from ostinato.runtime.workers import available_cores

LOOKS = 16_000  # before a thread sleeps: 0.2 ms or so, longer than Python is between two calls


class _Post:
    """A thread that serves brief runs, and the slot through which it is told what to do."""

    looking: list[_Post]  # or asleep since; no run has them

    def __init__(self) -> None:
        self.state: npt.NDArray[np.int64] = empty_arena(SLOT_BYTES).view(np.int64)
        self.state[:] = ASLEEP
        self.address = self.state.ctypes.data
        self._calls: SimpleQueue[None] = SimpleQueue()
        self._serve = _native(SERVE, 2).function  # an error is the caller's
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        looks = LOOKS if available_cores() > 1 else 1
        while True:
            self._calls.get()
            self._serve(self.address, looks)

    def wake(self) -> None:
        """Let the thread look for work until it is given some."""
        self.state[0] = HELD
        self._calls.put(None)

    def let_go(self) -> None:
        """Let the thread sleep if nobody needs it."""
        if self.state[0] == HELD:
            self.state[0] = LOOKING


_Post.looking = []


def _forget() -> None:
    """A forked process has none of the threads."""
    _Post.looking = []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class Crew:
    """The workers of a brief run of machine code; they begin when the caller waits for them."""

    def __init__(self, entry: Entry, words: npt.NDArray[np.int64], memory: object) -> None:
        """Row k of ``words`` has the arguments of worker k; ``memory`` is kept while they work."""
        self._entry, self._words, self._memory = entry, words, memory
        self._is_awaited = False

    def is_running(self) -> bool:
        return False

    def wait(self, seconds: float = math.inf) -> None:
        """Run, and return when all workers have returned; nothing is left to wait for later."""
        if self._is_awaited:
            return
        self._is_awaited = True
        workers, count = self._words.shape
        run, place = _spread(count), self._words.ctypes.data
        if workers == 1:
            run.function(self._entry.address, place)
            return
        lead, posts = lead_of(), [_post() for _ in range(workers - 1)]
        try:
            slots = np.array([post.address for post in posts], np.int64)
            job = slots.ctypes.data, run.address, self._entry.address, place, count
            while asleep := lead(workers - 1, *job):
                posts[asleep - 1].wake()
        finally:
            for post in posts:
                post.let_go()
            _Post.looking += posts


def _post() -> _Post:
    try:
        return _Post.looking.pop()
    except IndexError:
        return _Post()


@dataclass(frozen=True)
class _Native:
    """A function of integers, called without the GIL; it is valid as long as its library is."""

    library: Library
    address: int
    function: Callable[..., int]


@cache
def _native(text: str, count: int) -> _Native:
    """The function of a module, which takes so many integers."""
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


@cache
def _spread(count: int) -> _Native:
    return _native(spread(count), 2)

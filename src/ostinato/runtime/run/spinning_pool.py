"""Brief runs: their workers look for the next run a while before they sleep.

Waking a thread takes longer than many a run. So a worker that is done with its part looks at a word
that the next caller writes, without the GIL, and sleeps when nobody comes. The caller is the first
worker; no signal reaches it before the end of all work. Who had no processor may return after it.

A post is a slot of `SLOT_BYTES`: its state, then in another cache line what is to be done. A thread
that is ``LOOKING`` may fall ``ASLEEP``; one that is ``HELD`` goes on looking; what is ``POSTED`` is
``TAKEN`` and done, and makes it ``LOOKING`` again. The caller takes back what nobody has taken.
"""

from __future__ import annotations

import ctypes
import math
import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from ostinato.pdg.forked import in_forked_processes
from ostinato.runtime.disk import folder
from ostinato.runtime.machine_code import objects, optimise
from ostinato.runtime.machine_code.linking import Entry, Library, key_of, named
from ostinato.runtime.machine_code.ports import SYMBOL
from ostinato.runtime.run.arrays import empty_arena
from ostinato.runtime.run.blocking_pool import PoolThread
from ostinato.runtime.run.cores import available_cores

ASLEEP, LOOKING, POSTED, HELD, TAKEN = range(5)
SLOT_BYTES = 256
_JOB = 16  # the first word of the job: two lines away, as processors fetch lines in pairs
_PATIENCE = 200  # looks of a caller for those who are about to return: a few microseconds

_IS_X86 = platform.machine().lower() in ("x86_64", "amd64", "i686", "i386")
_PAUSE = "call void @llvm.x86.sse2.pause()" if _IS_X86 else "call i32 @sched_yield()"
_DECLARED = "declare i32 @sched_yield()\n" + (
    "declare void @llvm.x86.sse2.pause()\n" if _IS_X86 else ""
)


@cache
def spread(count: int) -> str:
    """``f(entry, words)`` calls ``entry`` with so many words of an array."""
    loads = (
        f"  %p{k} = getelementptr i64, ptr %words, i64 {k}\n  %w{k} = load i64, ptr %p{k}\n"
        for k in range(count)
    )
    return (
        f'define void @"{SYMBOL}"(ptr %entry, ptr %words) {{\n{"".join(loads)}'
        f"  call void %entry({', '.join(f'i64 %w{k}' for k in range(count))})\n"
        "  ret void\n}\n"
    )


SERVE = f"""{_DECLARED}
define void @"{SYMBOL}"(ptr %slot, i64 %looks) {{
first:
  %run_at = getelementptr i64, ptr %slot, i64 {_JOB}
  %entry_at = getelementptr i64, ptr %slot, i64 {_JOB + 1}
  %words_at = getelementptr i64, ptr %slot, i64 {_JOB + 2}
  br label %look
take:
  %taken = cmpxchg ptr %slot, i64 {POSTED}, i64 {TAKEN} acq_rel acquire
  %is_taken = extractvalue {{i64, i1}} %taken, 1
  br i1 %is_taken, label %work, label %look
work:
  %run = load ptr, ptr %run_at
  %entry = load ptr, ptr %entry_at
  %words = load ptr, ptr %words_at
  call void %run(ptr %entry, ptr %words)
  store atomic i64 {LOOKING}, ptr %slot release, align 8
  br label %look
look:
  %n = phi i64 [0, %first], [0, %take], [0, %work], [%more, %wait], [0, %leave]
  %state = load atomic i64, ptr %slot acquire, align 8
  %is_posted = icmp eq i64 %state, {POSTED}
  br i1 %is_posted, label %take, label %wait
wait:
  {_PAUSE}
  %more = add i64 %n, 1
  %goes_on = icmp ult i64 %more, %looks
  br i1 %goes_on, label %look, label %leave
leave:
  %found = cmpxchg ptr %slot, i64 {LOOKING}, i64 {ASLEEP} acq_rel acquire
  %is_asleep = extractvalue {{i64, i1}} %found, 1
  br i1 %is_asleep, label %end, label %look
end:
  ret void
}}
"""
"""``serve(slot, looks)`` does what is posted until it looked so often for nothing."""

LEAD = f"""{_DECLARED}
define i64 @"{SYMBOL}"(i64 %others, ptr %slots, ptr %run, ptr %entry, ptr %words, i64 %row) {{
first:
  br label %holding
holding:
  %k = phi i64 [0, %first], [%k_next, %held]
  %k_more = icmp ult i64 %k, %others
  br i1 %k_more, label %hold, label %posting
hold:
  %k_at = getelementptr ptr, ptr %slots, i64 %k
  %k_slot = load ptr, ptr %k_at
  %found = cmpxchg ptr %k_slot, i64 {LOOKING}, i64 {HELD} acq_rel acquire
  %was = extractvalue {{i64, i1}} %found, 0
  %is_asleep = icmp eq i64 %was, {ASLEEP}
  %k_next = add i64 %k, 1
  br i1 %is_asleep, label %refused, label %held
refused:
  ret i64 %k_next
held:
  br label %holding
posting:
  %m = phi i64 [0, %holding], [%m_next, %post]
  %m_more = icmp ult i64 %m, %others
  br i1 %m_more, label %post, label %work
post:
  %m_next = add i64 %m, 1
  %m_at = getelementptr ptr, ptr %slots, i64 %m
  %m_slot = load ptr, ptr %m_at
  %run_at = getelementptr i64, ptr %m_slot, i64 {_JOB}
  %entry_at = getelementptr i64, ptr %m_slot, i64 {_JOB + 1}
  %words_at = getelementptr i64, ptr %m_slot, i64 {_JOB + 2}
  %offset = mul i64 %m_next, %row
  %m_words = getelementptr i64, ptr %words, i64 %offset
  store ptr %run, ptr %run_at
  store ptr %entry, ptr %entry_at
  store ptr %m_words, ptr %words_at
  store atomic i64 {POSTED}, ptr %m_slot release, align 8
  br label %posting
work:
  call void %run(ptr %entry, ptr %words)
  br label %joining
joining:
  %j = phi i64 [0, %work], [%j_next, %done]
  %looks = phi i64 [{_PATIENCE}, %work], [%left, %done]
  %late = phi i64 [0, %work], [%late_next, %done]
  %j_more = icmp ult i64 %j, %others
  br i1 %j_more, label %join, label %end
join:
  %j_next = add i64 %j, 1
  %j_at = getelementptr ptr, ptr %slots, i64 %j
  %j_slot = load ptr, ptr %j_at
  %back = cmpxchg ptr %j_slot, i64 {POSTED}, i64 {LOOKING} acq_rel acquire
  br label %look
look:
  %left = phi i64 [%looks, %join], [%fewer, %wait]
  %state = load atomic i64, ptr %j_slot acquire, align 8
  %is_taken = icmp eq i64 %state, {TAKEN}
  %is_patient = icmp ugt i64 %left, 0
  %waits = and i1 %is_taken, %is_patient
  br i1 %waits, label %wait, label %done
wait:
  {_PAUSE}
  %fewer = sub i64 %left, 1
  br label %look
done:
  %is_late = sext i1 %is_taken to i64
  %late_next = or i64 %late, %is_late
  br label %joining
end:
  ret i64 %late
}}
"""
"""``lead(others, slots, run, entry, words, row)`` is worker 0 of a run, and sees its end.

It returns 0, or -1 if another worker has not returned: that one does no more work of the run. If
the thread of a slot is asleep, it returns the slot's number from 1 on, and nothing was begun.
"""


LOOKS = 16_000  # before a thread sleeps: 0.2 ms or so, longer than Python is between two calls


class Post:
    """A slot through which a thread that looks at it is told to do its part of a brief run."""

    looking: list[Post]  # or left since; no run has them
    late: list[Post]  # those that have not returned from a run that is over

    def __init__(self) -> None:
        self.state: npt.NDArray[np.int64] = empty_arena(SLOT_BYTES).view(np.int64)
        self.state[:] = ASLEEP
        self.address = self.state.ctypes.data
        self._serve = _native(SERVE, 2)  # an error is the caller's
        self.memory: object = None  # what a late one may touch

    def wake(self) -> None:
        """Let a thread look for work until it is given some."""
        looks = LOOKS if available_cores() > 1 else 1
        self.state[0] = HELD
        PoolThread.take().do(partial(self._serve.function, self.address, looks))

    def let_go(self) -> None:
        """Let the thread leave if nobody needs it."""
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


in_forked_processes(_forget)


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
            while (asleep := lead.function(workers - 1, *job)) > 0:
                posts[asleep - 1].wake()
        finally:
            memory = (self._words, self._memory, self._entry, run)
            self._is_late = not all([post.give_back(memory) for post in posts])


@dataclass(frozen=True)
class _Native:
    """A function of integers, called without the GIL; it is valid as long as its library is.

    Who calls it holds the record: of two threads that make it at once, one has the only one.
    """

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


def lead_of() -> _Native:
    """What a caller does: see `LEAD`."""
    return _native(LEAD, 6)


def _spread(count: int) -> _Native:
    return _native(spread(count), 2)

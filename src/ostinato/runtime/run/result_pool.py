"""Memory of results that nobody holds any more, for the results of later calls.

A process gets each page of new memory with a fault, which may take longer than computing what is
written there. So a large result lies in a block of a pool: it goes back when the array and all its
views are gone, and the next result of that size is written where the caches and the tables of the
processor still know the place. Blocks that wait are bounded in bytes; the oldest are given up.
"""

from __future__ import annotations

import math
import mmap
import os
import sys
import threading
from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ostinato.pdg.forked import in_forked_processes
from ostinato.runtime.run.arrays import Array

KEPT = 1 << 28  # bytes of blocks that wait: results of some calls
PAGE, HUGE = 1 << 12, 1 << 21
WORTH_HUGE = 4 * HUGE  # bytes: rounding up to huge pages wastes less than a fifth of them


class Block:
    """Some memory of the system, and where it begins."""

    __slots__ = ("address", "memory", "size")

    def __init__(self, size: int) -> None:
        """Get ``size`` bytes, in huge pages if it is a number of them and the system has any."""
        is_huge = size % HUGE == 0
        raw = _new_memory(size + HUGE if is_huge else size)
        if is_huge and sys.platform == "linux" and os.path.isdir(_PAGES):
            raw.madvise(mmap.MADV_HUGEPAGE)
        whole = np.frombuffer(raw, np.uint8)
        first = -whole.ctypes.data % HUGE if is_huge else 0
        self.memory: npt.NDArray[np.uint8] = whole[first : first + size]
        self.address, self.size = self.memory.ctypes.data, size


_PAGES = "/sys/kernel/mm/transparent_hugepage"


def _new_memory(size: int) -> mmap.mmap:
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # a fork has its own


def block_size(size_bytes: int) -> int:
    """The bytes of a block for so many: whole pages, huge ones where that wastes little.

    >>> [block_size(n) for n in (1, 4096, 4097, 9 << 20)]
    [4096, 4096, 8192, 10485760]
    """
    unit = HUGE if size_bytes >= WORTH_HUGE else PAGE
    return max(1, -(-size_bytes // unit)) * unit


class _Lease:
    """The owner of a result's memory: its block goes back when no array refers to it."""

    __slots__ = ("__array_interface__", "_block", "_pool")

    def __init__(self, pool: Pool, block: Block, size_bytes: int) -> None:
        self._pool, self._block = pool, block
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (size_bytes,),
            "data": (block.address, False),
        }

    def __del__(self) -> None:
        self._pool.give_back(self._block)


class Pool:
    """Blocks that wait for a result of their size, the one that came last at the end.

    Any thread may take or give back, and a collection of garbage may give back at any moment, in
    the middle of `take` too: so that what comes back is only noted by one that cannot have the
    lock, and sorted in by the one that has it.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self.kept = kept
        self._returned: deque[Block] = deque()
        self._waiting: list[Block] = []
        self._lock = threading.Lock()

    def empty(self, shape: Sequence[int], dtype: npt.DTypeLike) -> Array:
        """An aligned array; its contents are arbitrary."""
        kind = np.dtype(dtype)
        size = math.prod(shape) * kind.itemsize
        lease = _Lease(self, self._take(block_size(size)), size)
        return np.asarray(lease).view(kind).reshape(shape)

    def _take(self, size: int) -> Block:
        found = None
        with self._lock:
            self._sort_in()
            for k in range(len(self._waiting) - 1, -1, -1):
                if self._waiting[k].size == size:
                    found = self._waiting.pop(k)
                    break
        self._tidy()
        return Block(size) if found is None else found

    def give_back(self, block: Block) -> None:
        """Keep a block for a later result."""
        self._returned.append(block)
        self._tidy()

    def _tidy(self) -> None:
        """Sort in what came back, unless somebody has the lock, who does it then."""
        while self._returned and self._lock.acquire(blocking=False):
            try:
                self._sort_in()
            finally:
                self._lock.release()

    def _sort_in(self) -> None:
        """Let what came back wait, and give up the oldest of what is more than may wait."""
        while self._returned:
            self._waiting.append(self._returned.popleft())
        room = self.kept
        for k in range(len(self._waiting) - 1, -1, -1):
            room -= self._waiting[k].size
            if room < 0:
                del self._waiting[: k + 1]
                break

    @property
    def waiting_bytes(self) -> int:
        """What lies unused."""
        return sum(block.size for block in tuple(self._waiting))

    def release(self) -> None:
        """Give all that waits back to the system."""
        with self._lock:
            self._sort_in()
            self._waiting.clear()
        self._tidy()

    def forget(self) -> None:
        """In a forked process: the thread that had the lock may not exist."""
        self._lock = threading.Lock()


RESULTS = Pool()

in_forked_processes(RESULTS.forget)

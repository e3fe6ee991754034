"""Whether workers really run at once, by what they waited for a processor.

Beside other busy processes a worker may have no processor for milliseconds, many times as long as
a phase. The others do its items, but for one that it may have begun: they wait for that one. So
where workers are seen to wait, one does all for a while; then all are tried again, less and less
often while that finds the machine busy. Results do not depend on how many workers there are.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable

Times = tuple[int, int]  # nanoseconds on a processor, and of waiting for one

WINDOW_NS = 6_000_000  # that a worker wanted to run, before it is judged
PERIOD_S = 8e-3  # between two looks
STALE_S = 0.5  # what was seen before does not count any more
LOST = 0.15  # of what a worker wanted: more than a quiet machine takes
FIRST_S, LONGEST_S = 0.01, 1.0  # how long one worker does all


def times_of(thread: int) -> Times | None:
    """What Linux has counted for a thread of this process; None where it does not say."""
    try:
        with open(f"/proc/self/task/{thread}/schedstat", "rb") as file:
            running, waiting, _ = file.read().split()
        return int(running), int(waiting)
    except (OSError, ValueError):
        return None


class Share:
    """What is known about this process's share of the machine."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        times: Callable[[int], Times | None] = times_of,
    ) -> None:
        """``clock`` gives seconds, ``times`` those of a thread."""
        self._clock, self._times = clock, times
        self.forget()

    def forget(self) -> None:
        """Know nothing again: a forked process has other threads."""
        self._until, self._pause, self._due = 0.0, FIRST_S, 0.0
        self._before: dict[int, Times] = {}

    def workers(self, most: int) -> int:
        """How many workers are to run now: ``most``, or 1 for a while."""
        return 1 if most > 1 and self._until > 0 and self._clock() < self._until else most

    @property
    def is_due(self) -> bool:
        """Whether it is time to look at the workers again."""
        return self._clock() >= max(self._due, self._until)

    def note(self, threads: Iterable[int]) -> None:
        """Look at threads that worked at once, and judge them when there is enough to see."""
        now = self._clock()
        if now > self._due + STALE_S:
            self._before = {}
        self._due = now + PERIOD_S
        lost = list[float]()
        for thread in threads:
            after = self._times(thread)
            if after is None:
                continue
            before = self._before.setdefault(thread, after)
            wanted = after[0] - before[0] + after[1] - before[1]
            if wanted >= WINDOW_NS:
                lost.append((after[1] - before[1]) / wanted)
                self._before[thread] = after
        if lost:
            self._judge(max(lost), now)

    def _judge(self, lost: float, now: float) -> None:
        if lost < LOST:
            self._pause = FIRST_S
            return
        self._until = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_S)
        self._before = {}


SHARE = Share()
"""That of this process."""


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SHARE.forget)

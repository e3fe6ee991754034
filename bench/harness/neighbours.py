"""Busy processes beside a measurement: what other users of a machine do to a program."""

from __future__ import annotations

import os
import subprocess
import sys
from types import TracebackType

LONGEST_S = 3600  # whatever happens to the one that started it

# Computes until the process that started it is gone.
_BUSY = f"""
import os, sys, time
parent, end = int(sys.argv[1]), time.monotonic() + {LONGEST_S}
while os.getppid() == parent and time.monotonic() < end:
    for _ in range(100_000):
        pass
"""


class Neighbours:
    """Processes that compute as long as the block lasts, and end with it, however it ends.

    Linux shares processors among sessions first, so that neighbours in sessions of their own, as
    other users' processes are, take more from a program with threads.
    """

    def __init__(self, count: int, own_sessions: bool = True) -> None:
        """Start nothing yet."""
        self._count, self._own_sessions = count, own_sessions
        self.processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Neighbours:
        try:
            for _ in range(self._count):
                self.processes.append(
                    subprocess.Popen(
                        [sys.executable, "-S", "-c", _BUSY, str(os.getpid())],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        start_new_session=self._own_sessions,
                    )
                )
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """End all of them, and wait until they are gone."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()

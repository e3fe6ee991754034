"""How long a thread keeps Python while another one waits for it: less while a program is compiled.

The engine of the rules and the threads that pass kernels on need Python briefly and often. By
default they would wait 5 ms each time while another thread uses it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

TURN_S = 1e-4  # shorter ones gain nothing (measured)


class _Turns:
    """Shortened while somebody asks for it."""

    def __init__(self) -> None:
        self._asking, self._before = 0, 0.0
        self._lock = threading.Lock()

    def shorten(self) -> None:
        with self._lock:
            if not self._asking:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(min(self._before, TURN_S))
            self._asking += 1

    def restore(self) -> None:
        with self._lock:
            self._asking -= 1
            if not self._asking:
                sys.setswitchinterval(self._before)


turns = _Turns()


@contextmanager
def short_turns() -> Generator[None]:
    """Threads take turns with Python more often than usual."""
    turns.shorten()
    try:
        yield
    finally:
        turns.restore()

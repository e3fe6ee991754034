"""What a forked process lacks: all threads but one, and so what the others would have let go."""

import os
from collections.abc import Callable
from threading import Lock


def in_forked_processes(do: Callable[[], object]) -> None:
    """Call a function first in every process that is forked from this one."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=do)


class Guard:
    """A lock for all threads of a process; a forked one has its own, which nobody holds.

    For what lives as long as the process.
    """

    def __init__(self) -> None:
        self._renew()
        in_forked_processes(self._renew)

    def _renew(self) -> None:
        self.lock = Lock()

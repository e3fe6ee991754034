"""A value that another thread makes, while this one is in the engine and needs no Python."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Ahead(Generic[T]):
    """The value of a function, and what its thread does afterwards.

    >>> Ahead(lambda: 2 + 3).value()
    5
    """

    def __init__(self, make: Callable[[], T], afterwards: Callable[[], object] | None = None):
        """Begin at once."""
        self._make, self._afterwards = make, afterwards
        self._made: list[T] = []
        self._failure: BaseException | None = None
        self._is_over = threading.Event()
        threading.Thread(target=self._run, name="ostinato-ahead", daemon=True).start()

    def value(self) -> T:
        """Wait for the value.

        Errors: those of the function.
        """
        self._is_over.wait()
        if self._failure is not None:
            raise self._failure
        return self._made[0]

    def _run(self) -> None:
        try:
            self._made.append(self._make())
        except BaseException as failure:
            self._failure = failure
        finally:
            self._is_over.set()
        if self._afterwards is not None:
            self._afterwards()

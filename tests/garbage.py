"""Looking for garbage among what a test makes, and not among all that tests hold."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def only_new() -> Generator[None]:
    """Let ``gc.collect`` look at what is made inside only."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()

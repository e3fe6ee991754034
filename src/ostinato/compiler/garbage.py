"""How often Python looks for garbage while a program is compiled."""

import gc
from collections.abc import Generator
from contextlib import contextmanager

YOUNG = 2_000_000  # objects more than before, until somebody looks for garbage


@contextmanager
def seldom_collecting() -> Generator[None]:
    """Look for garbage seldom: nearly all that the stages make stays until they end.

    What is left then counts as old: it would be looked through at once otherwise.
    """
    before = gc.get_threshold()
    if before[0] >= YOUNG or not gc.isenabled():
        yield
        return
    gc.set_threshold(YOUNG, *before[1:])
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # else somebody keeps objects apart, and they stay so
            gc.freeze()
            gc.unfreeze()
        gc.set_threshold(*before)

"""Workers that had no processor return a little after their run is over."""

import time

from ostinato.runtime.run.blocking_pool import working


def all_returned(before: int) -> bool:
    """Whether soon no more workers are in a run than before."""
    end = time.monotonic() + 20
    while working() > before and time.monotonic() < end:
        time.sleep(0.001)
    return working() == before

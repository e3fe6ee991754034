"""Workers that had no processor return a little after their run is over."""

import time

from ostinato.runtime.run.blocking_pool import working


def all_returned() -> bool:
    """Whether soon no worker of this process is in a run."""
    end = time.monotonic() + 20
    while working() and time.monotonic() < end:
        time.sleep(0.001)
    return not working()

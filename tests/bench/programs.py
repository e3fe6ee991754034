"""Programs that tests measure."""

import os
import signal
import time
from collections.abc import Callable

from bench.harness.served import Sample


def counting(start: int) -> Callable[[], float]:
    values = iter(range(start + 1, start + 100))
    return lambda: float(next(values))


def talking() -> Callable[[], Sample]:
    print("a library says hello")
    return lambda: {"steps/s": 2.0, "peak_bytes": 3.0}


def failing() -> Callable[[], float]:
    raise SystemExit(3)


def refusing(limit: int) -> Callable[[], float]:
    raise MemoryError(f"no form fits in {limit} bytes\n  Pass [/more] | less.")


def failing_later() -> Callable[[], float]:
    values = iter((1.0, 2.0))
    return lambda: next(values)


def killed() -> Callable[[], float]:
    def sample() -> float:
        os.kill(os.getpid(), signal.SIGKILL)
        return 1.0

    return sample


def computing() -> Callable[[], float]:
    def sample() -> float:
        end = time.perf_counter() + 0.2
        while time.perf_counter() < end:
            pass
        return 1.0

    return sample


def sleeping() -> Callable[[], float]:
    def sample() -> float:
        time.sleep(0.2)
        return 1.0

    return sample

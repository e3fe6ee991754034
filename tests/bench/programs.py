"""Programs that tests measure."""

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

"""Whether the memory of this machine can hold what a run needs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from functools import cache

from ostinato.pdg.errors import MemoryLimitError
from ostinato.pdg.index import Dim, Extent, dims_of, evaluate, expr
from ostinato.pdg.node import Pdg

POINT_BYTES = 100  # of a memoised point of the interpreter: a tuple and the header of an array
ELEMENT_BYTES = 8  # of the widest type


@cache
def physical_bytes() -> int:
    """Return the memory of this machine, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def require_memory(needed_bytes: int, extents: Mapping[str, int]) -> None:
    """Refuse a run that no memory of this machine can hold.

    Errors: MemoryLimitError.
    """
    if needed_bytes > physical_bytes():
        raise too_large(needed_bytes, extents)


def too_large(needed_bytes: int, extents: Mapping[str, int]) -> MemoryLimitError:
    """Return the error of a run that gets no memory."""
    at = ", ".join(f"{name}={n}" for name, n in sorted(extents.items()))
    here = f"the run at {at}" if at else "the run"
    fact = f"{here} takes {needed_bytes:,} bytes, "
    is_more = needed_bytes > physical_bytes()
    fact += f"this machine has {physical_bytes():,}" if is_more else "which the system refuses"
    return MemoryLimitError(fact, "Run it with smaller sizes.")


def interpreted_bytes(pdg: Pdg, extents: Mapping[str, int]) -> int:
    """Return the least memory that the interpreter takes: its outputs, or its largest value."""
    env: dict[Dim | Extent, int] = {Extent(name): size for name, size in extents.items()}
    largest = points = 0
    for node in pdg.nodes():
        if not any(dims_of(size) for size in node.shape):
            elements = math.prod(max(0, evaluate(size, env)) for size in node.shape)
            largest = max(largest, elements * ELEMENT_BYTES)
    for _, node in pdg.results:
        steps = math.prod(evaluate(expr(dim.extent), env) for dim in node.domain)
        points = max(points, steps * POINT_BYTES)
    return max(largest, points)

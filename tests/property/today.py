"""Of what tests invent, one half is judged on a day and the other on the next.

The last lines of a run say which half it was: ``OSTINATO_HALF=0`` or ``1`` repeats it, ``both``
takes all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

T = TypeVar("T")
VARIABLE = "OSTINATO_HALF"
# In the environment, so that all processes of a run take the same though midnight comes.
HALF = os.environ.setdefault(VARIABLE, str(datetime.now(UTC).toordinal() % 2))
if HALF not in ("0", "1", "both"):
    raise ValueError(f"{VARIABLE} is 0, 1 or both, not {HALF}")


def of_today(every: Sequence[T], half: str = HALF) -> Sequence[T]:
    """Every second of what could be judged.

    >>> [*of_today("abcde", "0")], [*of_today("abcde", "1")], [*of_today("abcde", "both")]
    (['a', 'c', 'e'], ['b', 'd'], ['a', 'b', 'c', 'd', 'e'])
    """
    return every if half == "both" else every[int(half) :: 2]


def told(half: str = HALF) -> str:
    """What a run says of the half that it took."""
    return f"invented programs: {VARIABLE}={half} takes the same again, {VARIABLE}=both takes all"

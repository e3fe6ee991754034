"""When two constants are the same: their type and their bits count, not Python's ``==``.

``True == 1 == 1.0`` and ``0.0 == -0.0`` in Python, and a NaN equals nothing. A program tells
all of these apart, but knows only one NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

Scalar = bool | int | float


def spelled(value: Scalar) -> str:
    """The text that a constant shares with no other one; equal constants have equal texts.

    >>> spelled(0.0) == spelled(-0.0), spelled(1) == spelled(True)
    (False, False)
    >>> spelled(float("nan")) == spelled(-float("nan"))
    True
    """
    return repr(value)


def uniform(values: Sequence[Scalar]) -> bool:
    """Whether there are values, and all are one constant.

    >>> uniform((0.0, 0.0)), uniform((0.0, -0.0)), uniform(())
    (True, False, False)
    """
    return len(set(map(spelled, values))) == 1


def as_real(values: Sequence[Scalar]) -> float | None:
    """The real number that a literal is everywhere, if float64 holds it; -0.0 is none.

    >>> as_real((1, 1)), as_real((-0.0,)), as_real((2**53 + 1,))
    (1.0, None, None)
    """
    if not uniform(values) or isinstance(values[0], bool) or spelled(values[0]) == "-0.0":
        return None
    value = float(values[0])
    return value if value == values[0] else None


def only_zeros(values: Sequence[Scalar]) -> bool:
    """Whether all constants are 0, 0.0 or False; -0.0 is another one."""
    return {spelled(value) for value in values} <= {"0", "0.0", "False"}

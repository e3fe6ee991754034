"""Integers, booleans and conversions: these agree exactly."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct, fits

CASTS = ("int32", "int64", "uint32", "bool", "float32", "float64")

OPERATORS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "int_add": lambda x, y: x + y,
    "int_sub": lambda x, y: x - y * 3,
    "int_mul": lambda x, y: (x * y) % 1000,
    "int_div": lambda x, y: x // (y % 5 - 2),  # by 0 too
    "int_mod": lambda x, y: x % (y % 7 - 3),
    "int_max": ot.maximum,
    "int_min": ot.minimum,
    "int_where": lambda x, y: ot.where(x >= y, x - 1, y * 2),
    "bits_and": lambda x, y: x & (y + 5),
    "bits_or": lambda x, y: x | y,
    "bits_xor": lambda x, y: x ^ (y * 3),
    "bits_not": lambda x, y: ~x + y,
    "shift_left": lambda x, y: x << (y % 5),
    "shift_right": lambda x, y: x >> (y % 40 - 2),
    "power": lambda x, y: (x % 5) ** (y % 4),
    "int_fmod": lambda x, y: ot.fmod(x, y % 7 - 3),
    "wrap": lambda x, y: (x * 2654435761 + y) % 97 if x.dtype == "int64" else x * 65599 * 65537 + y,
}

COMPARISONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y + 1,
    "eq": lambda x, y: x % 3 == y % 3,
    "ne": lambda x, y: x != y,
    "xor": lambda x, y: (x > 0) ^ (y > 0),
    "and": lambda x, y: (x > 0) & (y < 2),
}


def pair(w: Workshop, s: Step) -> tuple[Tensor, Tensor] | None:
    """Both operands as integers of one type."""
    x, y = w.whole(s), w.as_whole(w.pool[s.b % len(w.pool)])
    if "uint32" in (x.dtype, y.dtype) and x.dtype != y.dtype:
        return None
    return (x, y) if fits(x, y) else None


@construct("integers", *OPERATORS)
def operator(w: Workshop, s: Step) -> Tensor | None:
    both = pair(w, s)
    return None if both is None else OPERATORS[s.op](*both)


@construct("integers", *COMPARISONS)
def comparison(w: Workshop, s: Step) -> Tensor | None:
    both = pair(w, s)
    return None if both is None else COMPARISONS[s.op](*both)


@construct("integers", "int_product", "truth_product")
def product(w: Workshop, s: Step) -> Tensor:
    """A row of integers that wrap around, or of booleans, times a matrix of them."""
    x = w.whole(s)
    x = x.sum() if x.ndim else x
    row = ot.stack([x, x * 65537, x * x + 3], -1)
    square = row[..., :, None] * row[..., None, :] - row[..., None, :]
    if s.op == "truth_product":
        return (row % 3 > 0) @ (square % 2 > 0)
    return (row @ square)[..., s.c % 3] % 97


@construct("integers", *(f"to_{name}" for name in CASTS))
def cast(w: Workshop, s: Step) -> Tensor:
    """A conversion; negative floats do not go to unsigned integers."""
    x = w.any(s)
    return (ot.abs(x) * 2 if x.dtype.startswith("float") else x).cast(s.op.removeprefix("to_"))


@construct("integers")
def integer_step(w: Workshop, s: Step) -> Tensor:
    """The step itself, in integer arithmetic."""
    d = w.dim(s)
    return (d * 3 + s.c).value() % 5 + d // 2 if s.c > 1 else ot.index(ot.minimum(d, s.c))


@construct("integers", "any", "all")
def truth_fold(w: Workshop, s: Step) -> Tensor | None:
    x = w.array(s)
    return None if x is None else getattr(x > 0.2, s.op)(-1)


@construct("integers", "argmax", "argmin")
def position(w: Workshop, s: Step) -> Tensor | None:
    x = w.array(s)
    return None if x is None else getattr(x, s.op)(s.c % x.ndim)

"""NaN, infinities, signed zeros, extreme integers, and masks that hide them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ostinato as ot
from ostinato.language.tensor import Tensor
from tests.property.constructs.integers import pair
from tests.property.constructs.table import Step, Workshop, construct, place, ragged

NAN, INF = float("nan"), float("inf")
FLOATS = (NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-42, -1e-42, 3e38, -3e38, 1e30)
WHOLE = (0, 1, -1, 2, 7, 2**31 - 1, -(2**31), 2**30, -7)
WIDE = (*WHOLE, 2**63 - 1, -(2**63), 2**53 + 1, 2**32)


def negated(x: Tensor) -> Tensor:
    return -x


MASKS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "nan_where_false": lambda m, x, y: ot.where(m, x, NAN),
    "hidden_nan": lambda m, x, y: ot.where(m, x, ot.where(m, NAN, y)),
    "factor_of_mask": lambda m, x, y: x + 0.9 * ot.where(m, 0.0, y / (x - x)),
    "infinity_times_mask": lambda m, x, y: (y / 0.0) * (~m).cast(x.dtype) * x,
    "mask_of_product": lambda m, x, y: ot.where(m, x * y, 0.0) * INF,
    "mask_as_factor": lambda m, x, y: m.cast(x.dtype) * (y / (x * 0.0)),
    "masked_sum": lambda m, x, y: ot.where(m, 0.0, ot.log(x)) + ot.where(m, y, 0.0),
    "masked_division": lambda m, x, y: ot.where(m, 0.0, x) / ot.where(m, 0.0, y),
    "signed_zero": lambda m, x, y: 1.0 / ot.where(m, 0.0, -0.0),
    "mask_of_negative_zero": lambda m, x, y: 1.0 / (ot.where(m, x, -0.0) * 0.0),
}


@construct("special values", *MASKS, wild=True)
def masked(w: Workshop, s: Step) -> Tensor | None:
    x, y = w.real(s), w.other(s)
    return None if y is None else MASKS[s.op](x > 0.1 if s.c > 1 else y <= x, x, y)


LAWS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "exp_of_log": lambda x, y: ot.exp(ot.log(x)),
    "log_of_exp": lambda x, y: ot.log(ot.exp(x)),
    "square_of_root": lambda x, y: ot.sqrt(x) ** 2,
    "root_of_square": lambda x, y: ot.sqrt(x * x),
    "quotient_of_itself": lambda x, y: x / x,
    "quotient_times_divisor": lambda x, y: x / y * y,
    "times_zero": lambda x, y: x * 0.0 + y,
    "minus_itself": lambda x, y: x - x,
    "plus_zero": lambda x, y: 1.0 / (x * 0.0 + 0.0),
    "plus_negative_zero": lambda x, y: 1.0 / (x * 0.0 + -0.0),
    "both_zeros": lambda x, y: 1.0 / (0.0 * x) + 1.0 / (-0.0 * x),
    "zero_minus": lambda x, y: 1.0 / (0.0 - x * 0.0),
    "negated_zero": lambda x, y: 1.0 / -(x * 0.0),
    "powers_together": lambda x, y: x**y * x**2.0,
    "power_of_zero": lambda x, y: x**0.0 + (x * 0.0) ** y,
    "power_of_power": lambda x, y: (x**2.0) ** 0.5,
    "distributed": lambda x, y: x * y + x * 2.0,
    "common_divisor": lambda x, y: x / 3.0 + y / 3.0,
    "double_negation": lambda x, y: negated(negated(x)) - negated(y),
    "remainder": lambda x, y: x % y + x // y,
    "nan_compared": lambda x, y: ot.where(~(x < y), 1.0, 0.0) + ot.where(x >= y, 2.0, 0.0),
    "unequal_to_itself": lambda x, y: ot.where(x != x, 1.0, 2.0),
    "finite_part": lambda x, y: ot.where(ot.isfinite(x / y), x, -1.0),
    "numbers_for_nan": lambda x, y: ot.nan_to_num(x / y, 0.25, 2.0, -2.0),
    "sign_and_size": lambda x, y: ot.sign(x) * ot.abs(x) + ot.sign(y * 0.0),
    "rounded_to_zero": lambda x, y: 1.0 / ot.round(x * 0.1) + 1.0 / ot.ceil(y * 0.4),
    "largest_and_least": lambda x, y: ot.maximum(x, y) + ot.minimum(x, y),
    "clipped_nan": lambda x, y: ot.clip(x / y, -1.0, 1.0),
    "tiny": lambda x, y: x * 1e-30 * 1e-12 + y,
    "huge": lambda x, y: x * 1e30 * 1e10 + y,
    "integers_of_floats": lambda x, y: (x / y).cast("int32").cast(x.dtype) * 1e-9,
    "truth_of_nan": lambda x, y: (x / y).cast("bool").cast(x.dtype) + x,
}


@construct("special values", *LAWS, wild=True)
def law(w: Workshop, s: Step) -> Tensor | None:
    x, y = w.real(s), w.other(s)
    return None if y is None else LAWS[s.op](x, y)


@construct("special values", "special_numbers", "special_factors", "special_choice", wild=True)
def constants(w: Workshop, s: Step) -> Tensor | None:
    """A vector of special numbers beside a tensor."""
    x = w.real(s)
    if x.ndim > 1 or ragged(x) or (x.ndim and x.shape != (3,)):
        return None
    many = ot.constant([FLOATS[(s.b + k * s.c) % len(FLOATS)] for k in range(3)], w.dtype)
    if s.op == "special_choice":
        return ot.where(many > x, x, many)
    return x * many if s.op == "special_factors" else x + many


@construct(
    "special values", "special_sum", "special_max", "special_window", "special_scan", wild=True
)
def over_steps(w: Workshop, s: Step) -> Tensor | None:
    """A range that holds a NaN or an infinity at some steps, and leaves it behind."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 1 or ragged(x):
        return None
    bad = ot.where(d % 3 == s.c % 3, (NAN, INF, -INF, -0.0)[s.b % 4], x)
    if s.op == "special_window":
        return place(bad, d, slice(ot.maximum(d - s.c, 0), d + 1)).sum(0)
    if s.op == "special_scan":
        return ot.cumsum(place(bad, d, slice(None)), 0)[d]
    past = place(bad, d, slice(None, d + 1) if s.b % 3 else slice(d, None))
    return past.sum(0) if s.op == "special_sum" else past.max(0) - past.min(0) * 0.5


WHOLE_LAWS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "least_divided": lambda x, y: (x * 0 - 2147483647 - 1) // (y * 0 - 1),
    "least_remainder": lambda x, y: (x - 2147483647) % (y * 0 - 1) + x // y,
    "size_of_least": lambda x, y: ot.abs(x * 0 - 2147483647 - 1) + y,
    "wraps_up": lambda x, y: x + 2147483647 + y,
    "wraps_product": lambda x, y: x * 1103515245 * y + 12345,
    "wraps_in_position": lambda x, y: (x * 400000000) % 7,
    "shifted_far": lambda x, y: (x << 31) + (y >> 31) + (x << 32) + (y << -1),
    "negative_power": lambda x, y: x ** (y - 2) + 2 ** (x % 31),
    "compared_after_wrap": lambda x, y: ((x + 2147483647) < y).cast("int32"),
    "as_float_and_back": lambda x, y: (x * 65537 * 257).cast("float32").cast("int32") + y,
    "as_unsigned": lambda x, y: (x * 0 + x.cast("uint32").cast(x.dtype)) // 3 - y,
}


@construct("special values", *WHOLE_LAWS, wild=True)
def whole_law(w: Workshop, s: Step) -> Tensor | None:
    both = pair(w, s)
    return None if both is None else WHOLE_LAWS[s.op](*both)


@construct("special values", "extreme_numbers", wild=True)
def extremes(w: Workshop, s: Step) -> Tensor | None:
    """An extreme integer beside a tensor of integers."""
    x = w.whole(s)
    if x.dtype == "uint32":
        return x * 4294967295 + 2**31
    wide = x.dtype == "int64"
    many = WIDE if wide else WHOLE
    value = np.int64(many[s.b % len(many)]) if wide else many[s.b % len(many)]
    return x * value + x // value if value and s.c > 1 else x - value


@construct("special values", "position_wraps", wild=True)
def computed(w: Workshop, s: Step) -> Tensor | None:
    """A gather whose position wraps around in 32 bits."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim or ragged(x):
        return None
    index = (ot.index(d) * (400000000, 2147483647, 65536 * 32767)[s.c - 1]) % 7
    return place(x, d, slice(None)).take(index, axis=0)

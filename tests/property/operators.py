"""What the operators of a program mean for single numbers: the tables of the second judge.

Written from docs/language.md with NumPy's scalar functions, and from the paper of Philox; nothing
here is shared with the compiler or its interpreter.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

Number = Any  # a NumPy scalar of the node's type

WORD = 0xFFFFFFFF


def number(value: object, dtype: str) -> Number:
    """A Python or NumPy number in a type: integers wrap around, floats are rounded once."""
    if dtype == "bool":
        return np.bool_(value)
    if dtype == "bfloat16":
        return ml_dtypes.bfloat16(value)
    kind = np.dtype(dtype)
    if kind.kind not in "iu":
        return kind.type(value)
    bits, whole = kind.itemsize * 8, int(value)  # type: ignore[call-overload]
    whole %= 1 << bits
    return kind.type(whole - (1 << bits) if kind.kind == "i" and whole >> (bits - 1) else whole)


def converted(x: Number, dtype: str) -> Number:
    """A cast: floats go to integers towards 0 and stop at the ends of the type; NaN becomes 0."""
    source = x.dtype.name
    if dtype == "bool":
        return np.bool_(x != 0)
    if source in ("float16", "bfloat16") or dtype in ("float16", "bfloat16"):
        middle = np.float32(x)
        if dtype in ("float16", "bfloat16"):
            return number(middle, dtype)
        return middle if dtype == "float32" else converted(middle, dtype)
    if source in ("float32", "float64") and np.dtype(dtype).kind in "iu":
        ends = np.iinfo(dtype)
        if np.isnan(x):
            return number(0, dtype)
        if np.isinf(x):
            return number(ends.max if x > 0 else ends.min, dtype)
        return number(min(max(int(x), ends.min), ends.max), dtype)
    return number(x, dtype)


def power(x: Number, y: Number) -> Number:
    """Integers to a negative power are the quotient towards 0; of 0 it is 0."""
    if x.dtype.kind == "f":
        return np.power(x, y)
    base, exponent, dtype = int(x), int(y), x.dtype.name
    if exponent >= 0:
        return number(pow(base, exponent, 1 << 64), dtype)
    return number({1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0), dtype)


def shifted(x: Number, by: Number, left: bool) -> Number:
    """By all bits where the distance is negative or not below their number."""
    bits = x.dtype.itemsize * 8
    n = int(by) if 0 <= by < bits else bits
    return number(int(x) << n if left else int(x) >> n, x.dtype.name)


def digamma(x: float) -> float:
    """By reflection, recurrence and the asymptotic series (Abramowitz and Stegun 6.3.18)."""
    if not math.isfinite(x) or (x <= 0 and x == math.floor(x)):
        return x if x == math.inf else math.nan
    if x < 0:
        return digamma(1 - x) - math.pi / math.tan(math.pi * (x - math.floor(x)))
    shift = 0.0
    while x < 16:
        shift, x = shift + 1 / x, x + 1
    square = 1 / (x * x)
    tail = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return math.log(x) - 0.5 / x - tail - shift


def lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):  # too large, or a pole
        return math.inf


def in_double(fn: Callable[[float], float]) -> Callable[[Number], Number]:
    return lambda x: x.dtype.type(fn(float(x)))


ONE: dict[str, Callable[[Number], Number]] = {
    "neg": np.negative, "abs": np.absolute, "sign": np.sign, "exp": np.exp, "log": np.log,
    "log1p": np.log1p, "expm1": np.expm1, "exp2": np.exp2, "log2": np.log2, "sqrt": np.sqrt,
    "erf": in_double(math.erf), "erfc": in_double(math.erfc), "lgamma": in_double(lgamma),
    "digamma": in_double(digamma), "arcsinh": np.arcsinh, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "floor": np.floor, "ceil": np.ceil, "round": np.rint, "not": np.logical_not,
    "stop_gradient": lambda x: x, "isfinite": np.isfinite,
}  # fmt: skip
TWO: dict[str, Callable[[Number, Number], Number]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": power, "minimum": np.minimum,
    "maximum": np.maximum, "arctan2": np.arctan2, "and": np.logical_and, "or": np.logical_or,
    "bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor,
    "shl": lambda x, y: shifted(x, y, True), "shr": lambda x, y: shifted(x, y, False),
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip
WHERE: Callable[[Number, Number, Number], Number] = lambda c, x, y: x if c else y  # noqa: E731
MAPS: dict[str, Callable[..., Number]] = {**ONE, **TWO, "where": WHERE}


def unit(fn: str, dtype: str) -> Number:
    """The fold of nothing."""
    if fn in ("sum", "prod", "any", "all"):
        return number(fn in ("prod", "all"), dtype)
    if dtype.startswith("float"):
        return number(-math.inf if fn == "max" else math.inf, dtype)
    ends = np.iinfo(dtype)
    return number(ends.min if fn == "max" else ends.max, dtype)


COMBINE: dict[str, Callable[[Number, Number], Number]] = {
    "sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum,
    "any": np.logical_or, "all": np.logical_and, "logsumexp": np.logaddexp,
}  # fmt: skip


def before(x: Number, y: Number) -> bool:
    """The order of sorting: NaN comes after every number."""
    return bool(x < y) or bool(y != y and x == x)


def extreme_position(fn: str, row: Sequence[Number]) -> int:
    """The first extreme; the first NaN, if there is one; 0 of nothing."""
    best = 0
    for k, x in enumerate(row):
        if row[best] != row[best]:
            break
        if x != x or (x > row[best] if fn == "argmax" else x < row[best]):
            best = k
    return best


def linear(gates: Sequence[Number], values: Sequence[Number]) -> list[Number]:
    """``y[k] = values[k] + gates[k] * y[k - 1]``, with 0 before the first."""
    out: list[Number] = []
    for gate, value in zip(gates, values, strict=True):
        out.append(value + gate * (out[-1] if out else value.dtype.type(0)))
    return out


def order(row: Sequence[Number]) -> list[int]:
    """The positions in ascending order; equal elements keep theirs."""
    out: list[int] = []
    for k, x in enumerate(row):
        place = len(out)
        while place and before(x, row[out[place - 1]]):
            place -= 1
        out.insert(place, k)
    return out


def shuffled(choices: Sequence[Number]) -> list[int]:
    """Number ``k`` changes places with the one at its choice of 0 ... k."""
    out: list[int] = []
    for k, choice in enumerate(choices):
        place = min(max(int(choice), 0), k)
        out.append(k)
        out[k], out[place] = out[place], k
    return out


def scattered(updates: Sequence[Number], index: Sequence[Number], zeros: list[Number]) -> None:
    """Add each update at its position, in order; positions outside drop out."""
    for update, place in zip(updates, index, strict=True):
        if 0 <= place < len(zeros):
            zeros[int(place)] = zeros[int(place)] + update


def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Philox4x32-10: Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3."""
    a, b, c, d = counter
    k, m = key
    for _ in range(10):
        left, right = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (right >> 32) ^ b ^ k, right & WORD, (left >> 32) ^ d ^ m, left & WORD
        k, m = (k + 0x9E3779B9) & WORD, (m + 0xBB67AE85) & WORD
    return [a, b, c, d]


def words(seed: int, stream: int, point: Sequence[int], element: int) -> list[int]:
    """The block of an element; beyond three coordinates the key takes them up by fours."""
    at = [p & WORD for p in point]
    key = [(seed ^ (seed >> 32)) & WORD, stream & WORD]
    for k in range(3, len(at), 4):
        key = philox([*at[k : k + 4], 0, 0, 0][:4], key)[:2]
    return philox([element & WORD, *[*at[:3], 0, 0, 0][:3]], key)


def drawn(fn: str, dtype: str, block: Sequence[int]) -> Number:
    """A draw of a block of words: its bits, a number of [0, 1), or one of the normal law."""
    if fn == "bits":
        return np.uint32(block[0])
    if dtype == "float32":
        units = [(w >> 8) / (1 << 24) for w in block[:2]]
    else:
        pairs = ((block[0], block[1]), (block[2], block[3]))
        units = [((x >> 5) * (1 << 26) + (y >> 6)) / (1 << 53) for x, y in pairs]
    if fn == "uniform":
        return number(units[0], dtype)
    radius = np.sqrt(-2.0 * np.log(np.float64(1.0 - units[0])))
    return number(radius * np.cos(2.0 * np.pi * np.float64(units[1])), dtype)

"""When two results count as equal.

A compiler may reassociate sums and use other kernels, so floats agree up to rounding. How much
rounding matters depends on the program: where a plain comparison fails, the interpreter says how
far its own result moves if inputs move by a few roundings, or if everything is computed in float64.
A point that is not finite is compared like any other: NaN with NaN, an infinity with its like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ostinato.pdg.functions import Array

Values = Mapping[str, Array]
Reference = Callable[[Mapping[str, Any], bool], Values]

RELATIVE = {"float32": 1e-4, "float64": 1e-7, "float16": 1e-2, "bfloat16": 8e-2}
NOISE = {"float32": 2e-6, "float64": 4e-15, "float16": 2e-3, "bfloat16": 2e-2}
OTHERWISE = float(np.finfo("float64").max)  # far from a NaN or an infinity is another of them
STEEP = 1e5  # beyond this a slope cannot be measured by differences


def is_steep(values: Values) -> bool:
    """Whether a reference is not finite, or too large for a slope to be measured."""
    floats = [v.astype("float64") for v in values.values() if v.dtype.name in RELATIVE and v.size]
    return any(not np.isfinite(v).all() or np.abs(v).max() > STEEP for v in floats)


def widest(value: Array) -> Array:
    """Floats as float64; other values as they are."""
    return value.astype("float64") if value.dtype.name in RELATIVE else value


def alike(left: Array, right: Array) -> Array:
    """Where two arrays have the same value: NaN is one value, and 0.0 is -0.0."""
    return np.asarray((left == right) | ((left != left) & (right != right)))


def differences(found: Values, expected: Values, slack: Values | None = None) -> list[str]:
    """Describe every output that differs by more than rounding plus ``slack``.

    Where ``slack`` is infinite, the reference itself may be finite or not; where it is
    ``OTHERWISE``, it may be an infinity or a NaN.
    """
    out: list[str] = []
    for name, value in expected.items():
        got = np.asarray(found[name])
        if got.shape != value.shape or got.dtype != value.dtype:
            out.append(f"{name} is {got.dtype}{got.shape}, not {value.dtype}{value.shape}")
            continue
        left, right = widest(got), widest(value)
        close = alike(left, right)
        relative = RELATIVE.get(value.dtype.name, 0.0)
        extra = np.zeros(value.shape) if slack is None else slack[name]
        if relative or slack is not None:
            left, right = left.astype("float64"), right.astype("float64")
            finite = np.isfinite(left) & np.isfinite(right)
            with np.errstate(invalid="ignore"):
                near = np.abs(left - right) <= relative * (1 + np.abs(right)) + extra
            close = close | (finite & near if relative else near & (extra > 0)) | np.isinf(extra)
            if relative:
                close = close | (_is_none(left) & _is_none(right) & (extra >= OTHERWISE))
        out += _first(name, got, value, ~close)
    return out


def _is_none(value: Array) -> Array:
    """Where a value is no number: an infinity or a NaN."""
    return np.asarray(~np.isfinite(value))


def unlike(found: Values, expected: Values, names: Iterable[str]) -> list[str]:
    """Describe every output that differs in a bit; a NaN is one value, and 0.0 and -0.0 are two."""
    out: list[str] = []
    for name in names:
        got, value = np.asarray(found[name]), np.asarray(expected[name])
        if got.shape != value.shape or got.dtype != value.dtype:
            out.append(f"{name} is {got.dtype}{got.shape}, not {value.dtype}{value.shape}")
            continue
        same = alike(got, value)
        if value.dtype.name in RELATIVE:
            same = same & ((np.signbit(got) == np.signbit(value)) | (got != got))
        out += _first(name, got, value, ~same)
    return out


def _first(name: str, got: Array, value: Array, wrong: Array) -> list[str]:
    """The first element that is wrong, if there is one, and how many are."""
    if not wrong.any():
        return []
    at = tuple(int(k) for k in np.argwhere(wrong)[0])
    return [f"{name}{list(at)} is {got[at]}, not {value[at]} ({int(wrong.sum())}/{value.size})"]


def sensitivity(
    reference: Reference, given: Mapping[str, Any], expected: Values, in_float64: bool = True
) -> Values:
    """How far each output moves when inputs move by a few roundings, times 16.

    Infinite where it is finite in one run and not in another.
    """
    spread = {name: np.zeros(v.shape) for name, v in expected.items()}
    runs: list[tuple[Mapping[str, Any], bool]] = [(given, True)] if in_float64 else []
    for salt in range(4):
        rng = np.random.default_rng(salt)
        moved = {name: _moved(value, rng) for name, value in given.items()}
        runs.append((moved, in_float64 and salt > 1))
    for inputs, exact in runs:
        for name, value in reference(inputs, exact).items():
            spread[name] = np.fmax(spread[name], distance(value, expected[name]))
    return spread


def distance(moved: Array, value: Array) -> Array:
    """Sixteen times how far values have moved; infinite between what is finite and what is not.

    It is ``OTHERWISE`` between two that are not finite and not the same.
    """
    with np.errstate(all="ignore"):
        now, then = moved.astype("float64"), value.astype("float64")
        away = np.asarray(np.where(alike(now, then), 0.0, 16 * np.abs(now - then)))
    away[np.isnan(away)] = np.inf
    return np.where(_is_none(now) & _is_none(then) & (away > 0), OTHERWISE, away)


def _moved(value: Any, rng: np.random.Generator) -> Any:
    noise = NOISE.get(str(getattr(value, "dtype", "")))
    if noise is None:
        return value
    with np.errstate(all="ignore"):
        return (value * (1 + noise * rng.uniform(-1, 1, np.shape(value)))).astype(value.dtype)

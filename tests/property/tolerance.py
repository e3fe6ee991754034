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

    Where ``slack`` is infinite, the reference itself may be finite or not.
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
        if not close.all():
            at = tuple(int(k) for k in np.argwhere(~close)[0])
            wrong = int((~close).sum())
            out.append(f"{name}{list(at)} is {got[at]}, not {value[at]} ({wrong}/{value.size})")
    return out


def unlike(found: Values, expected: Values, names: Iterable[str]) -> list[str]:
    """The names of arrays that differ in a bit; a NaN is one value, and 0.0 and -0.0 are two."""
    out: list[str] = []
    for name in names:
        a, b = np.asarray(found[name]), np.asarray(expected[name])
        same = a.shape == b.shape and a.dtype == b.dtype
        if same and a.dtype.name in RELATIVE:
            signs = np.signbit(a) == np.signbit(b)
            same = bool((alike(a, b) & (signs | (a != a))).all())
        elif same:
            same = a.tobytes() == b.tobytes()
        if not same:
            out.append(name)
    return out


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
            with np.errstate(all="ignore"):
                now, then = value.astype("float64"), expected[name].astype("float64")
                away = np.where(alike(now, then), 0.0, 16 * np.abs(now - then))
            away[np.isnan(away)] = np.inf
            spread[name] = np.fmax(spread[name], away)
    return spread


def _moved(value: Any, rng: np.random.Generator) -> Any:
    noise = NOISE.get(str(getattr(value, "dtype", "")))
    if noise is None:
        return value
    with np.errstate(all="ignore"):
        return (value * (1 + noise * rng.uniform(-1, 1, np.shape(value)))).astype(value.dtype)

"""When two floats count as equal.

A compiler may reassociate sums and use other kernels, so floats agree up to rounding. How much
rounding matters depends on the program: where a plain comparison fails, the interpreter says how
far its own result moves if inputs move by a few roundings, or if everything is computed in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ostinato.pdg.functions import Array

Values = Mapping[str, Array]
Reference = Callable[[Mapping[str, Any], bool], Values]

RELATIVE = {"float32": 1e-4, "float64": 1e-7, "float16": 1e-2, "bfloat16": 8e-2}
NOISE = {"float32": 2e-6, "float64": 4e-15, "float16": 2e-3, "bfloat16": 2e-2}
WILD = 1e5  # beyond this, cancellation leaves no digits to compare


def is_wild(values: Values) -> bool:
    """Whether a reference overflows or is too large to be compared."""
    floats = [v.astype("float64") for v in values.values() if v.dtype.name in RELATIVE and v.size]
    return any(not np.isfinite(v).all() or np.abs(v).max() > WILD for v in floats)


def differences(found: Values, expected: Values, slack: Values | None = None) -> list[str]:
    """Describe every output that differs by more than rounding plus ``slack``."""
    out: list[str] = []
    for name, value in expected.items():
        got = np.asarray(found[name])
        if got.shape != value.shape or got.dtype != value.dtype:
            out.append(f"{name} is {got.dtype}{got.shape}, not {value.dtype}{value.shape}")
            continue
        relative = RELATIVE.get(value.dtype.name, 0.0)
        left, right = got.astype("float64"), value.astype("float64")
        allowed = relative * (1 + np.abs(right)) if relative else np.zeros(right.shape)
        if slack is not None:
            allowed = allowed + slack[name]
        close = (np.abs(left - right) <= allowed) | (np.isnan(left) & np.isnan(right))
        if not np.all(close | (left == right)):
            at = tuple(int(k) for k in np.argwhere(~close)[0])
            wrong = int((~close).sum())
            out.append(f"{name}{list(at)} is {got[at]}, not {value[at]} ({wrong}/{value.size})")
    return out


def sensitivity(reference: Reference, given: Mapping[str, Any], expected: Values) -> Values:
    """How far each output moves when inputs move by a few roundings, times 16."""
    spread = {name: np.zeros(v.shape) for name, v in expected.items()}
    runs: list[tuple[Mapping[str, Any], bool]] = [(given, True)]
    for salt in range(4):
        rng = np.random.default_rng(salt)
        runs.append(({name: _moved(value, rng) for name, value in given.items()}, salt > 1))
    for inputs, exact in runs:
        for name, value in reference(inputs, exact).items():
            away = np.abs(value.astype("float64") - expected[name].astype("float64"))
            spread[name] = np.fmax(spread[name], 16 * away)
    return spread


def _moved(value: Any, rng: np.random.Generator) -> Any:
    noise = NOISE.get(str(getattr(value, "dtype", "")))
    if noise is None:
        return value
    return (value * (1 + noise * rng.uniform(-1, 1, np.shape(value)))).astype(value.dtype)

"""``python -m bench.mathematics``: the largest errors of all functions, and their speed."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.mathematics import points
from bench.mathematics.errors import Worst, worst
from bench.mathematics.functions import FUNCTIONS, Function
from bench.mathematics.loops import compiled

Array = npt.NDArray[Any]
DTYPES = ("float32", "float64")
DOCUMENT = Path(__file__).parents[2] / "docs" / "mathematics.md"
_BEGIN, _END = "<!-- table: python -m bench.mathematics -->", "<!-- end -->"
_ELEMENTS = 2048  # of one call: in the nearest cache


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of a function in one type."""

    function: Function
    dtype: str
    error: Worst
    ours_ns: float
    numpy_ns: float


def arguments(function: Function, dtype: str, stride: int) -> tuple[Array, ...]:
    """Where errors are looked for: every so manyth float32; every exponent of float64."""
    if function.arity == 2:
        return points.pairs(dtype, max(2**30 // stride, 10_000))
    step = stride * (1000 if function.slow else 1)
    if dtype == "float32":
        whole = points.every(step)
    else:
        whole = points.per_exponent(dtype, max(2**18 // stride, 1))
        whole = whole[:: 61 if function.slow else 1]
    inside = points.around(dtype, -30, 30, max(2**32 // step // 8, 1000))
    found = np.concatenate([whole, inside, points.edges(dtype)])
    return (found[~(found < function.low)],)


def rows(stride: int, timed: bool) -> Iterator[Row]:
    """Judge every function in both types."""
    for function in FUNCTIONS:
        for dtype in DTYPES:
            error = worst(function, dtype, arguments(function, dtype, stride))
            speed = times(function, dtype) if timed else (0.0, 0.0)
            yield Row(function, dtype, error, *speed)


def times(function: Function, dtype: str) -> tuple[float, float]:
    """Nanoseconds per element: ours, and NumPy's expression of the same type."""
    random = np.random.default_rng(0)
    given = [(random.random(_ELEMENTS) * 4 + 0.1).astype(dtype) for _ in range(function.arity)]
    result = np.empty(_ELEMENTS, dtype)
    loop = compiled(function.primitive(dtype))

    def ours() -> None:
        loop(*given, result, times=100)

    def theirs() -> None:
        function.exact(*given)

    return best(ours) / 100, float("nan") if function.slow else best(theirs)


def best(call: Callable[[], None]) -> float:
    """Nanoseconds per element of the fastest of a few calls."""
    taken: list[float] = []
    for _ in range(9):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken) / _ELEMENTS * 1e9


def table(found: Sequence[Row]) -> str:
    """The rows as Markdown."""
    lines = [
        "| function | type | stated ulp | largest found | at | of | ns | NumPy ns |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in found:
        name = f"`{row.function.name}`" + (" *" if row.function.flat else "")
        at = ", ".join(f"{x:.9g}" for x in row.error.at) if row.error.ulp else ""
        speed = " | ".join(f"{x:.2f}" if x == x else "" for x in (row.ours_ns, row.numpy_ns))
        bound, error = row.function.bound(row.dtype), row.error
        errors = f"{bound:g} | {error.ulp:.3f} | {at} | {error.count}"
        lines.append(f"| {name} | {row.dtype} | {errors} | {speed} |")
    return "\n".join(lines)


def main(given: Sequence[str] | None = None) -> int:
    """Judge, and write the table into the document where that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.mathematics", description=__doc__)
    parser.add_argument(
        "--stride", type=int, default=1021, help="of float32; 1 judges every number"
    )
    parser.add_argument("--write", action="store_true", help="replace the table of the document")
    parser.add_argument("--untimed", action="store_true", help="errors only")
    asked = parser.parse_args(given)
    found: list[Row] = []
    for row in rows(asked.stride, timed=not asked.untimed):
        found.append(row)
        print(table([row]).splitlines()[-1], flush=True)
    if asked.write:
        text = DOCUMENT.read_text()
        before, after = text.split(_BEGIN)[0], text.split(_END)[1]
        DOCUMENT.write_text(f"{before}{_BEGIN}\n\n{table(found)}\n\n{_END}{after}")
    broken = [row for row in found if row.error.ulp > row.function.bound(row.dtype)]
    for row in broken:
        print(f"{row.function.name} {row.dtype} exceeds its bound at {row.error.at}")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Functions of whole axes as machine code: every function, type and layout against NumPy."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path as Directory
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.planning.arena import layout
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS, along_axis
from ostinato.pdg.index import Extent, expr
from ostinato.pdg.node import Dtype
from ostinato.runtime.cache.programs import digest
from ostinato.runtime.run.execution import Bound
from ostinato.runtime.run.executor import Executable
from tests.codegen.builder import Builder
from tests.codegen.emit.run import artifact
from tests.codegen.on_cpu import plan

RANDOM = np.random.default_rng(0)
START = RANDOM.bit_generator.state
Array = npt.NDArray[Any]
ONE = ["sum", "prod", "max", "min", "logsumexp", "argsort"]
DTYPES: list[Dtype] = ["float32", "float64", "int32", "int64", "uint32"]
LAYOUTS = {"rows apart": ("b", "m i"), "rows beside": ("b", "i m"), "one row": ("", "i")}


@pytest.fixture(autouse=True)
def _same_numbers_in_every_order() -> None:
    """Draw the same numbers whichever tests ran before."""
    RANDOM.bit_generator.state = START


def values(dtype: Dtype, *shape: int) -> Array:
    """Numbers with ties; floats with both zeros, infinities and NaN at some places."""
    small = RANDOM.integers(0 if dtype == "uint32" else -3, 4, shape)
    out = small.astype(dtype)
    if dtype.startswith("float"):
        out += RANDOM.standard_normal(shape).astype(dtype) * (RANDOM.random(shape) < 0.7)
        for special in (np.inf, -np.inf, np.nan, -0.0):
            out[RANDOM.random(shape) < 0.04] = special
    return out


def compiled(p: Builder, directory: Directory, threads: int = 2, **widths: int) -> Executable:
    made = plan(p.system(), widths)
    program = replace(artifact(made), place=partial(layout, made))
    (directory / "program.py").write_text(program.source)
    return Executable(program, directory, digest(str(directory), program.source), threads)


def system(fn: str, dtype: Dtype, dims: str, axes: str) -> Builder:
    """``y = fn(x)`` with a processed axis of size ``N``, given at run time."""
    n = expr(Extent("N"))
    p = Builder("b", {"i": n, "k": n, "m": expr(Extent("M"))})
    read = axes.replace("i", "k").split()
    p.add("x", dims, axes, [], "input", dtype=dtype)
    p.sweep("y", dims, axes, fn, p("x", *read), along="i", over="k")
    p.arrays["x"] = np.empty(0)
    p.outputs = ["y"]
    return p


@pytest.mark.parametrize("fn", ONE)
@pytest.mark.parametrize("where", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_is_what_numpy_says(fn: str, where: str, dtype: Dtype, tmp_path: Directory) -> None:
    if dtype not in AXIS_FUNCTIONS[fn].accepts:
        return
    dims, axes = LAYOUTS[where]
    run = compiled(system(fn, dtype, dims, axes), tmp_path, b=2)
    for n in (0, 1, 2, 17, 100):
        sizes = {"B": 3, "N": n, "M": 5}
        shape = [sizes[{"b": "B", "i": "N", "m": "M"}[a]] for a in (dims + " " + axes).split()]
        x = values(dtype, *shape)
        found = run.run(Bound(sizes, {"x": x}, 0))["y"]
        axis = (dims + " " + axes).split().index("i")
        with np.errstate(all="ignore"):
            expected = along_axis(fn, [x], axis - len(shape), n)
        np.testing.assert_allclose(found, expected, 1e-4 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize("where", LAYOUTS)
def test_a_row_of_choices_is_an_order(where: str, tmp_path: Directory) -> None:
    dims, axes = LAYOUTS[where]
    run = compiled(system("shuffle", "int32", dims, axes), tmp_path, b=2)
    for n in (0, 1, 2, 17, 300):
        sizes = {"B": 3, "N": n, "M": 5}
        place = (dims + " " + axes).split().index("i")
        wide = [sizes[{"b": "B", "i": "N", "m": "M"}[a]] for a in (dims + " " + axes).split()]
        x = RANDOM.integers(-2, n + 2, wide).astype("int32")
        found = run.run(Bound(sizes, {"x": x}, 0))["y"]
        assert np.array_equal(found, along_axis("shuffle", [x], place - len(wide), n))


def both(fn: str, dtype: Dtype, dims: str, axes: str, index: str) -> Builder:
    """``y = fn(x, z)``: the operands' processed axes are ``N`` and ``K`` long."""
    n, k = expr(Extent("N")), expr(Extent("K"))
    equal = AXIS_FUNCTIONS[fn].equal
    p = Builder("b", {"i": n if fn == "linear" else k, "k": n, "j": n if equal else k, "m": 5})
    second: Dtype = "int32" if fn == "scatter" else dtype
    p.add("x", dims, axes.replace("i", "k"), [], "input", dtype=dtype)
    p.add("z", dims, index.replace("i", "j"), [], "input", dtype=second)
    operands = (p("x"), p("z", *index.replace("i", "k" if equal else "j").split()))
    over = "k" if equal else "k j"
    p.sweep("y", dims, axes, fn, *operands, along="i", over=over)
    p.arrays |= {"x": np.empty(0), "z": np.empty(0)}
    p.outputs = ["y"]
    return p


PLACES = [("b", "m i", "m i"), ("b", "i m", "i m"), ("b", "i m", "i"), ("", "i", "i")]
PAIRS = [
    (fn, dtype, *place)
    for fn in ("linear", "scatter", "searchleft", "searchright")
    for dtype in ("float32", "int32")
    for place in PLACES
    if AXIS_FUNCTIONS[fn].equal or place[1] == place[2]
]


@pytest.mark.parametrize(("fn", "dtype", "dims", "axes", "index"), PAIRS)
def test_functions_of_two_operands(
    fn: str, dtype: Dtype, dims: str, axes: str, index: str, tmp_path: Directory
) -> None:
    run = compiled(both(fn, dtype, dims, axes, index), tmp_path, b=2)
    for n, k in ((0, 1), (1, 0), (6, 9), (40, 7)):
        sizes = {"B": 3, "N": n, "K": k, "M": 5}
        first, second = (shape(sizes, dims, a, n) for a in (axes, index))
        if not AXIS_FUNCTIONS[fn].equal:
            second = shape(sizes, dims, index, k)
        x, z = values(dtype, *first), values(dtype, *second)
        if fn.startswith("search"):
            x = np.sort(x, (dims + axes.replace(" ", "")).index("i"))
        if fn == "scatter":
            z = RANDOM.integers(-2, k + 2, second).astype("int32")
        found = run.run(Bound(sizes, {"x": x, "z": z}, 0))["y"]
        axis = (dims + axes.replace(" ", "")).index("i") - len(first)
        wide = z if index == axes else z[..., None]
        with np.errstate(all="ignore"):
            expected = along_axis(fn, [x, wide], axis, n if fn == "linear" else k)
        # terms of a recurrence are of size 10 and may cancel: 1e-5 is ten of their roundings
        np.testing.assert_allclose(found, expected, 1e-4, 1e-5 if fn == "linear" else 0)


def shape(sizes: dict[str, int], dims: str, axes: str, along: int) -> tuple[int, ...]:
    return tuple(along if a == "i" else sizes[a.upper()] for a in [*dims.split(), *axes.split()])

"""Functions of special values: NumPy, the interpreter, compiled code and constants say the same."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.pdg.errors import ArgumentError, DtypeError
from tests.errors.refusal import refusal

Array = npt.NDArray[Any]
ONE = (
    "abs arccos arccosh arcsin arcsinh arctan arctanh ceil cos cosh exp exp2 expm1 floor isfinite "
    "isinf isnan log log10 log1p log2 nan_to_num reciprocal round sign sin sinh sqrt square tan "
    "tanh trunc"
).split()
TWO = "arctan2 fmod hypot logaddexp".split()
SIGNS = "add sub mul truediv floordiv mod pow lt le gt ge eq ne".split()
RELATIVE = {"float32": 1e-6, "float64": 4e-15}


def special(dtype: str) -> Array:
    """Both zeros, infinities, NaN, subnormals, the ends of the type, and a few usual numbers."""
    f = np.finfo(dtype)
    sizes = np.array([0, 1, 0.5, 2, 3, 7.5, 1e4, math.inf], dtype)
    ends = np.array([f.max, f.tiny, f.smallest_subnormal, f.eps], dtype)
    return np.concatenate([sizes, ends, -sizes, -ends, np.array([math.nan], dtype)])


def same(found: Array, meant: Array, relative: float) -> None:
    """NaN meets NaN, zeros have the same sign, and the others differ by rounding."""
    assert found.dtype == meant.dtype
    np.testing.assert_allclose(found, meant, relative, atol=0)
    if found.dtype.kind == "f":
        known = ~np.isnan(meant)
        np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(meant)[known])


def functions(fns: Any, x: Any, y: Any) -> dict[str, Any]:
    one = {name: getattr(fns, name)(x) for name in ONE}
    two = {name: getattr(fns, name)(x, y) for name in TWO}
    return one | two | {f"_{name}": getattr(operator, name)(x, y) for name in SIGNS}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_function_of_special_values_is_numpys(dtype: str) -> None:
    points = special(dtype)
    x, y = (a.ravel() for a in np.meshgrid(points, points))
    arguments = (ot.input(n, x.shape, dtype) for n in "xy")
    program = ot.Program(**functions(ot, *arguments))
    interpreted, compiled = program.interpret(x=x, y=y), program.compile(exact=True)(x=x, y=y)
    literal = ot.Program(**functions(ot, ot.constant(x), ot.constant(y))).compile(exact=True)()
    with np.errstate(all="ignore"):
        meant = functions(np, x, y)
    for name, value in meant.items():
        for found in (interpreted, compiled, literal):
            same(found[name], np.asarray(value), RELATIVE[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_function_of_one_number_is_that_of_many(dtype: str) -> None:
    """NumPy has other code for an exponent that is one number: ``(-inf) ** 0.5`` is infinite."""
    points = special(dtype)
    x, y = (a.ravel() for a in np.meshgrid(points, points))
    t = ot.dims("t")
    one = functions(ot, *(ot.input(n, (), dtype, over=t) for n in "xy"))
    many = functions(ot, *(ot.input(n, x.shape, dtype) for n in "xy"))
    found, expected = (ot.Program(**each).interpret(x=x, y=y) for each in (one, many))
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, name)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_an_operator_of_extreme_integers_is_numpys(dtype: str) -> None:
    ends = np.iinfo(dtype)
    points = np.array({0, 1, 2, 7, 31, 32, 63, ends.max, ends.min, ends.min + 1, ends.max - 6}, "O")
    points = np.array(sorted(points.item()), dtype)
    x, y = (a.ravel() for a in np.meshgrid(points, points))
    names = "add sub mul floordiv mod and_ or_ xor lshift rshift lt le eq".split()
    given = [ot.input(n, x.shape, dtype) for n in "xy"]
    made = {n: getattr(operator, n)(*given) for n in names}
    program = ot.Program(least=-given[0], **made)
    interpreted, compiled = program.interpret(x=x, y=y), program.compile()(x=x, y=y)
    with np.errstate(all="ignore"):
        meant = {n: getattr(operator, n)(x, y) for n in names} | {"least": -x}
    for name, value in meant.items():
        np.testing.assert_array_equal(interpreted[name], value, strict=True)
        np.testing.assert_array_equal(compiled[name], value, strict=True)


def test_far_below_zero_a_sigmoid_is_not_zero() -> None:
    x = ot.input("x", (3,))
    program = ot.Program(y=ot.log(ot.sigmoid(x)))
    for found in (program.interpret, program.compile()):
        np.testing.assert_allclose(found(x=[-20.0, -80.0, 3.0])["y"][:2], [-20, -80], rtol=1e-6)


def test_where_an_infinity_is_known_the_distance_has_no_slope() -> None:
    x, y = ot.input("x", (4,)), ot.input("y", (4,))
    slope = ot.Program(y=ot.grad(ot.hypot(x, y).sum(), x))
    given = {"x": [np.inf, np.nan, 0.0, 3.0], "y": [np.nan, -np.inf, 0.0, 4.0]}
    for run in (slope.interpret, slope.compile()):
        np.testing.assert_allclose(run(**given)["y"], [0.0, 0.0, 0.0, 0.6], rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ot.constant(1e39), "the number 1e+39 does not fit float32"),
        (lambda: ot.constant([0.0, 1e39]), "the number 1e+39 does not fit float32"),
        (lambda: ot.input("x") * 1e39, "the number 1e+39 does not fit float32"),
        (lambda: ot.full((2,), 1e39), "the number 1e+39 does not fit float32"),
        (lambda: ot.constant(65520.0, "float16"), "the number 65520.0 does not fit float16"),
        (lambda: ot.constant(3.4e38, "bfloat16"), "the number 3.4e+38 does not fit bfloat16"),
    ],
)
def test_a_number_that_would_become_infinite_is_refused(
    make: Callable[[], ot.Tensor], text: str
) -> None:
    found = refusal(DtypeError, make).split(": ", 1)[1]
    assert found == f"{text}\n  Use float64, a smaller number, or math.inf."


def test_the_largest_numbers_and_infinities_are_constants() -> None:
    values = [float(np.finfo("float32").max), math.inf, -math.inf]
    assert ot.Program(y=ot.constant(values)).interpret()["y"].tolist() == values


def test_an_argument_that_would_become_infinite_is_refused() -> None:
    run = ot.Program(y=ot.input("x", (2,)) + 0.0).compile()
    text = refusal(ArgumentError, lambda: run(x=np.array([1e39, 0.0]))).split(": ", 1)[1]
    remedy = "Pass values inside its range, or declare a wider type."
    assert text == f"the input `x` has values outside float32\n  {remedy}"
    assert run(x=np.array([np.inf, 1.0]))["y"].tolist() == [np.inf, 1.0]


def test_an_integer_is_an_unsigned_argument_where_it_fits() -> None:
    run = ot.Program(y=ot.input("u", dtype="uint32") + 1).compile()
    assert run(u=5)["y"] == 6
    text = refusal(ArgumentError, lambda: run(u=-1)).split(": ", 1)[1]
    assert text.startswith("the input `u` has values outside uint32\n")

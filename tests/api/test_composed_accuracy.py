"""Compiled functions that are composed of others keep the relative errors that the docs state."""

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot

SMALL = np.concatenate([-np.geomspace(1e-6, 0.999, 301), np.geomspace(1e-6, 0.999, 301)])
POINTS: dict[str, npt.NDArray[np.float64]] = {
    "sinh": np.concatenate([SMALL, np.linspace(-88, 89, 301)]),
    "cosh": np.linspace(-88, 89, 301),
    "arcsin": SMALL,
    "arccos": SMALL,
    "arctan": np.concatenate([SMALL, np.geomspace(1, 1e30, 301)]),
    "arccosh": 1 + np.geomspace(1e-6, 1e30, 601),
    "arctanh": SMALL,
    "log10": np.geomspace(1e-30, 1e30, 600),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", POINTS)
def test_the_relative_error_is_bounded(name: str, dtype: str) -> None:
    t = ot.dims("t")
    x = ot.input("x", dtype=dtype, over=t)
    points = POINTS[name].astype(dtype)
    found = ot.Program(y=getattr(ot, name)(x)).compile()(x=points)["y"]
    exact = getattr(np, name)(points.astype(np.longdouble))
    bound = {"float32": 1e-6, "float64": 5e-15}[dtype]
    assert np.max(np.abs(found - exact) / np.abs(exact)) <= bound


def test_the_hyperbolic_functions_reach_the_largest_float() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    program = ot.Program(s=ot.sinh(x), c=ot.cosh(x)).compile()
    found = program(x=np.array([89.4, -89.4, 90.0], np.float32))
    assert np.isfinite([found["s"][:2], found["c"][:2]]).all() and np.isinf(found["c"][2])

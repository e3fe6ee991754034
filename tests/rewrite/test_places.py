"""Places of the greatest so far, and of the least to come: one comparison for each point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.pdg.node import Dtype
from ostinato.pdg.text.printer import show
from ostinato.rewrite.optimize import RewriteOptions, optimize

Values = npt.NDArray[np.generic]
b, t = ot.dims("b t")
LONG = {"T": 4096}
FOLDS = ("argmax", "argmin")
RANGES = {"so far": slice(None, t + 1), "to come": slice(t, None)}


def places(fold: str, part: str, dtype: Dtype = "float32") -> ot.Program:
    x = ot.input("x", over=(b, t), dtype=dtype)
    return ot.Program(y=getattr(x[b, RANGES[part]], fold)(0))


def _special(rng: np.random.Generator) -> Values:
    drawn = rng.choice(np.array([-np.inf, -1.0, -0.0, 0.0, 2.0, np.inf, np.nan]), size=(40, 9))
    return drawn.astype("float32")


GIVEN: dict[str, Callable[[np.random.Generator], Values]] = {
    "numbers": lambda rng: rng.normal(size=(5, 30)).astype("float32"),
    "equal numbers and no numbers": _special,
    "nothing greater than nothing": lambda rng: np.full((2, 4), -np.inf, "float32"),
    "one step": lambda rng: np.array([[np.nan], [1.0]], "float32"),
    "integers": lambda rng: rng.integers(-2, 3, size=(20, 8)).astype("int32"),
}


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("part", RANGES)
@pytest.mark.parametrize("fold", FOLDS)
def test_the_place_is_the_first_as_in_numpy(fold: str, part: str, given: str) -> None:
    x = GIVEN[given](np.random.default_rng(0))
    program = places(fold, part, "int32" if given == "integers" else "float32")
    found = program.compile(hints=LONG)(x=x)["y"]
    np.testing.assert_array_equal(found, program.interpret(x=x)["y"])


@pytest.mark.parametrize("part", RANGES)
@pytest.mark.parametrize("fold", FOLDS)
def test_no_point_passes_over_its_range(fold: str, part: str) -> None:
    found = show(optimize(places(fold, part).pdg, RewriteOptions(hints=LONG)).pdg)
    assert "linear(" in found and fold not in found


def test_places_of_vectors_are_those_of_their_elements() -> None:
    v = ot.input("v", shape=(3,), over=t)
    program = ot.Program(y=v[: t + 1].argmax(0), z=v[t:].argmin(0))
    given = np.random.default_rng(0).integers(0, 4, size=(7, 3)).astype("float32")
    expected, found = program.interpret(v=given), program.compile(hints=LONG)(v=given)
    assert all((found[name] == expected[name]).all() for name in ("y", "z"))


def test_a_recurrence_may_read_where_its_greatest_value_was() -> None:
    x, h = ot.input("x", over=t), ot.recurrent("h", over=t)
    h[0] = x[0]
    h[t + 1] = 0.5 * h + x[t + 1] * h[: t + 1].argmax(0).cast("float32")
    given = np.random.default_rng(0).normal(size=12).astype("float32")
    program = ot.Program(h=h)
    found, expected = program.compile(hints=LONG)(x=given)["h"], program.interpret(x=given)["h"]
    np.testing.assert_allclose(found, expected, rtol=1e-4)

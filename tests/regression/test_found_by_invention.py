"""Programs that once failed, as hypothesis found and shrank them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ostinato as ot
from tests.property.judge import Trial, judge
from tests.property.programs import Recipe, Step

LINE = (((0,), ()),)  # one scalar series
PLANE = (((0, 1), ()),)  # one scalar over two dims

FOUND = {
    # a statement called `min` hid Python's own in the generated kernel
    "tensor named as a builtin": Recipe(
        LINE, (Step("full", fold="min"), Step("last", a=1), Step("sub", a=1, b=2)), 2, 1
    ),
    # the definition of a recurrence reads itself two steps back
    "recurrence of stride two": Recipe(LINE, (Step("stride", c=2), Step("stride", a=1, c=3)), 2, 1),
    # two recurrences along different dims, one reading the other: taken for one cycle
    "recurrences along two dims": Recipe(
        PLANE,
        (
            Step("forward", dim=0),
            Step("pair", a=1, dim=0),
            Step("pair", a=2, dim=1),
            Step("cases", a=3, dim=0),
        ),
        1,
        2,
    ),
}


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_is_right_now(name: str, dtype: str) -> None:
    recipe = FOUND[name]
    judge(Trial(replace(recipe, dtypes=(dtype,) * len(recipe.inputs))))


def test_a_recurrence_may_read_two_steps_ahead_of_its_left_side() -> None:
    t = ot.dims("t")
    x = ot.recurrent("x", dtype="int64", over=t)
    x[0] = 1
    x[1] = 1
    x[t + 2] = x[t + 1] + x
    result = ot.Program(x=x).compile()(T=10)["x"]
    assert result.tolist() == [1, 1, 2, 3, 5, 8, 13, 21, 34, 55]


def test_an_output_keeps_its_axes_of_size_one() -> None:
    x = ot.input("x", shape=(1, 3))
    program = ot.Program(kept=x.sum(1, keepdims=True), cut=x[:, :2])
    result = program.compile()(x=[[1.0, 2.0, 3.0]])
    assert result["kept"].tolist() == [[6.0]] and result["cut"].tolist() == [[1.0, 2.0]]


def test_argmax_of_a_flattened_tensor_counts_all_axes() -> None:
    x = ot.input("x", shape=(2, 3))
    result = ot.Program(k=x.argmax()).compile()(x=[[0.0, 1.0, 2.0], [1.0, 9.0, 3.0]])
    assert int(result["k"]) == 4


def test_a_result_keeps_the_order_of_its_axes_when_it_ends_a_product() -> None:
    x, y = ot.input("x", shape=(9, 4)), ot.input("y", shape=(4, 3))
    program = ot.Program(z=2.0 * (x @ y), turned=2.0 * (x @ y).T)
    rng = np.random.default_rng(0)
    given = {"x": rng.normal(size=(9, 4)), "y": rng.normal(size=(4, 3))}
    result = program.compile()(**given)
    np.testing.assert_allclose(result["z"], 2 * given["x"] @ given["y"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result["turned"], result["z"].T)


def test_one_element_of_a_value_with_a_derivative_of_its_own() -> None:
    recipe = Recipe(
        (((0, 2), ()), ((0, 2), (3,))),
        (
            Step("at_several_computed_steps", a=1, b=1, dim=2, c=1, fold="argmax"),
            Step("draw", a=1, b=2, dim=3, c=1, fold="prod"),
            Step("kept", a=0, b=1, dim=2, c=3, fold="discounted"),
            Step("own_derivative", a=4, b=4, dim=2, c=2, fold="mean"),
        ),
        2,
        3,
        mode="gradient",
    )
    judge(Trial(recipe))

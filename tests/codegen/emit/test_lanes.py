"""Folds that are kept apart in lanes give what folds in order give, for any number of elements."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot

SIZES = (1, 5, 16, 63, 64, 65, 200)  # around the blocks of a row
SHAPES = {"rows": (3, 70), "columns": (70, 20)}
COLUMNS = 40  # results that are kept while a fold runs


def along_steps() -> ot.Program:
    """Folds of rows and of columns, over a number of steps that a run says."""
    b, t = ot.dims("b t")
    x, y = ot.input("x", over=(b, t)), ot.input("y", (COLUMNS,), over=t)
    row, column = x[b, :], y[:]
    return ot.Program(
        sum=row.sum(0),
        max=row.max(0),
        argmax=row.argmax(0),
        argmin=row.argmin(0),
        logsumexp=ot.logsumexp(row, 0),
        columns=column.argmax(0),
        highest=column.max(0),
        any=(row > 3).any(0),
        all=(row > -6).all(0),
        truths=(column > 3).any(0),
    )


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "uint32", "float32", "float64"])
def test_every_type_has_lanes(dtype: Any) -> None:
    rows, columns = ot.input("rows", (3, 70), dtype), ot.input("columns", (70, 20), dtype)
    folds = ("sum", "max", "min", "argmax", "argmin", *(("any", "all") if dtype == "bool" else ()))
    outputs = {f"{fold}_of_rows": getattr(rows, fold)(-1) for fold in folds}
    outputs |= {f"{fold}_of_columns": getattr(columns, fold)(0) for fold in folds}
    program, rng = ot.Program(**outputs), np.random.default_rng(0)
    given = {n: rng.integers(0, 3, s).astype(dtype) for n, s in SHAPES.items()}
    meant, found = program.interpret(**given), program.compile(threads=1)(**given)
    for name in meant:
        np.testing.assert_allclose(found[name], meant[name], rtol=1e-5, err_msg=name)


def drawn(size: int) -> dict[str, npt.NDArray[Any]]:
    """Rows with equals, with NaN, and of minus infinity alone."""
    rng = np.random.default_rng(size)
    x = rng.integers(-5, 5, (5, size)).astype("float32")
    y = rng.integers(-5, 5, (size, COLUMNS)).astype("float32")
    x[1, size // 2 :: 7] = np.nan
    x[2] = -np.inf
    y[size // 2, 3] = np.nan
    y[:, 4] = -np.inf
    return {"x": x, "y": y}


@pytest.fixture(scope="module", params=["usual", "addresses"])
def compiled(request: pytest.FixtureRequest) -> Any:
    checks: Any = request.param if request.param == "addresses" else False
    return along_steps().compile(threads=1, checks=checks)


@pytest.mark.parametrize("size", SIZES)
def test_lanes_give_what_the_definition_gives(compiled: Any, size: int) -> None:
    given = drawn(size)
    meant, found = along_steps().interpret(**given), compiled(**given)
    for name in meant:
        np.testing.assert_allclose(found[name], meant[name], rtol=1e-5, err_msg=name)


def test_the_number_of_workers_changes_no_sum() -> None:
    given = {"x": np.random.default_rng(0).normal(size=(200, 333)), "y": drawn(333)["y"]}
    one, two = (along_steps().compile(threads=n)(**given) for n in (1, 2))
    assert all(one[name].tobytes() == two[name].tobytes() for name in one)


@pytest.mark.parametrize("length", [7, 16, 50, 130])
def test_a_row_of_a_known_length_is_folded_in_lanes(length: int) -> None:
    x = ot.input("x", (3, length), "float64")
    program = ot.Program(product=(x + 0.0).prod(1), place=x.argmin(1), total=ot.exp(x).sum(1))
    given = np.random.default_rng(0).normal(size=(3, length))
    meant, found = program.interpret(x=given), program.compile(threads=1)(x=given)
    assert np.array_equal(found["place"], meant["place"])
    np.testing.assert_allclose(found["product"], meant["product"], rtol=1e-12)
    np.testing.assert_allclose(found["total"], meant["total"], rtol=1e-12)


def test_the_source_says_which_folds_are_kept_apart() -> None:
    x, y = ot.input("x", (5, 100)), ot.input("y", (5, 8))
    source = ot.Program(long=x.sum(1), short=y.sum(1)).compile(threads=1).explain().source
    assert re.search(r'take_long\w*, .* = partials\("float32", 64\)', source)
    assert "take_short" not in source


@pytest.mark.parametrize(("length", "most"), [(5, 5), (33, 1), (40, 7), (300, 128), (300, 129)])
def test_the_greatest_are_selected_in_order(length: int, most: int) -> None:
    x = np.random.default_rng(length).integers(-20, 20, (4, length)).astype("float32")
    x[0, [1, -1]] = np.nan
    x[1] = np.sort(x[1])  # every element comes before all that were chosen
    x[2] = -np.inf
    program = ot.Program(place=ot.top_k(ot.input("x", x.shape), most)[1])
    backwards = np.argsort(x[:, ::-1], axis=1, kind="stable")[:, ::-1]
    expected = (length - 1 - backwards)[:, :most]
    assert np.array_equal(program.compile(threads=1)(x=x)["place"], expected)


def test_a_row_is_not_sorted_for_a_few_of_its_elements() -> None:
    x = ot.input("x", (3, 1000))
    source = ot.Program(place=ot.top_k(x, 5)[1]).compile(threads=1).explain().source
    assert "argsort" not in source


SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("many", [3, 64, 130])
def test_many_values_are_searched_for_together(side: Literal["left", "right"], many: int) -> None:
    rng = np.random.default_rng(many)
    sought = rng.integers(-9, 9, many).astype("float32")
    sought[0] = np.nan
    steps = ot.input("x", over=ot.dims("t"))
    program = ot.Program(at=ot.searchsorted(steps[:], ot.input("sought", (many,)), side))
    run = program.compile(threads=1)
    for size in (1, 2, 7, 100):
        row = np.sort(rng.integers(-9, 9, size)).astype("float32")
        expected = np.searchsorted(row, sought, side)
        assert np.array_equal(run(x=row, sought=sought)["at"], expected)


def test_an_exact_program_adds_up_a_row_in_order() -> None:
    x = np.random.default_rng(0).normal(size=(4, 999)).astype("float32")
    program = ot.Program(total=ot.input("x", x.shape).sum(1))
    found = program.compile(threads=1, exact=True)(x=x)["total"]
    assert np.array_equal(found, np.cumsum(x, axis=1, dtype="float32")[:, -1])

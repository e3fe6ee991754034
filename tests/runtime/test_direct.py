"""Large arguments and results are read and written where they lie."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.compiler.compiled import Compiled
from ostinato.runtime.run import frame
from ostinato.runtime.run.frame import Frame

Array = npt.NDArray[Any]
T, B = 5, 70


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "LARGE", 0)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """What every run finds where it lies."""
    found: list[set[str]] = []
    original = Frame.direct

    def noted(self: Frame, inputs: Mapping[str, Array]) -> dict[str, Array]:
        out = original(self, inputs)
        found.append(set(out))
        return out

    monkeypatch.setattr(Frame, "direct", noted)
    return found


def sums() -> ot.Program:
    t, b = ot.dims("t b")
    x, y = ot.input("x", over=(t, b)), ot.input("y", over=b)
    return ot.Program(s=x[: t + 1, b].sum(0) * y)


def given() -> dict[str, Array]:
    rng = np.random.default_rng(3)
    return {"x": rng.normal(size=(T, B)).astype("f"), "y": rng.normal(size=B).astype("f")}


def meant(x: Array, y: Array) -> Array:
    return np.asarray(np.cumsum(x, 0) * y)


def test_arguments_and_results_need_no_copy(taken: list[set[str]]) -> None:
    arguments = given()
    kept = {name: array.copy() for name, array in arguments.items()}
    run = sums().compile()
    first = run(**arguments)["s"]
    second = run(x=2 * arguments["x"], y=arguments["y"])["s"]
    np.testing.assert_allclose(first, meant(**kept), rtol=1e-5)
    np.testing.assert_allclose(second, 2 * first, rtol=1e-5)
    assert all(np.array_equal(arguments[name], kept[name]) for name in kept)
    assert taken[0] >= {"x", "y"}


def test_only_tiles_that_fill_their_rows_are_written_where_they_are_wanted() -> None:
    t, b = ot.dims("t b")
    run = ot.Program(y=2 * ot.input("x", over=(t, b))).compile(widths={"b": 32})
    for columns in (64, 70):
        x = np.arange(3 * columns, dtype="f").reshape(3, columns)
        np.testing.assert_array_equal(run(x=x)["y"], 2 * x)


def turned(x: Array) -> Array:
    return np.asfortranarray(x)


def reversed_rows(x: Array) -> Array:
    return x[:, ::-1]


def wider(x: Array) -> Array:
    return x.astype(float)


@pytest.mark.parametrize("other", [turned, reversed_rows, wider])
def test_an_argument_in_another_order_is_copied(
    other: Callable[[Array], Array], taken: list[set[str]]
) -> None:
    arguments = given()
    arguments["x"] = other(arguments["x"])
    found = sums().compile()(**arguments)["s"]
    np.testing.assert_allclose(found, meant(**arguments), rtol=1e-5)


def test_an_argument_that_is_a_result_is_copied(taken: list[set[str]]) -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    array = np.arange(4, dtype="f")
    found = ot.Program(x=x, y=x + 1).compile()(x=array)
    array += 1
    assert found["x"].tolist() == [0, 1, 2, 3] and found["y"].tolist() == [1, 2, 3, 4]


def more(v: Array) -> Array:
    return np.asarray(v + 1)


def test_calls_of_python_find_everything_in_the_arena(taken: list[set[str]]) -> None:
    t = ot.dims("t")
    x = ot.input("x", (3,), over=t)
    run = ot.Program(y=ot.host(more, x, shape=(3,))).compile()
    assert np.array_equal(run(x=np.zeros((2, 3), "f"))["y"], np.ones((2, 3)))
    assert taken == [set()]


def stepwise() -> Compiled:
    i = ot.dims("i")
    s, x = ot.recurrent("s", over=i), ot.input("x", over=i)
    s[0], s[i + 1] = 0.0, ot.tanh(s) + x
    return ot.Program(s=s).compile()


def test_a_stream_has_arguments_of_its_own() -> None:
    run, x = stepwise(), np.ones(2000, "f")
    wanted = run(x=x)["s"]
    records = run.stream("i", x=x)
    x[:] = np.nan
    assert [record.s for record in records] == wanted.tolist()


@pytest.mark.parametrize(("limit_s", "expected"), [(60.0, True), (0.0, False)])
def test_a_run_is_brief_that_was_brief_before_at_the_same_sizes(
    limit_s: float, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostinato.runtime.run.executor.BRIEF_S", limit_s)
    run = sums().compile()
    executable, sizes = run.executable, {"B": B, "T": T}
    assert not executable.is_brief(sizes)
    first, second = (run(**given())["s"] for _ in range(2))
    assert executable.is_brief(sizes) == expected and not executable.is_brief({"B": B, "T": 2})
    assert np.array_equal(first, second)

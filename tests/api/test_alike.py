"""A call like the last one is recognised; one that is not is told what is wrong, as ever."""

from typing import Any
from unittest import mock

import numpy as np
import pytest

import ostinato as ot
from ostinato.compiler.arguments import Signature
from ostinato.compiler.compiled import Compiled
from ostinato.pdg.errors import ArgumentError

X = np.arange(6, dtype="float32").reshape(2, 3)


@pytest.fixture(scope="module")
def run() -> Compiled:
    t, b = ot.dims("t b")
    x, n = ot.input("x", over=(t, b)), ot.input("n", dtype="int32")
    return ot.Program(y=2 * x + n).compile()


def test_a_call_like_the_last_one_is_not_looked_at_again(run: Compiled) -> None:
    n = np.array(1, "int32")
    run(x=X, n=n, T=2, seed=3)
    with mock.patch.object(Signature, "bind", side_effect=AssertionError):
        assert run(x=3 * X, n=n, T=2)["y"].tolist() == (6 * X + 1).tolist()
        assert run(x=X, n=np.array(2, "int32"), T=2, seed=4)["y"].tolist() == (2 * X + 2).tolist()


@pytest.mark.parametrize(
    "other",
    [
        {"x": X.tolist()},
        {"x": np.asfortranarray(X)},
        {"x": X.astype("float64")},
        {"x": X.astype(">f4")},
        {"x": np.repeat(X, 2, 0)[::2]},
        {"x": X.view(np.recarray)},
        {"x": np.concatenate([X, X])},
        {"n": 1},
        {"T": 2},
        {"T": np.int64(2)},
    ],
)
def test_what_is_given_in_another_way_means_the_same(run: Compiled, other: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"x": X, "n": np.array(1, "int32")}
    run(**usual)
    given = {**usual, **other}
    wanted = 2 * np.array(given["x"], "float32") + 1
    assert run(**given)["y"].tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"x": X[0]}, "declared is"),
        ({"x": X.astype("complex64")}, "has type complex64"),
        ({"T": 3}, "the extent `T` is"),
        ({"seed": -1}, "`seed` is -1"),
        ({"seed": True}, "`seed` is True"),
        ({"z": 1}, "no argument `z`"),
        ({"n": None}, "the input `n`"),
    ],
)
def test_what_is_wrong_is_told_after_a_right_call_as_before(
    run: Compiled, other: dict[str, Any], said: str
) -> None:
    usual: dict[str, Any] = {"x": X, "n": np.array(1, "int32")}
    texts = set[str]()
    others: dict[str, Any] = {**usual, "x": np.ones((5, 2), "float32")}
    for before in (others, usual):
        run(**before)
        with pytest.raises(ArgumentError, match=said) as caught:
            run(**{**usual, **other})
        texts.add(str(caught.value))
    assert len(texts) == 1


def test_a_missing_argument_is_told_after_a_right_call(run: Compiled) -> None:
    run(x=X, n=np.array(1, "int32"))
    with pytest.raises(ArgumentError, match="the input `n` is missing"):
        run(x=X)

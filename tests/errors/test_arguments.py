"""Arguments of a call: the interpreter and the compiled program refuse them alike."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import ArgumentError
from tests.errors.refusal import here, refusal

Run = Callable[..., object]


def program() -> ot.Program:
    b, t, k = ot.dims("b t k")
    x, weight = ot.input("x", over=(b, t)), ot.input("weight", over=t)
    return ot.Program(y=x[b, : t + 1].sum(0) * weight + ot.index(k))


@pytest.fixture(scope="module", params=["interpreted", "compiled"])
def run(request: pytest.FixtureRequest) -> Run:
    return program().interpret if request.param == "interpreted" else program().compile()


X, W = np.zeros((2, 3), np.float32), np.zeros(3, np.float32)
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown argument": (
        {"x": X, "wieght": W, "K": 1},
        "the program has no argument `wieght`\n"
        "  Did you mean `weight`? It takes: weight, x, B, K, T, seed.",
    ),
    "extent in lower case": (
        {"x": X, "weight": W, "k": 1},
        "the program has no argument `k`\n  Did you mean `K`? It takes: weight, x, B, K, T, seed.",
    ),
    "missing extent": (
        {"x": X, "weight": W},
        "the extent `K` is missing\n  Pass K=..., the number of steps of `k`.",
    ),
    "missing input": (
        {"x": X, "K": 2},
        "the input `weight` is missing\n  Pass weight=... of shape (T,) and type float32.",
    ),
    "two arrays": (
        {"x": X, "weight": np.zeros(4), "K": 2},
        "the extent `T` is 4 (`weight` has 4 at axis 0) and 3 (`x` has 3 at axis 1)\n"
        "  Pass arrays and extents of equal sizes.",
    ),
    "an array and an extent": (
        {"x": X, "weight": W, "K": 2, "T": 7},
        "the extent `T` is 7 (T=7) and 3 (`weight` has 3 at axis 0)\n"
        "  Pass arrays and extents of equal sizes.",
    ),
    "number of axes": (
        {"x": np.zeros((2, 3, 4)), "weight": W, "K": 2},
        "the input `x` has shape (2, 3, 4), declared is (B, T)\n  Pass an array with 2 axes.",
    ),
    "type": (
        {"x": X.astype(complex), "weight": W, "K": 2},
        "the input `x` has type complex128, declared is float32\n  Pass x.astype('float32').",
    ),
    "extent of 0": (
        {"x": X, "weight": W, "K": 0},
        "`K` is 0\n  Pass an integer of at least 1.",
    ),
    "negative seed": (
        {"x": X, "weight": W, "K": 1, "seed": -1},
        "`seed` is -1\n  Pass an integer of at least 0.",
    ),
}


@pytest.mark.parametrize(("arguments", "text"), REFUSED.values(), ids=REFUSED)
def test_an_argument_is_refused(run: Run, arguments: dict[str, Any], text: str) -> None:
    where = here(1)
    assert refusal(ArgumentError, lambda: run(**arguments)) == f"{where}: {text}"


def test_a_stream_over_an_inner_dimension() -> None:
    i, t = ot.dims("i t")
    step = (ot.index(i) + ot.index(t)) * 1.0
    compiled = ot.Program(y=step).compile()
    where = here(1)
    assert refusal(ArgumentError, lambda: compiled.stream("t", I=2, T=2)) == (
        f"{where}: no output has `t` as its first dimension\n  Stream over one of: i."
    )


@pytest.mark.parametrize("number", [0, -1, 1.5])
def test_a_stream_waits_for_a_number_of_steps_and_keeps_a_number_of_records(number: object) -> None:
    t = ot.dims("t")
    run = ot.Program(y=ot.index(t) * 1.0).compile()
    remedy = "Pass a number of steps from 1 on, or leave it out: there is no state then."
    text = refusal(ArgumentError, lambda: run.stream(t, every=number, T=2))
    assert text.endswith(f": `every` is {number}\n  {remedy}")
    text = refusal(ArgumentError, lambda: run.stream(t, keep=number, T=2))
    assert text.endswith(f': `keep` is {number}\n  Pass a number of records from 1 on, or "all".')
    assert len(list(run.stream(t, every=None, keep=None, T=2))) == 2


def test_an_extent_may_be_an_array_without_axes() -> None:
    t = ot.dims("t")
    assert ot.Program(y=ot.index(t)).interpret(T=np.array(3))["y"].tolist() == [0, 1, 2]


def test_a_compiled_program_is_its_own_copy() -> None:
    run = ot.Program(y=2.0 * ot.input("x")).compile()
    assert copy.copy(run) is run and copy.deepcopy([run])[0] is run

"""Sums that decay with the distance are one linear recurrence, however they are spelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from tests.rewrite.test_spellings import extracted

DECAY, KEEP = 0.9, 0.1
Make = Callable[[Any, Any, Any], Any]


def decaying(make: Make, *shape: int) -> ot.Program:
    b, t = ot.dims("b t")
    return ot.Program(y=make(b, t, ot.input("x", shape, over=(b, t))))


def _age(t: Any) -> Any:
    """``t - s`` for all steps so far."""
    return (ot.index(t) - ot.arange(t + 1)).cast("float32")


def _behind(t: Any) -> Any:
    """``g ** (t - s)`` for all steps so far."""
    return DECAY ** _age(t)


def _row(t: Any, condition: Callable[[Any, Any], Any]) -> Any:
    here, steps = ot.index(t), ot.arange(t.size)
    powers = DECAY ** (here - steps).cast("float32")
    return ot.where(condition(here, steps), powers, 0.0)


def recurrence(b: Any, t: Any, x: Any) -> Any:
    y = ot.recurrent("y", x.shape, over=(b, t))
    y[b, 0] = x[b, 0]
    y[b, t] = x + DECAY * y[b, t - 1]
    return y


SUMS: dict[str, Make] = {
    "counts": lambda b, t, x: (_behind(t) * x[b, : t + 1]).sum(0),
    "counts last": lambda b, t, x: (x[b, : t + 1] * _behind(t)).sum(0),
    "indices": lambda b, t, x: (
        DECAY ** (ot.index(t) - ot.index(t)[: t + 1]).cast("float32") * x[b, : t + 1]
    ).sum(0),
    "row of a triangle": lambda b, t, x: (_row(t, lambda h, s: h - s >= 0) * x[b, :]).sum(0),
    "row where earlier": lambda b, t, x: (x[b, :] * _row(t, lambda h, s: s <= h)).sum(0),
    "row where later": lambda b, t, x: (_row(t, lambda h, s: h >= s) * x[b, :]).sum(0),
}


@pytest.mark.parametrize("name", SUMS)
def test_a_decaying_sum_is_one_linear_recurrence_however_it_is_spelled(name: str) -> None:
    program = decaying(SUMS[name])
    assert extracted(program) == extracted(decaying(recurrence))
    x = np.random.default_rng(0).normal(size=(3, 7)).astype("float32")
    expected = decaying(recurrence).interpret(x=x)["y"]
    np.testing.assert_allclose(program.interpret(x=x)["y"], expected, rtol=1e-5)


AVERAGES: dict[str, Make] = {
    "by the power": lambda b, t, x: (
        KEEP
        * (_behind(t) * x[b, : t + 1]).sum(0)
        / (1.0 - DECAY ** (ot.index(t) + 1).cast("float32"))
    ),
    "scaled weights": lambda b, t, x: (
        (KEEP * _behind(t) * x[b, : t + 1]).sum(0)
        / (1.0 - DECAY ** (ot.index(t) + 1).cast("float32"))
    ),
    "by the weights": lambda b, t, x: (_behind(t) * x[b, : t + 1]).sum(0) / _behind(t).sum(0),
    "normalised": lambda b, t, x: ((_behind(t) / _behind(t).sum(0)) * x[b, : t + 1]).sum(0),
}


def average(b: Any, t: Any, x: Any) -> Any:
    """An exponential average without the bias of its beginning, as Adam keeps it."""
    m = ot.recurrent("m", over=(b, t))
    m[b, 0] = KEEP * x[b, 0]
    m[b, t] = DECAY * m[b, t - 1] + KEEP * x
    return m / (1.0 - DECAY ** (ot.index(t) + 1).cast("float32"))


@pytest.mark.parametrize("name", AVERAGES)
def test_an_average_without_bias_passes_over_nothing_twice(name: str) -> None:
    program = decaying(AVERAGES[name])
    found = extracted(program)
    assert "linear(0.9, " in found and "sum(" not in found
    x = np.random.default_rng(0).normal(size=(3, 7)).astype("float32")
    expected = decaying(average).interpret(x=x)["y"]
    np.testing.assert_allclose(program.interpret(x=x)["y"], expected, rtol=1e-5)


def attention(make: Callable[[Any, Any, Any, Any], Any]) -> ot.Program:
    """Queries, keys of four and values of three numbers."""
    b, t = ot.dims("b t")
    q, k = (ot.input(name, (4,), over=(b, t)) for name in "qk")
    v = ot.input("v", (3,), over=(b, t))
    keys, values = k[b, : t + 1], v[b, : t + 1]
    return ot.Program(y=make(_behind(t), q, keys, values))


def state() -> ot.Program:
    """Linear attention with a state that decays."""
    b, t = ot.dims("b t")
    q, k = (ot.input(name, (4,), over=(b, t)) for name in "qk")
    v = ot.input("v", (3,), over=(b, t))
    s, new = ot.recurrent("s", (4, 3), over=(b, t)), k[..., None] * v[..., None, :]
    s[b, 0] = new[b, 0]
    s[b, t] = new + DECAY * s[b, t - 1]
    return ot.Program(y=(q[..., None, :] @ s)[..., 0, :])


ATTENTION: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "keys": lambda w, q, k, v: (q[..., None, :] @ ((w[..., None] * k).T @ v))[..., 0, :],
    "values": lambda w, q, k, v: (q[..., None, :] @ (k.T @ (v * w[..., None])))[..., 0, :],
    "scores": lambda w, q, k, v: (((q[..., None, :] @ k.T) * w[..., None, :]) @ v)[..., 0, :],
    "one query": lambda w, q, k, v: (((k @ q) * w)[..., None, :] @ v)[..., 0, :],
    "weights of scores": lambda w, q, k, v: ((w * (k @ q))[..., None, :] @ v)[..., 0, :],
}


@pytest.mark.parametrize("name", ATTENTION)
def test_linear_attention_with_decay_keeps_one_matrix(name: str) -> None:
    program = attention(ATTENTION[name])
    found = extracted(program)
    assert "linear(" in found and "t+1" not in found, found
    rng = np.random.default_rng(0)
    sizes = {"q": 4, "k": 4, "v": 3}
    given = {n: rng.normal(size=(2, 6, size)).astype("float32") for n, size in sizes.items()}
    expected = state().interpret(**given)["y"]
    np.testing.assert_allclose(program.interpret(**given)["y"], expected, rtol=1e-4, atol=1e-5)


def test_what_is_compiled_is_the_average_and_the_attention() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, 7)).astype("float32")
    expected = decaying(average).interpret(x=x)["y"]
    compiled = decaying(AVERAGES["normalised"]).compile()(x=x)["y"]
    np.testing.assert_allclose(compiled, expected, rtol=1e-4, atol=1e-5)
    given = {
        n: rng.normal(size=(2, 6, k)).astype("float32")
        for n, k in zip("qkv", (4, 4, 3), strict=True)
    }
    expected = state().interpret(**given)["y"]
    compiled = attention(ATTENTION["scores"]).compile()(**given)["y"]
    np.testing.assert_allclose(compiled, expected, rtol=1e-4, atol=1e-5)


def test_weights_that_do_not_decay_with_the_distance_are_summed_as_they_are() -> None:
    squares = decaying(lambda b, t, x: (DECAY ** (_age(t) * _age(t)) * x[b, : t + 1]).sum(0))
    later = decaying(lambda b, t, x: (_behind(t) * x[b, t.size - 1 - t :]).sum(0))
    assert all("linear(" not in extracted(program) for program in (squares, later))

"""Where episodes end: the place of the choice, and products of what lives on, change no kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato.language.tensor import Tensor
from ostinato.pdg.text.printer import show
from ostinato.rewrite.optimize import RewriteOptions, optimize
from tests.rewrite.test_spellings import extracted

GAMMA, DECAY = 0.99, 0.9
Last = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
Step = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
Term = Callable[[Tensor, Tensor, Tensor], Tensor]


def advantage(spelling: tuple[Last, Step]) -> ot.Program:
    """The surprise at the last step, and a step before that with what follows it."""
    last, step = spelling
    b, t = ot.dims("b t")
    reward, value = ot.input("reward", over=(b, t)), ot.input("value", over=(b, t))
    done = ot.input("done", dtype="bool", over=(b, t))
    following = value[b, ot.minimum(t + 1, t.size - 1)]
    y = ot.recurrent("y", over=(b, t))
    y[b, -1] = last(reward, value, following, done)[b, -1]
    y[b, t] = step(reward, value, following, done, y[b, t + 1])
    return ot.Program(y=y)


def _live(done: Tensor) -> Tensor:
    return 1.0 - done.cast("float32")


INSIDE = "one choice for each"
ADVANTAGES: dict[str, tuple[Last, Step]] = {
    INSIDE: (
        lambda r, v, n, d: r + GAMMA * ot.where(d, 0.0, n) - v,
        lambda r, v, n, d, y: r + GAMMA * ot.where(d, 0.0, n) - v + DECAY * ot.where(d, 0.0, y),
    ),
    "products in the choice": (
        lambda r, v, n, d: r + ot.where(d, 0.0, GAMMA * n) - v,
        lambda r, v, n, d, y: r + ot.where(d, 0.0, GAMMA * n) - v + ot.where(d, 0.0, DECAY * y),
    ),
    "masks": (
        lambda r, v, n, d: r + GAMMA * n * _live(d) - v,
        lambda r, v, n, d, y: r + GAMMA * n * _live(d) - v + DECAY * _live(d) * y,
    ),
    "one choice outside": (
        lambda r, v, n, d: ot.where(d, r - v, r + GAMMA * n - v),
        lambda r, v, n, d, y: ot.where(d, r - v, r + GAMMA * n - v + DECAY * y),
    ),
    "one choice the other way round": (
        lambda r, v, n, d: ot.where(~d, r + GAMMA * n - v, r - v),
        lambda r, v, n, d, y: ot.where(~d, r + GAMMA * n - v + DECAY * y, r - v),
    ),
}


@pytest.mark.parametrize("name", ADVANTAGES)
def test_an_advantage_is_one_loop_wherever_its_choices_stand(name: str) -> None:
    program = advantage(ADVANTAGES[name])
    found = extracted(program)
    hides = "where(" in found and name != "masks"  # the step before, with its NaN
    assert ("linear(where(" in found) != hides, found
    assert found.count("#0[t] = ") == 1, found
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {n: rng.normal(size=(3, 6)) for n in ("reward", "value")}
    given["done"] = rng.random((3, 6)) < 0.4
    expected = advantage(ADVANTAGES[INSIDE]).interpret(**given)["y"]
    np.testing.assert_allclose(program.interpret(**given)["y"], expected, rtol=1e-5, atol=1e-6)


def _rows(t: Any) -> Tensor:
    return ot.arange(t.size)[:, None]


def _columns(t: Any) -> Tensor:
    return ot.arange(t.size)[None, :]


def _along_rows(b: Any, t: Any, g: Tensor, condition: Tensor) -> Tensor:
    """Products of what is on the way from the row to the column."""
    before = ot.concatenate([ot.ones(1), g[b, : t.size - 1]], 0)
    return ot.cumprod(ot.where(condition, before[..., None, :], 1.0), 1)


def _powers(t: Any) -> Tensor:
    return DECAY ** (_columns(t) - _rows(t)).cast("float32")


Matrix = Callable[[Any, Any, Tensor], Tensor]
BACKWARDS: dict[str, Matrix] = {
    "triu": lambda b, t, g: ot.triu(_along_rows(b, t, DECAY * g, _columns(t) > _rows(t))),
    "distance": lambda b, t, g: ot.where(
        _columns(t) - _rows(t) >= 0,
        _along_rows(b, t, DECAY * g, _columns(t) - _rows(t) > 0),
        0.0,
    ),
    "masks": lambda b, t, g: (
        _along_rows(b, t, g * DECAY, _rows(t) < _columns(t))
        * (_rows(t) <= _columns(t)).cast("float32")
    ),
    "powers inside": lambda b, t, g: ot.triu(
        _powers(t) * _along_rows(b, t, g, _columns(t) > _rows(t))
    ),
    "powers outside": lambda b, t, g: (
        ot.triu(_powers(t)) * _along_rows(b, t, g, _columns(t) > _rows(t))
    ),
}
FORWARDS: dict[str, Matrix] = {
    "down the columns": lambda b, t, g: ot.tril(
        ot.cumprod(ot.where(_rows(t) > _columns(t), (DECAY * g)[b, :][..., :, None], 1.0), 0)
    ),
    "powers": lambda b, t, g: ot.tril(
        ot.cumprod(ot.where(_rows(t) > _columns(t), g[b, :][..., :, None], 1.0), 0)
        * DECAY ** (_rows(t) - _columns(t)).cast("float32")
    ),
}


def multiplied(make: Matrix) -> ot.Program:
    """A matrix of what lives on, with its powers, times what happens."""
    b, t = ot.dims("b t")
    x, live = ot.input("x", over=(b, t)), ot.input("live", over=(b, t))
    return ot.Program(y=make(b, t, live) @ x[b, :])


def stepwise(behind: bool) -> ot.Program:
    b, t = ot.dims("b t")
    x, live = ot.input("x", over=(b, t)), ot.input("live", over=(b, t))
    y = ot.recurrent("y", over=(b, t))
    if behind:
        y[b, 0] = x[b, 0]
        y[b, t] = x + DECAY * live * y[b, t - 1]
    else:
        y[b, -1] = x[b, -1]
        y[b, t] = x + DECAY * live * y[b, t + 1]
    return ot.Program(y=y)


@pytest.mark.parametrize("name", [*BACKWARDS, *FORWARDS])
def test_a_matrix_of_products_of_what_lives_on_is_one_factor_of_a_step(name: str) -> None:
    program = multiplied((BACKWARDS | FORWARDS)[name])
    found = show(optimize(program.pdg, RewriteOptions(hints={"T": 1024})).pdg)
    assert "linear(" in found and "@" not in found and "prod(" not in found, found
    rng = np.random.default_rng(0)
    given = {"x": rng.normal(size=(3, 6)), "live": (rng.random((3, 6)) < 0.6).astype("float32")}
    expected = stepwise(name in FORWARDS).interpret(**given)["y"]
    np.testing.assert_allclose(program.interpret(**given)["y"], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(program.compile()(**given)["y"], expected, rtol=1e-4, atol=1e-5)


def weighted(make: Term) -> ot.Program:
    """Sums of what follows: with powers, what lives on, and the values."""
    b, t = ot.dims("b t")
    live = ot.input("live", over=(b, t))
    values = ot.input("x", over=(b, t))[b, t:]
    powers = DECAY ** ot.arange(values.shape[0]).cast("float32")
    lasting = ot.concatenate([ot.ones(1), ot.cumprod(live[b, t : t.size - 1], 0)], 0)
    return ot.Program(y=make(powers, lasting, values).sum(0))


WEIGHTED: dict[str, Term] = {
    "weights first": lambda p, c, x: p * c * x,
    "weights last": lambda p, c, x: x * (c * p),
    "live values": lambda p, c, x: p * (x * c),
    "discounted values": lambda p, c, x: p * x * c,
    "discounted live values": lambda p, c, x: c * x * p,
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_powers_and_products_of_what_lives_on_are_one_factor_of_a_step(name: str) -> None:
    program = weighted(WEIGHTED[name])
    found = extracted(program)
    assert "linear(" in found and "sum(" not in found and "prod(" not in found
    rng = np.random.default_rng(0)
    given = {"x": rng.normal(size=(3, 6)), "live": (rng.random((3, 6)) < 0.6).astype("float32")}
    expected = weighted(WEIGHTED["weights first"]).interpret(**given)["y"]
    np.testing.assert_allclose(program.interpret(**given)["y"], expected, rtol=1e-5)
    turned = found.replace("live[:B, t] * 0.9", "0.9 * live[:B, t]")  # in the order of the sum
    assert turned == extracted(weighted(WEIGHTED["weights first"]))

"""One quantity, spelled in several ways, is extracted as one program and becomes one kernel."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.text.printer import show
from ostinato.rewrite.optimize import RewriteOptions, optimize

DECAY = 0.99 * 0.95
Spelling = Callable[[], ot.Program]


def _start() -> tuple[Any, Any, Any]:
    b, t = ot.dims("b t")
    return b, t, ot.input("delta", over=(b, t))


def suffix_sum() -> ot.Program:
    b, t, delta = _start()
    later = delta[b, t:]
    return ot.Program(y=(later * DECAY ** ot.arange(later.shape[0])).sum(0))


def weights_first() -> ot.Program:
    b, t, delta = _start()
    later = delta[b, t:]
    return ot.Program(y=(DECAY ** ot.arange(later.shape[0]) * later).sum(0))


def backward_recurrence() -> ot.Program:
    b, t, delta = _start()
    y = ot.recurrent("y", over=(b, t))
    y[b, t.size - 1] = delta[b, t.size - 1]
    y[b, t] = delta + DECAY * y[b, t + 1]
    return ot.Program(y=y)


def recurrence_the_other_way_round() -> ot.Program:
    b, t, delta = _start()
    advantage = ot.recurrent("advantage", over=(b, t))
    advantage[b, -1] = delta[b, -1]
    advantage[b, t] = advantage[b, t + 1] * DECAY + delta
    return ot.Program(y=advantage)


def recurrence_by_condition() -> ot.Program:
    b, t, delta = _start()
    y = ot.recurrent("y", over=(b, t))
    y[t < t.size - 1] = delta + DECAY * y[b, t + 1]
    y[True] = delta
    return ot.Program(y=y)


def recurrence_of_named_parts() -> ot.Program:
    b, t, delta = _start()
    y = ot.recurrent("y", over=(b, t))
    future = DECAY * y[b, t + 1]
    total = delta - -future
    y[b, -1] = delta[b, -1]
    y[b, t] = total
    return ot.Program(y=y)


def _triangle(t: Any) -> Any:
    ahead = ot.arange(t.size) - ot.index(t)
    return ot.where(ahead >= 0, DECAY ** ahead.cast("float32"), 0.0)


def row_of_a_triangle() -> ot.Program:
    b, t, delta = _start()
    return ot.Program(y=(_triangle(t) * delta[b, :]).sum(0))


def row_where_later() -> ot.Program:
    b, t, delta = _start()
    steps, here = ot.arange(t.size), ot.index(t)
    weights = ot.where(steps >= here, DECAY ** (steps - here).cast("float32"), 0.0)
    return ot.Program(y=(delta[b, :] * weights).sum(0))


def matrix_product() -> ot.Program:
    b, t, delta = _start()
    row, column = _triangle(t).reshape(1, t.size), delta[b, :].reshape(t.size, 1)
    return ot.Program(y=(row @ column).reshape())


def weights_by_index() -> ot.Program:
    b, t, delta = _start()
    ahead = (ot.index(t)[t:] - ot.index(t)).cast("float32")
    return ot.Program(y=(delta[b, t:] * DECAY**ahead).sum(0))


def weights_by_count() -> ot.Program:
    b, t, delta = _start()
    ahead = (ot.arange(t.size)[t:] - ot.index(t)).cast("float32")
    return ot.Program(y=(delta[b, t:] * DECAY**ahead).sum(0))


SPELLINGS: tuple[Spelling, ...] = (
    suffix_sum, weights_first, backward_recurrence, recurrence_the_other_way_round,
    recurrence_by_condition, recurrence_of_named_parts, row_of_a_triangle, row_where_later,
    matrix_product, weights_by_index, weights_by_count,
)  # fmt: skip


def _ahead(t: Any) -> Any:
    """How many steps the column is ahead of the row."""
    return ot.arange(t.size)[None, :] - ot.arange(t.size)[:, None]


def _matrix(make: Callable[[Any], Any]) -> Spelling:
    """Each episode's steps times a matrix."""

    def spelled() -> ot.Program:
        b, t, delta = _start()
        return ot.Program(y=make(_ahead(t)) @ delta[b, :])

    return spelled


def _powers(ahead: Any) -> Any:
    return DECAY ** ahead.cast("float32")


MATRICES: dict[str, Callable[[Any], Any]] = {
    "where": lambda ahead: ot.where(ahead >= 0, _powers(ahead), 0.0),
    "where not": lambda ahead: ot.where(-ahead <= 0, _powers(ahead), 0.0),
    "triu": lambda ahead: ot.triu(_powers(ahead)),
    "tril": lambda ahead: ot.tril(_powers(-ahead)).T,
    "mask": lambda ahead: _powers(ahead) * (ahead >= 0).cast("float32"),
    "mask first": lambda ahead: (ahead >= 0).cast("float32") * _powers(ahead),
    "exponents": lambda ahead: ot.triu(ot.exp(math.log(DECAY) * ahead.cast("float32"))),
}


def named(value: object) -> str:
    return getattr(value, "__name__", str(value)).replace("_", "-")


def extracted(program: ot.Program) -> str:
    """The rewritten program as text, with names of values numbered and without places."""
    lines = [line.rpartition("  ")[0] for line in show(optimize(program.pdg).pdg).splitlines()]
    text = "\n".join(" ".join(line.split()) for line in lines)
    names = dict.fromkeys(re.findall(r"^[\w.]+", text, flags=re.MULTILINE))
    for k, name in enumerate(names):
        text = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", f"#{k}", text)
    return text


@pytest.mark.parametrize("spelling", SPELLINGS, ids=named)
def test_a_discounted_sum_is_one_linear_recurrence_however_it_is_spelled(
    spelling: Spelling,
) -> None:
    found = extracted(spelling())
    assert "linear(" in found
    assert found == extracted(suffix_sum())


@pytest.mark.parametrize("spelling", SPELLINGS, ids=named)
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_every_spelling_of_a_discounted_sum_means_the_same(spelling: Spelling, steps: int) -> None:
    delta = np.random.default_rng(steps).normal(size=(3, steps))
    expected = suffix_sum().interpret(delta=delta)["y"]
    program = spelling()
    np.testing.assert_allclose(program.interpret(delta=delta)["y"], expected, rtol=1e-5)


@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_of_powers_times_steps_is_one_linear_recurrence(name: str) -> None:
    program = _matrix(MATRICES[name])()
    found = show(optimize(program.pdg, RewriteOptions(hints={"T": 1024})).pdg)
    assert "linear(" in found and "@" not in found
    delta = np.random.default_rng(0).normal(size=(3, 6))
    expected = suffix_sum().interpret(delta=delta)["y"]
    np.testing.assert_allclose(program.interpret(delta=delta)["y"], expected, rtol=1e-5)
    np.testing.assert_allclose(program.compile()(delta=delta)["y"], expected, rtol=1e-4)


GAMMA, LAMBDA = 0.99, 0.95
POWERS: dict[str, Callable[[Any, Any], Any]] = {
    "two powers": lambda k, x: (GAMMA**k * LAMBDA**k * x).sum(0),
    "powers around": lambda k, x: (GAMMA**k * x * LAMBDA**k).sum(0),
    "exponentials": lambda k, x: (ot.exp(k * math.log(DECAY)) * x).sum(0),
}


@pytest.mark.parametrize("name", POWERS)
def test_powers_of_one_count_are_one_factor_of_a_step(name: str) -> None:
    b, t, delta = _start()
    later = delta[b, t:]
    program = ot.Program(y=POWERS[name](ot.arange(later.shape[0]).cast("float32"), later))
    found = extracted(program)
    assert "linear(" in found and "sum(" not in found
    given = np.random.default_rng(0).normal(size=(3, 6))
    expected = suffix_sum().interpret(delta=given)["y"]
    np.testing.assert_allclose(program.compile()(delta=given)["y"], expected, rtol=1e-4, atol=1e-6)


WEIGHTED: dict[str, Callable[[Any, Any], Any]] = {
    "lambda-weighted": lambda w, n_step: (1 - LAMBDA) * (w * n_step).sum(0),
    "weights scaled": lambda w, n_step: (n_step * ((1 - LAMBDA) * w)).sum(0),
    "normalised": lambda w, n_step: (n_step * w).sum(0) / w.sum(0),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_lambda_weighted_sums_of_n_step_advantages_are_two_recurrences(name: str) -> None:
    b, t, delta = _start()
    later = delta[b, t:]
    k = ot.arange(later.shape[0]).cast("float32")
    program = ot.Program(y=WEIGHTED[name](LAMBDA**k, ot.cumsum(GAMMA**k * later, 0)))
    found = extracted(program)
    assert found.count("linear(") == 2 and "sum(" not in found
    given = np.random.default_rng(0).normal(size=(3, 6))
    expected = program.interpret(delta=given)["y"]
    np.testing.assert_allclose(program.compile()(delta=given)["y"], expected, rtol=1e-4, atol=1e-6)


SHAPES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "vectors": lambda m, b, x: m @ x[:, :].T,
    "rows": lambda m, b, x: (x[:, :] @ m.T).T,
    "einsum": lambda m, b, x: ot.einsum("ts,bs->tb", m, x[:, :]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_matrix_of_powers_times_a_batch_is_one_linear_recurrence(name: str) -> None:
    b, t, delta = _start()
    program = ot.Program(y=SHAPES[name](ot.triu(_powers(_ahead(t))), b, delta))
    found = extracted(program)
    assert "linear(" in found and "@" not in found
    given = np.random.default_rng(0).normal(size=(3, 6))
    expected = suffix_sum().interpret(delta=given)["y"].T
    np.testing.assert_allclose(program.compile()(delta=given)["y"], expected, rtol=1e-4)


def _episodes() -> tuple[Any, Any, Any, Any]:
    b, t, delta = _start()
    return b, t, delta, ot.input("done", dtype="bool", over=(b, t))


def _until_done(step: Callable[[Any, Any], Any]) -> ot.Program:
    """``y[t] = delta + step(done, y[t + 1])`` from the last step backwards."""
    b, t, delta, done = _episodes()
    y = ot.recurrent("y", over=(b, t))
    y[b, -1] = delta[b, -1]
    y[b, t] = delta + step(done, y[b, t + 1])
    return ot.Program(y=y)


def _chained(make: Callable[[Any, Any, Any, Any], Any]) -> Spelling:
    """Sums of what follows, with the products of the discounts on the way as weights."""

    def spelled() -> ot.Program:
        b, t, delta = _start()
        return ot.Program(y=make(b, t, delta, ot.input("discount", over=(b, t))))

    return spelled


def _weights(b: Any, t: Any, g: Any) -> Any:
    return ot.concatenate([ot.ones(1), ot.cumprod(g[b, t : t.size - 1], 0)], 0)


def _backwards(b: Any, t: Any, x: Any, g: Any) -> Any:
    y = ot.recurrent("y", over=(b, t))
    y[b, -1] = x[b, -1]
    y[b, t] = x + g * y[b, t + 1]
    return y


CHAINED: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "weights first": lambda b, t, x, g: (_weights(b, t, g) * x[b, t:]).sum(0),
    "weights last": lambda b, t, x, g: (x[b, t:] * _weights(b, t, g)).sum(0),
    "and what follows": lambda b, t, x, g: (
        x + (ot.cumprod(g[b, t : t.size - 1], 0) * x[b, t + 1 :]).sum(0)
    ),
    "what follows and": lambda b, t, x, g: (
        (x[b, t + 1 :] * ot.cumprod(g[b, t : t.size - 1], 0)).sum(0) + x
    ),
}


@pytest.mark.parametrize("name", CHAINED)
def test_a_sum_with_ends_is_the_backward_recurrence_however_it_is_spelled(name: str) -> None:
    program = _chained(CHAINED[name])()
    assert extracted(program) == extracted(_chained(_backwards)())
    rng = np.random.default_rng(0)
    given = {"delta": rng.normal(size=(3, 6)), "discount": DECAY * (rng.random((3, 6)) < 0.6)}
    expected = _chained(_backwards)().interpret(**given)["y"]
    np.testing.assert_allclose(program.interpret(**given)["y"], expected, rtol=1e-5)
    np.testing.assert_allclose(program.compile()(**given)["y"], expected, rtol=1e-4)


HIDDEN: dict[str, Callable[[Any, Any], Any]] = {
    "times where": lambda done, y: DECAY * ot.where(done, 0.0, y),
    "where times": lambda done, y: ot.where(done, 0.0, DECAY * y),
    "where not": lambda done, y: ot.where(~done, y * DECAY, 0.0),
}
STOPPED: dict[str, Callable[[Any, Any], Any]] = {
    "times mask": lambda done, y: DECAY * (1.0 - done.cast("float32")) * y,
    "mask last": lambda done, y: y * DECAY * (1.0 - done.cast("float32")),
    "alive": lambda done, y: (~done).cast("float32") * (DECAY * y),
}


@pytest.mark.parametrize("name", STOPPED)
def test_a_sum_that_stops_where_an_episode_ends_has_one_factor(name: str) -> None:
    found = extracted(_until_done(STOPPED[name]))
    assert "linear(where(" in found
    assert found == extracted(_until_done(STOPPED["times mask"]))


@pytest.mark.parametrize("name", HIDDEN)
def test_a_choice_that_hides_the_step_before_stays_one(name: str) -> None:
    found = extracted(_until_done(HIDDEN[name]))
    assert "linear(" not in found and "where(done[:B, t], 0.0, " in found, found
    delta = np.array([[1.0, 2.0, np.inf, 4.0], [1.0, np.nan, 3.0, 4.0]], "float32")
    given = {"delta": delta, "done": np.array([[0, 1, 0, 0], [1, 0, 0, 0]], bool)}
    program = _until_done(HIDDEN[name])
    expected = program.interpret(**given)["y"]
    assert np.isfinite(expected[:, 0]).all() and np.isinf(expected[0, 2])
    np.testing.assert_allclose(program.compile()(**given)["y"], expected, rtol=1e-5)


@pytest.mark.parametrize("name", STOPPED)
def test_a_mask_that_multiplies_keeps_the_nan_of_what_follows(name: str) -> None:
    delta = np.array([[1.0, 2.0, np.inf, 4.0], [1.0, np.nan, 3.0, 4.0]], "float32")
    given = {"delta": delta, "done": np.array([[0, 1, 0, 0], [1, 0, 0, 0]], bool)}
    program = _until_done(STOPPED[name])
    expected = program.interpret(**given)["y"]
    assert np.isnan(expected[:, 0]).all()
    np.testing.assert_allclose(program.compile()(**given)["y"], expected, rtol=1e-5)


@pytest.mark.parametrize("name", [*HIDDEN, *STOPPED])
@pytest.mark.parametrize("steps", [1, 2, 6])
def test_every_spelling_of_an_end_means_the_same(name: str, steps: int) -> None:
    rng = np.random.default_rng(steps)
    given = {"delta": rng.normal(size=(3, steps)), "done": rng.random((3, steps)) < 0.4}
    expected = _until_done(HIDDEN["where times"]).interpret(**given)["y"]
    found = _until_done((HIDDEN | STOPPED)[name])
    np.testing.assert_allclose(found.interpret(**given)["y"], expected, rtol=1e-5)

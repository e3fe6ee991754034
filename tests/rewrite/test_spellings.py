"""One quantity, spelled in several ways, is extracted as one program and becomes one kernel."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.printer import show
from ostinato.rewrite.optimize import optimize

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


STOPPED: dict[str, Callable[[Any, Any], Any]] = {
    "times where": lambda done, y: DECAY * ot.where(done, 0.0, y),
    "where times": lambda done, y: ot.where(done, 0.0, DECAY * y),
    "where not": lambda done, y: ot.where(~done, y * DECAY, 0.0),
    "times mask": lambda done, y: DECAY * (1.0 - done.cast("float32")) * y,
    "mask last": lambda done, y: y * DECAY * (1.0 - done.cast("float32")),
    "alive": lambda done, y: (~done).cast("float32") * (DECAY * y),
}


@pytest.mark.parametrize("name", STOPPED)
def test_a_sum_that_stops_where_an_episode_ends_has_one_factor(name: str) -> None:
    found = extracted(_until_done(STOPPED[name]))
    assert "linear(where(" in found
    assert found == extracted(_until_done(STOPPED["where times"]))


@pytest.mark.parametrize("name", STOPPED)
@pytest.mark.parametrize("steps", [1, 2, 6])
def test_every_spelling_of_an_end_means_the_same(name: str, steps: int) -> None:
    rng = np.random.default_rng(steps)
    given = {"delta": rng.normal(size=(3, steps)), "done": rng.random((3, steps)) < 0.4}
    expected = _until_done(STOPPED["where times"]).interpret(**given)["y"]
    found = _until_done(STOPPED[name])
    np.testing.assert_allclose(found.interpret(**given)["y"], expected, rtol=1e-5)

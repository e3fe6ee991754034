"""Loops over the steps of ragged episodes end early, and only where nobody can tell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato.language.tensor import Tensor
from ostinato.pdg.functions import Array

SIZES = {"B": 70, "T": 16}


def episodes() -> tuple[Tensor, Tensor]:
    """What a step of an episode gives, and whether the episode goes on; few last long."""
    b, t = ot.dims("b t")
    s = ot.recurrent("s", (8,), over=(b, t))
    s[b, 0] = ot.random.uniform((8,), over=b)
    s[b, t + 1] = ot.tanh(s @ (ot.random.normal((8, 8)) * 0.5)) + 0.1
    draw = ot.random.uniform(over=(b, t))
    goes_on = ot.recurrent("goes_on", dtype="bool", over=(b, t))
    goes_on[b, 0] = draw[b, 0] > 0.1
    goes_on[b, t + 1] = goes_on & (draw[b, t + 1] > 0.4) & (s.sum() < 7.9)
    return s, goes_on


def heads(program: ot.Program) -> list[str]:
    schedule = str(program.compile().explain().schedule)
    return [line for line in schedule.splitlines() if "for t =" in line]


def equal_to_the_interpreter(program: ot.Program) -> None:
    expected = program.interpret(**SIZES, seed=3)
    found = program.compile(threads=3)(**SIZES, seed=3)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, 1e-4, 1e-5, err_msg=name)


def test_steps_after_the_last_row_of_a_tile_are_not_computed() -> None:
    s, goes_on = episodes()
    program = ot.Program(total=ot.where(goes_on, s.sum(), 0.0)[:, :].sum())
    assert any("while any of" in head for head in heads(program))
    equal_to_the_interpreter(program)


def test_what_later_passes_read_under_the_mask_may_be_missing() -> None:
    s, goes_on = episodes()
    mean = ot.where(goes_on, s.sum(), 0.0)[:, :].mean()
    spread = ot.where(goes_on, (s.sum() - mean) ** 2.0, 0.0)[:, :].sum()
    program = ot.Program(spread=spread)
    assert sum("while any of" in head for head in heads(program)) == 2
    equal_to_the_interpreter(program)


SEEN: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "every step": lambda s, goes_on: ot.where(goes_on, s.sum(), 0.0) + s.max(),
    "the sum of all": lambda s, goes_on: (s.sum() + ot.where(goes_on, 1.0, 0.0))[:, :].sum(),
    "the other side": lambda s, goes_on: ot.where(goes_on, 0.0, s.sum())[:, :].sum(),
    "a product": lambda s, goes_on: (s.sum() * ot.where(goes_on, 1.0, 2.0))[:, :].sum(),
    "greatest of 0": lambda s, goes_on: ot.where(goes_on, -s.sum(), 0.0)[:, :].max(),
}


@pytest.mark.parametrize("what", SEEN)
def test_a_loop_whose_later_steps_are_seen_runs_to_its_end(what: str) -> None:
    program = ot.Program(y=SEEN[what](*episodes()))
    assert not any("while any of" in head for head in heads(program))
    equal_to_the_interpreter(program)


def test_the_last_state_is_seen() -> None:
    s, goes_on = episodes()
    total = ot.where(goes_on, s.sum(), 0.0)
    program = ot.Program(total=total[:, :].sum(), last=s[:, :][:, -1])
    equal_to_the_interpreter(program)


def test_a_mask_that_may_turn_true_again_ends_nothing() -> None:
    b, t = ot.dims("b t")
    s = ot.recurrent("s", (8,), over=(b, t))
    s[b, 0] = ot.random.uniform((8,), over=b)
    s[b, t + 1] = ot.tanh(s @ (ot.random.normal((8, 8)) * 0.5)) + 0.1
    awake = ot.recurrent("awake", dtype="bool", over=(b, t))
    awake[b, 0] = ot.random.uniform(over=b) > 0.9
    awake[b, t + 1] = ~awake
    program = ot.Program(total=ot.where(awake, s.sum(), 0.0)[:, :].sum())
    assert not any("while any of" in head for head in heads(program))
    equal_to_the_interpreter(program)


def test_a_mask_that_goes_on_over_several_steps_back_ends_nothing() -> None:
    b, t = ot.dims("b t")
    x = ot.random.uniform((4,), over=(b, t))
    s = ot.recurrent("s", (4,), over=(b, t))
    s[b, 0] = x[b, 0]
    s[b, t + 1] = ot.sin(s) + x[b, t + 1]
    lives = ot.recurrent("lives", dtype="bool", over=(b, t))
    lives[t < 2] = True
    lives[b, t + 2] = lives[b, t] & (s[b, t, 0] > 0.8)
    program = ot.Program(total=ot.where(lives, s.sum(), 0.0)[:, :].sum())
    assert not any("while any of" in head for head in heads(program))
    equal_to_the_interpreter(program)


def stopped(what: str) -> ot.Program:
    """Something over steps of which few are left before the end."""
    b, t = ot.dims("b t")
    s = ot.recurrent("s", (8,), over=(b, t))
    s[b, 0] = ot.random.uniform((8,), over=b)
    s[b, t + 1] = ot.tanh(s @ (ot.random.normal((8, 8)) * 0.5)) + 0.1
    draw = ot.random.uniform(over=(b, t))
    ot.stop(t, when=draw < 0.4)
    mean = s.mean()
    found: dict[str, Tensor] = {
        "an output": mean,
        "an output of rows": s,
        "a sum": mean[b, :].sum(),
        "the last step": mean[b, -1],
        "a count": ot.where(mean > 0.5, 1, 2),
    }
    return ot.Program(y=found[what])


@pytest.mark.parametrize(
    "what", ["an output", "an output of rows", "a sum", "the last step", "a count"]
)
def test_what_is_one_value_after_the_end_is_written_without_its_steps(what: str) -> None:
    program = stopped(what)
    computing = [head for head in heads(program) if "while any of" in head]
    assert len(computing) == len([h for h in heads(program) if "T-1 .. 0" not in h])
    equal_to_the_interpreter(program)


def test_generating_ends_with_the_last_row() -> None:
    b, t = ot.dims("b t")
    token = ot.recurrent("token", dtype="int32", over=(b, t))
    scores = ot.take(ot.random.normal((9, 9)), token, axis=0)
    token[b, 0] = ot.random.integers(0, 9, over=b)
    token[b, t + 1] = (scores + ot.random.normal((9,), over=(b, t))).argmax(0)
    ot.stop(t, when=token == 7)
    program = ot.Program(token=token)
    assert all("while any of" in head for head in heads(program))
    equal_to_the_interpreter(program)


def test_a_mask_that_is_needed_at_some_points_ends_the_loops_there() -> None:
    b, i, t = ot.dims("b i t")
    s = ot.recurrent("s", over=(b, i, t))
    s[b, i, 0] = ot.random.uniform(over=(b, i))
    s[b, i, t + 1] = ot.tanh(2.0 * s) + 0.1
    ot.stop(t, when=ot.random.uniform(over=(b, i, t)) < 0.4)
    mean = s[:, i, :].mean()
    score = ot.recurrent("score", over=i)
    score[0] = 0.0
    score[i + 1] = ot.where(i % 3 == 0, mean, score)
    program = ot.Program(score=score)
    assert "if (i) % 3 == 0:" in str(program.compile().explain().schedule)
    expected = program.interpret(**SIZES, I=7, seed=3)["score"]
    found = program.compile(threads=3)(**SIZES, I=7, seed=3)["score"]
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


@pytest.mark.parametrize("effects", ["pure", "ordered"])
@pytest.mark.parametrize(("over", "wanted"), [("", 5), ("b t", 12), ("all b", 5)])
def test_no_function_runs_after_the_end(over: str, wanted: int, effects: str) -> None:
    calls: list[int] = []

    def step(state: Array) -> Array:
        calls.append(1)
        return state + 1.0

    b, t = ot.dims("b t")
    dims = (b, t) if over else (t,)
    state = ot.recurrent("state", over=dims)
    following = ot.host(step, state, effects=effects, over=(b,) if over == "all b" else ())
    assert isinstance(following, Tensor)
    state[(b, 0) if over else (0,)] = 1.0 * ot.index(b) if over else 0.0
    state[(b, t + 1) if over else (t + 1,)] = following
    ot.stop(t, when=following >= 5.0)
    program = ot.Program(state=state)
    sizes = {"B": 3, "T": 30} if over else {"T": 30}
    expected, before = program.interpret(**sizes), len(calls)
    found = program.compile(threads=2)(**sizes)
    np.testing.assert_array_equal(found["state"], expected["state"])
    assert (before, len(calls) - before) == (wanted, wanted)


def test_a_loop_of_calls_ends_with_them() -> None:
    t = ot.dims("t")

    def step(state: Array) -> Array:
        return state + 1.0

    state = ot.recurrent("state", over=t)
    following = ot.host(step, state, effects="ordered")
    assert isinstance(following, Tensor)
    state[0] = 0.0
    state[t + 1] = following
    ot.stop(t, when=following >= 5.0)
    assert any("while any of" in head for head in heads(ot.Program(state=state)))


def ranks(size: int = 12) -> ot.Program:
    """Shares that pages of a ring with few shortcuts pass on, until they hardly change."""
    t = ot.dims("t")
    pages = ot.concatenate([ot.arange(size), ot.arange(4)], 0)
    links = ot.concatenate([(ot.arange(size) + 1) % size, 3 * ot.arange(4)], 0)
    r = ot.recurrent("r", (size,), over=(t,))
    r[0] = ot.full((size,), 1 / size)
    out = ot.scatter_add(1.0, pages, size)
    later = 0.3 / size + 0.7 * ot.scatter_add(ot.take(r / out, pages, 0), links, size)
    r[t + 1] = later
    ot.stop(t, when=abs(later - r).sum() < 1e-3)
    return ot.Program(last=r.at(t=ot.length(t) - 1), steps=ot.length(t))


def test_iterations_end_where_they_have_converged() -> None:
    program = ranks()
    (head,) = heads(program)
    assert "while any of alive" in head
    expected = program.interpret(T=60)
    found = program.compile()(T=60)
    assert found["steps"] == expected["steps"] < 30
    np.testing.assert_allclose(found["last"], expected["last"], 1e-5)

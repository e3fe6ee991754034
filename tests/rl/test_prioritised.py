"""Prioritised replay beside NumPy: which steps are drawn, what they weigh, what becomes of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import rl
from ostinato.pdg.errors import ArgumentError

GAMES, STEPS, ITERATIONS, SIZE, WINDOW, AHEAD, POWER = 2, 4, 9, 6, 3, 2, 0.7
Numbers = npt.NDArray[np.float64]
b, i, t = ot.dims("b i t")
m = ot.dim("m", size=3)


@pytest.fixture(scope="module")
def replayed() -> ot.Program:
    error = ot.input("error", over=(b, i, t))
    replay = rl.PrioritisedReplay(
        (b, i, t), SIZE, window=WINDOW, updates=ot.carried(i, m), ahead=AHEAD, power=POWER
    )
    seen = replay(error)
    replay.learn(seen)
    return ot.Program(**replay.tensors, seen=seen, weight=replay.weights(0.5))


def errors() -> npt.NDArray[np.float32]:
    drawn = np.random.default_rng(0).exponential(1.0, (GAMES, ITERATIONS, STEPS))
    return (drawn**3).astype(np.float32)


def test_steps_are_drawn_by_their_last_errors_and_weigh_as_much_less(replayed: ot.Program) -> None:
    told = errors()
    found = replayed.compile()(error=told)
    priority: dict[tuple[int, int], float] = {}  # of a step of a game
    highest = 1.0
    for at in range(ITERATIONS):
        end = (at + 1) * STEPS - AHEAD + 1  # of the steps that enough others follow
        new = [(g, n) for g in range(GAMES) for n in range(max(0, end - STEPS), end)]
        priority |= dict.fromkeys(new, highest)
        priority = {s: p for s, p in priority.items() if s[1] >= (at + 1 - WINDOW) * STEPS}
        for update in range(3):
            rows = {name: found[name][at, update] for name in found}
            drawn = list(zip(rows["rows_game"].tolist(), rows["rows_number"].tolist(), strict=True))
            known = {s: p**POWER for s, p in priority.items()}
            steps, mass = list(known), np.array(list(known.values()))
            share = mass[[steps.index(s) for s in drawn]] / mass.sum()
            weight = (len(steps) * share) ** -0.5
            np.testing.assert_allclose(rows["weight"], weight / weight.max(), rtol=1e-4)
            size = told[tuple(np.array([(g, *divmod(n, STEPS)) for g, n in drawn]).T)]
            np.testing.assert_array_equal(rows["seen"], size)
            priority |= {s: float(e) + 1e-6 for s, e in zip(drawn, size, strict=True)}
            highest = max(highest, float(size.max()) + 1e-6)


def test_each_part_of_all_priorities_gives_one_step(replayed: ot.Program) -> None:
    """Of a step with most of all priority most parts are."""
    told = np.full((GAMES, ITERATIONS, STEPS), 1e-4, np.float32)
    told[1, 2, 1] = 1e4
    found = replayed.compile()(error=told)
    # once it was drawn, in iteration 2, it is all that is drawn while it is remembered
    first = np.flatnonzero((found["seen"] > 1.0).any(-1).ravel())[0]
    assert first // 3 in (2, 3)
    later = found["seen"].reshape(-1, SIZE)[first + 1 : 3 * 3]
    assert (later > 1.0).sum(-1).min() >= SIZE - 1


def test_compiled_draws_are_those_of_the_interpreter(replayed: ot.Program) -> None:
    expected, found = replayed.interpret(error=errors()), replayed.compile()(error=errors())
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5)


def test_updates_in_no_iteration_are_refused() -> None:
    with pytest.raises(
        ArgumentError, match=r"updates along i\n  Carry them over i and the updates"
    ):
        rl.PrioritisedReplay((b, i, t), SIZE, window=2, updates=ot.carried(i))

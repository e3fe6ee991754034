"""Every environment that Gymnasium has too is Gymnasium's, state by state on random actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import rl

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """An environment, Gymnasium's name of it, and how a state of Gymnasium's is one of ours."""

    made: Callable[[], rl.Env[rl.Actions]]
    name: str
    state: Callable[[Any], dict[str, Array]]


def car(env: Any) -> dict[str, Array]:
    return {"position": np.array(env.state[0]), "speed": np.array(env.state[1])}


def pendulum(env: Any) -> dict[str, Array]:
    return {"angle": np.array(env.state[0]), "speed": np.array(env.state[1])}


REAL = {
    "pendulum": Case(lambda: rl.Pendulum("float64"), "Pendulum-v1", pendulum),
    "mountain car": Case(lambda: rl.MountainCar("float64"), "MountainCar-v0", car),
    "continuous": Case(
        lambda: rl.MountainCarContinuous("float64"), "MountainCarContinuous-v0", car
    ),
    "acrobot": Case(
        lambda: rl.Acrobot("float64"), "Acrobot-v1", lambda env: {"motion": np.array(env.state)}
    ),
}


@dataclass(frozen=True)
class Game:
    """What happened: states before each step and after the last one, observations, results."""

    states: list[dict[str, Array]]
    observations: Array
    actions: Array
    reward: Array
    terminated: Array
    truncated: Array


def played(case: Case, seed: int, eager: bool) -> Game:
    """An episode of random actions, or of such as gain speed, which end it."""
    env: Any = gymnasium.make(case.name)
    # Gymnasium keeps some states in float32 between steps; ours are float64 throughout.
    rng = np.random.default_rng(seed)
    env.action_space.seed(seed)
    env.reset(seed=seed)
    states, seen, actions = [case.state(env.unwrapped)], list[Array](), list[Array]()
    results: list[tuple[float, bool, bool]] = []
    while not any(results[-1][1:] if results else ()):
        chosen = env.action_space.sample()
        if eager and rng.random() < 0.9:
            chosen = _along(env, states[-1])
        actions.append(np.asarray(chosen))
        observation, reward, terminated, truncated, _ = env.step(chosen)
        states.append(case.state(env.unwrapped))
        seen.append(observation)
        results.append((float(reward), terminated, truncated))
    columns = [np.array([result[k] for result in results]) for k in range(3)]
    return Game(states, np.array(seen), np.array(actions), *columns)


def _along(env: Any, state: dict[str, Array]) -> Any:
    """An action in the direction of the motion."""
    speed = state["speed"] if "speed" in state else -state["motion"][2]
    if isinstance(env.action_space, gymnasium.spaces.Box):
        return np.sign(speed).reshape(1).astype(np.float32) * 1.3
    return 2 if speed > 0 else 0


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("name", REAL)
def test_every_step_is_gymnasiums(name: str, eager: bool) -> None:
    """Each step begins in Gymnasium's state, so that rounding does not add up."""
    case = REAL[name]
    game, env = played(case, 3, eager), case.made()
    t = ot.dims("t")
    count = np.arange(len(game.actions), dtype=np.int32)
    before = {
        field: np.array([state[field] for state in game.states[:-1]]) for field in game.states[0]
    }
    kinds = env.state.fields
    state = ot.Record(
        **{field: ot.input(field, kind.shape, kind.dtype, over=t) for field, kind in kinds.items()}
    )
    continuous = isinstance(env.actions, rl.Box)
    shape, dtype = ((1,), "float64") if continuous else ((), "int32")
    action = ot.input("action", shape, dtype, over=t)
    following, reward, terminated, truncated = env.step(state, action)
    fields = {field: value for field, value in following.fields.items() if field != "steps"}
    program = ot.Program(
        reward=reward,
        terminated=terminated,
        truncated=truncated,
        seen=env.observe(following),
        **fields,
    )
    out = program.interpret(
        action=game.actions.astype(np.float64 if continuous else np.int32), steps=count, **before
    )
    for field in fields:
        expected = np.array([state[field] for state in game.states[1:]])
        np.testing.assert_allclose(out[field], expected, rtol=2e-6, atol=1e-6, err_msg=field)
    np.testing.assert_allclose(out["seen"], game.observations, rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(out["reward"], game.reward, rtol=1e-5, atol=1e-6)
    assert np.array_equal(out["terminated"], game.terminated)
    assert np.array_equal(out["truncated"], game.truncated)
    assert env.observation_shape == game.observations.shape[1:]


def test_eager_actions_reach_the_ends() -> None:
    ended = {name: played(case, 3, True).terminated[-1] for name, case in REAL.items()}
    assert ended == {"pendulum": False, "mountain car": True, "continuous": True, "acrobot": True}


TABLES: dict[str, tuple[Callable[[], rl.Tabular], Callable[[], Any]]] = {
    "lake": (
        lambda: rl.FrozenLake(slippery=False),
        lambda: gymnasium.make("FrozenLake-v1", is_slippery=False),
    ),
    "slippery lake": (rl.FrozenLake, lambda: gymnasium.make("FrozenLake-v1")),
    "large lake": (
        lambda: rl.FrozenLake(8),
        lambda: gymnasium.make("FrozenLake8x8-v1"),
    ),
    "cliff": (rl.CliffWalking, lambda: gymnasium.make("CliffWalking-v1")),
    "taxi": (rl.Taxi, lambda: gymnasium.make("Taxi-v4")),
}


def likely(rows: list[tuple[float, int, float, bool]]) -> dict[tuple[int, float, bool], float]:
    """The probability of each outcome, equal ones together."""
    found: dict[tuple[int, float, bool], float] = {}
    for probability, place, reward, ends in rows:
        key = (int(place), float(reward), bool(ends))
        found[key] = found.get(key, 0.0) + probability
    return found


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_gymnasiums(name: str) -> None:
    ours, theirs = TABLES[name]
    env, other = ours(), theirs()
    known = env.transitions
    for place, action in np.ndindex(known.following.shape[:2]):
        rows = zip(
            known.probability[place, action].tolist(),
            known.following[place, action].tolist(),
            known.reward[place, action].tolist(),
            known.terminates[place, action].tolist(),
            strict=True,
        )
        expected = likely(other.unwrapped.P[place][action])
        assert likely(list(rows)) == pytest.approx(expected), (place, action)


@pytest.mark.parametrize("name", TABLES)
def test_episodes_begin_where_gymnasiums_begin(name: str) -> None:
    ours, theirs = TABLES[name]
    b = ot.dims("b")
    drawn = ot.Program(place=ours().reset(over=b).place).interpret(B=6000)["place"]
    expected = np.asarray(theirs().unwrapped.initial_state_distrib)
    found = np.bincount(drawn, minlength=len(expected)) / len(drawn)
    assert set(np.flatnonzero(found)) == set(np.flatnonzero(expected))
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_steps_of_a_slippery_lake_are_drawn_and_those_of_a_taxi_are_read() -> None:
    b = ot.dims("b")
    place, action = ot.input("place", dtype="int32"), ot.input("action", dtype="int32", over=b)
    before = ot.Record(place=place, steps=ot.constant(0))
    lake, taxi = rl.FrozenLake(), rl.Taxi()
    slid = lake.step(before, action)[0].place
    run = ot.Program(slid=slid).compile()
    found = run(place=6, action=np.ones(9000, np.int32))["slid"]
    reached, counts = np.unique(found, return_counts=True)
    assert reached.tolist() == [5, 7, 10]
    np.testing.assert_allclose(counts / 9000, 1 / 3, atol=0.02)
    following, reward, terminated, _ = taxi.step(before, action)
    run = ot.Program(place=following.place, reward=reward, ends=terminated).compile()
    for at in (0, 16, 97, 123, 418, 475):
        out = run(place=at, action=np.arange(6, dtype=np.int32))
        known = taxi.transitions
        assert np.array_equal(out["place"], known.following[at, :, 0])
        assert np.array_equal(out["reward"], known.reward[at, :, 0])
        assert np.array_equal(out["ends"], known.terminates[at, :, 0])

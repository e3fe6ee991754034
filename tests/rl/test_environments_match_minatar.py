"""Every game that MinAtar has too is MinAtar's, state by state on random actions."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import rl

Array = npt.NDArray[Any]
State = Mapping[str, Any]


def breakout(game: Any) -> State:
    return {
        "paddle": game.pos,
        "row": game.ball_y,
        "column": game.ball_x,
        "last_row": game.last_y,
        "last_column": game.last_x,
        "right": game.ball_dir in (1, 2),
        "down": game.ball_dir in (2, 3),
        "bricks": game.brick_map[1:4] > 0,
        "strike": game.strike,
    }


def space_invaders(game: Any) -> State:
    return {
        "cannon": game.pos,
        "aliens": game.alien_map > 0,
        "bullets": game.f_bullet_map > 0,
        "bombs": game.e_bullet_map > 0,
        "right": game.alien_dir > 0,
        "pace": game.enemy_move_interval,
        "loaded": game.shot_timer,
        "move": game.alien_move_timer,
        "shot": game.alien_shot_timer,
    }


def freeway(game: Any) -> State:
    cars = np.array(game.cars)
    return {
        "chicken": game.pos,
        "columns": cars[:, 0],
        "pace": cars[:, 3],
        "timers": cars[:, 2],
        "rest": game.move_timer,
        "left": game.terminate_timer,
    }


def asterix(game: Any) -> State:
    lanes = [each or [0, 0, False, False] for each in game.entities]
    return {
        "row": game.player_y,
        "column": game.player_x,
        "there": [each is not None for each in game.entities],
        "columns": [each[0] for each in lanes],
        "right": [each[2] for each in lanes],
        "gold": [each[3] for each in lanes],
        "spawn": game.spawn_speed,
        "pace": game.move_speed,
        "next": game.spawn_timer,
        "move": game.move_timer,
        "ramp": game.ramp_timer,
        "level": game.ramp_index,
    }


@dataclass(frozen=True)
class Case:
    """An environment, MinAtar's module, its state as ours, and the steps that draw nothing."""

    env: rl.Env[rl.Discrete]
    module: str
    state: Callable[[Any], State]
    draws_nothing: Callable[[Mapping[str, Array]], Array]


def always(before: Mapping[str, Array]) -> Array:
    return np.ones(len(next(iter(before.values()))), np.bool_)


CASES = {
    "breakout": Case(rl.Breakout(), "breakout", breakout, always),
    "invaders": Case(rl.SpaceInvaders(), "space_invaders", space_invaders, always),
    "slow invaders": Case(
        rl.SpaceInvaders(ramping=False), "space_invaders", space_invaders, always
    ),
    "freeway": Case(rl.Freeway(), "freeway", freeway, lambda s: s["chicken"] > 1),
    "asterix": Case(rl.Asterix(), "asterix", asterix, lambda s: s["next"] > 0),
    "slow asterix": Case(rl.Asterix(ramping=False), "asterix", asterix, lambda s: s["next"] > 0),
}


@dataclass(frozen=True)
class Games:
    """What happened in games one after the other: a row for each step."""

    before: dict[str, Array]
    after: dict[str, Array]
    actions: Array
    seen: Array
    reward: Array
    ended: Array


def played(name: str, steps: int = 6000) -> Games:
    """Random games; every second action is the last one again, so that things are reached."""
    case = CASES[name]
    module = importlib.import_module(f"minatar.environments.{case.module}")
    game = module.Env(ramping=not name.startswith("slow"))
    game.random = np.random.RandomState(5)
    game.reset()
    rng = np.random.default_rng(7)
    moves, action = game.minimal_action_set(), 0
    rows: list[tuple[State, State, int, Array, int, bool]] = []
    for _ in range(steps):
        action = action if rng.random() < 0.5 else int(rng.integers(len(moves)))
        before = case.state(game)
        before = {key: np.copy(value) for key, value in before.items()}
        reward, ended = game.act(moves[action])
        after = {key: np.copy(value) for key, value in case.state(game).items()}
        rows.append((before, after, action, game.state(), reward, ended))
        if ended:
            game.reset()
    befores, afters, *columns = zip(*rows, strict=True)
    kinds = case.env.state.fields

    def stacked(states: Any) -> dict[str, Array]:
        return {n: np.array([s[n] for s in states]).astype(k.dtype) for n, k in kinds.items()}

    actions, seen, rewards, ends = map(np.array, columns)
    return Games(stacked(befores), stacked(afters), actions, seen, rewards, ends)


@pytest.mark.parametrize("name", CASES)
def test_every_step_is_minatars(name: str) -> None:
    case, games = CASES[name], played(name)
    t = ot.dims("t")
    state = ot.Record(
        **{
            field: ot.input(field, kind.shape, kind.dtype, over=t)
            for field, kind in case.env.state.fields.items()
        }
    )
    action = ot.input("action", dtype="int32", over=t)
    following, reward, terminated, truncated = case.env.step(state, action)
    program = ot.Program(
        reward=reward,
        ended=terminated | truncated,
        seen=case.env.observe(following),
        **following.fields,
    )
    given = {name: x for name, x in games.before.items() if name in program.inputs}
    found = program.compile()(action=games.actions.astype(np.int32), **given)
    told = case.draws_nothing(games.before)
    assert told.mean() > 0.5 and games.ended.any() and games.reward.any()
    assert np.array_equal(np.broadcast_to(found["ended"], told.shape)[told], games.ended[told])
    assert np.array_equal(found["reward"][told], games.reward[told])
    for field, values in games.after.items():
        rows = told & ~games.ended
        if "asterix" in name and field in ("columns", "right", "gold"):
            there = games.after["there"][rows]  # nothing is known of lanes that are empty
            assert np.array_equal(found[field][rows][there], values[rows][there]), field
        else:
            assert np.array_equal(found[field][rows], values[rows]), field
    assert np.array_equal(found["seen"][told], games.seen[told])
    assert case.env.observation_shape == games.seen.shape[1:]


def test_what_comes_in_asterix_is_anything_in_any_empty_lane() -> None:
    b = ot.dims("b")
    env = rl.Asterix()
    start = env.reset(over=b).fields
    full = ot.constant([True, False, False, True, True, True, True, True])
    state = ot.Record(**{**start, "next": 0 * start["next"], "there": full})
    following, *_ = env.step(state, ot.constant(0))
    program = ot.Program(**{name: following.fields[name] for name in ("there", "right", "gold")})
    found = program.compile()(B=20_000)
    came = found["there"] & ~np.array([1, 0, 0, 1, 1, 1, 1, 1], np.bool_)
    assert (came.sum(-1) == 1).all()
    assert np.allclose(came.mean(0)[1:3], 0.5, atol=0.02)
    assert abs(found["right"][came].mean() - 0.5) < 0.02
    assert abs(found["gold"][came].mean() - 1 / 3) < 0.02


def test_cars_are_of_any_speed_in_any_direction() -> None:
    b = ot.dims("b")
    found = ot.Program(pace=rl.Freeway().reset(over=b).pace).compile()(B=10_000)["pace"]
    pace, count = np.unique(found, return_counts=True)
    assert pace.tolist() == [-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]
    assert np.allclose(count / found.size, 0.1, atol=0.01)


def test_a_crossed_road_has_other_cars() -> None:
    b = ot.dims("b")
    env = rl.Freeway()
    start = env.reset(over=b).fields
    state = ot.Record(**{**start, "chicken": ot.constant(1), "rest": ot.constant(0)})
    following, reward, *_ = env.step(state, ot.constant(1))
    program = ot.Program(
        before=start["pace"], after=following.pace, chicken=following.chicken, reward=reward
    )
    found = program.compile()(B=100)
    assert (found["before"] != found["after"]).any(-1).mean() > 0.9
    assert (found["chicken"] == 9).all() and (found["reward"] == 1).all()


@pytest.mark.parametrize("probability", [0.0, 0.25, 1.0])
def test_sticky_actions_repeat_the_last_one(probability: float) -> None:
    b = ot.dims("b")
    env = rl.Sticky(rl.Breakout(), probability)
    first, *_ = env.step(env.reset(over=b), ot.constant(2))
    second, *_ = env.step(first, ot.constant(1))
    found = ot.Program(paddle=second.paddle, last=second.last).compile()(B=20_000)
    moves = {(0, 0): 4, (0, 1): 3, (2, 2): 6, (2, 1): 4}  # by what was done, from column 4
    q = probability
    shares = {(0, 0): q * q, (0, 1): q * (1 - q), (2, 2): (1 - q) * q, (2, 1): (1 - q) ** 2}
    for done, share in shares.items():
        rows = (found["paddle"] == moves[done]) & (found["last"] == done[1])
        assert abs(rows.mean() - share) < 0.015, done

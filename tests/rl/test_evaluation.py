"""Episodes of a policy are whole ones, played with the weights that a run left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from PIL import Image, ImageSequence
from rich.console import Console

import ostinato as ot
from ostinato import nn, rl
from ostinato.cli.run import RunOptions
from ostinato.cli.train import TrainOptions, built
from ostinato.pdg.errors import ArgumentError, OptionError
from ostinato.pdg.functions import Array
from ostinato.rl.environments.catalogue import MAKERS

ENV = rl.CartPole()
RNG = np.random.default_rng(2)
WEIGHTS: dict[str, Array] = {
    name: RNG.normal(size=shape).astype(np.float32)
    for name, shape in (
        *(("body.0.weight", (8, 4)), ("body.0.bias", (8,))),
        *(("body.2.weight", (2, 8)), ("body.2.bias", (2,))),
    )
}


def policy() -> rl.Actor:
    return rl.Actor(ENV, [8], over=ot.carried(ot.dims("i")))


def best(observation: Array) -> int:
    hidden = np.tanh(WEIGHTS["body.0.weight"] @ observation + WEIGHTS["body.0.bias"])
    return int(np.argmax(WEIGHTS["body.2.weight"] @ hidden + WEIGHTS["body.2.bias"]))


def test_an_episode_is_gymnasiums_with_the_best_actions() -> None:
    states = rl.recorded(ENV, policy(), WEIGHTS, seed=4)
    made: Any = gymnasium.make("CartPole-v1")
    made.reset(seed=0)
    made.unwrapped.state = states[0]["motion"].astype(np.float64)
    for k, state in enumerate(states[:-1]):
        observation, _, terminated, *_ = made.step(best(state["motion"]))
        np.testing.assert_allclose(observation, states[k + 1]["motion"], rtol=1e-4, atol=1e-5)
        assert terminated == (k == len(states) - 2)


def test_every_episode_is_played_to_its_own_end() -> None:
    played = rl.evaluate(ENV, policy(), WEIGHTS, episodes=50, greedy=False)
    assert played.ended.all() and len(set(played.lengths.tolist())) > 5
    np.testing.assert_array_equal(played.returns, played.lengths)  # a reward of 1 for each step
    assert played.mean_return == pytest.approx(played.lengths.mean())
    assert played.std_return == pytest.approx(played.lengths.std())


def test_an_episode_that_is_left_before_its_end_is_told_apart() -> None:
    played = rl.evaluate(ENV, policy(), WEIGHTS, episodes=50, max_steps=9)
    assert played.ended[played.lengths < 9].all() and not played.ended.all()
    assert played.lengths.max() == 9


class Counting(nn.Module):
    """A policy that pushes to the right at every third step of an episode, by its memory."""

    nothing = ot.Record(count=ot.constant(0))

    def remember(self, observation: ot.Tensor, memory: ot.Record) -> ot.Record:
        return ot.Record(count=memory.count + 1)

    def policy(self, memory: ot.Record) -> ot.Tensor:
        return (memory.count % 3 == 0).cast("int32")


def test_a_policy_may_have_a_memory_that_each_episode_begins_without() -> None:
    states = rl.recorded(ENV, Counting(), {})
    pushed = np.sign(np.diff([state["motion"][1] for state in states]))
    assert pushed[:7].tolist() == [-1, -1, 1, -1, -1, 1, -1]


def test_weights_of_another_policy_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"`body.0.weight` has shape \[8, 4\], not \[16, 4\]"):
        rl.evaluate(ENV, rl.Actor(ENV, [16], ot.carried(ot.dims("i"))), WEIGHTS)


def test_each_of_several_trainings_has_its_policy_in_the_state_of_a_run() -> None:
    options = TrainOptions(algorithm="a2c", environment="CartPole-v1", steps=1, seeds=2)
    made = built(options, RunOptions(place=""), Console(quiet=True))
    arguments = {**made.arguments, str(made.over).upper(): 3}
    with made.program.compile().stream(made.over, every=3, **arguments) as records:
        assert len(list(records)) == 3
    found = made.policy.state_dict(records.state)
    for weight, array in rl.learnt(made, **arguments).items():
        np.testing.assert_allclose(found[weight], array, rtol=1e-3, atol=1e-5, err_msg=weight)


@pytest.mark.parametrize("name", sorted({*MAKERS} - {"MemoryChain"}))
def test_every_environment_draws_itself(name: str) -> None:
    env = rl.make(name)
    start = ot.Program(**env.reset(over=()).fields).interpret()
    first, second = rl.frames(env, [start, start])
    assert first.dtype == np.uint8 and first.shape[2:] == (3,)
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 1
    np.testing.assert_array_equal(first, second)


def test_a_film_shows_every_state_for_as_long(tmp_path: Path) -> None:
    states = rl.recorded(ENV, policy(), WEIGHTS)
    rl.write_gif(tmp_path / "film.gif", rl.frames(ENV, states), per_second=25)
    with Image.open(tmp_path / "film.gif") as film:  # equal pictures are one, for longer
        shown = [frame.info["duration"] for frame in ImageSequence.Iterator(film)]
    assert sum(shown) == 40 * len(states) and len(shown) > 5


def test_what_cannot_be_drawn_or_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="MemoryChain has no picture\n  Give it a method draw"):
        rl.frames(rl.MemoryChain(), [])
    with pytest.raises(OptionError, match="cannot be written: No such file"):
        rl.write_gif(tmp_path / "no" / "film.gif", [np.zeros((2, 2, 3), np.uint8)])


def test_what_is_no_film_and_no_state_is_refused(tmp_path: Path) -> None:
    for shapes in ([(0, 3)], [(1, 70_000)], [(3, 3), (5, 3)]):
        pictures = [np.zeros((*shape, 3), np.uint8) for shape in shapes]
        with pytest.raises(
            ArgumentError, match=r"a film of pictures of .*\n  Give pictures of one"
        ):
            rl.write_gif(tmp_path / "film.gif", pictures)
    for env, lack in ((rl.CartPole(), "motion"), (rl.FrozenLake(), "place"), (rl.Catch(), "ball")):
        with pytest.raises(ArgumentError, match=rf"lacks `{lack}.*`\n  Give .*{lack}.* by name"):
            rl.frames(env, [{}])


def test_what_a_training_does_not_take_is_refused() -> None:
    training = rl.a2c(ENV, hidden=[4], iterations=2)
    with pytest.raises(ArgumentError, match="has no argument `sed`\n  Did you mean `seed`"):
        rl.learnt(training, sed=3)


def test_a_player_is_of_one_training() -> None:
    seed = ot.dims("seed")
    several = rl.Actor(ENV, [8], ot.carried(ot.dims("i"), each=seed))
    with pytest.raises(ArgumentError, match="each of several trainings, along seed"):
        rl.Player(ENV, several, WEIGHTS)
    play = rl.Player(ENV, policy(), WEIGHTS)
    for observation in RNG.normal(size=(20, 4)).astype(np.float32):
        assert play(observation) == best(observation)

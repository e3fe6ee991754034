"""``ostinato train`` and ``ostinato sweep``: from names and settings to a run directory."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ostinato.cli.app import app
from ostinato.cli.resuming import CheckpointFile
from ostinato.cli.run_directory import Metrics
from ostinato.cli.spread import interval
from ostinato.cli.train import algorithms, compared
from ostinato.cli.training import End, Episodes, Row
from ostinato.pdg.errors import OstinatoError
from ostinato.runtime.run.state import State

A2C = ("a2c", "CartPole-v1", "--set", "games=2", "--set", "hidden=4")


def asked(*words: str | Path) -> str:
    """What a command shows. The error of a user, if there is one, is raised."""
    result = CliRunner().invoke(app, [*map(str, words)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def table(path: Path) -> list[dict[str, str]]:
    with (path / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_algorithm_is_known_by_the_name_of_its_function() -> None:
    assert algorithms().keys() >= {"a2c"}


def test_a_training_has_at_least_the_steps_that_were_asked_for(tmp_path: Path) -> None:
    shown = asked("train", *A2C, "--steps", "90", "--out", tmp_path)
    rows = table(tmp_path)
    assert [row["env_steps"] for row in rows] == ["32", "64", "96"]
    assert {"episode_return", "episode_length", "policy_loss"} <= rows[0].keys()
    assert "finished at iteration 3" in shown
    assert json.loads((tmp_path / "config.json").read_text())["arguments"]["I"] == 3


@pytest.mark.parametrize("seeds", ["1", "2"])
@pytest.mark.parametrize("algorithm", ["reinforce", "evolution"])
def test_steps_behind_the_end_of_an_episode_are_not_counted(
    algorithm: str, seeds: str, tmp_path: Path
) -> None:
    many = "pairs=2" if algorithm == "evolution" else "episodes=4"
    few = ("--set", many, "--set", "iterations=3", "--set", "hidden=4", "--seeds", seeds)
    asked("train", algorithm, "CartPole-v1", *few, "--out", tmp_path)
    rows = table(tmp_path)
    steps = [float(row["episode_length"]) * float(row["episodes"]) for row in rows]
    found = [int(row["env_steps"]) for row in rows]
    np.testing.assert_allclose(np.diff([0, *found]), steps, atol=0.51)
    assert 0 < found[-1] < 3 * 4 * 500


def test_seeds_are_trainings_at_once_and_the_metric_is_their_mean(tmp_path: Path) -> None:
    asked("train", *A2C, "--steps", "640", "--seeds", "3", "--out", tmp_path)
    last = table(tmp_path)[-1]
    returns = [float(last[f"episode_return[{k}]"]) for k in range(3)]
    assert len(set(returns)) > 1
    assert float(last["episode_return"]) == pytest.approx(np.mean(returns), rel=1e-6)


def test_a_training_goes_on_as_its_directory_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked("train", *A2C, "--steps", "320", "--seeds", "2", "--out", tmp_path / "whole")
    cut, keep = tmp_path / "cut", CheckpointFile.keep
    with monkeypatch.context() as killed:  # nothing is written after the first checkpoint

        def keep_one(file: CheckpointFile, state: State, episodes: Episodes, end: End) -> None:
            if file.kept < 0:
                keep(file, state, episodes, end)

        killed.setattr(CheckpointFile, "keep", keep_one)
        asked("train", *A2C, "--steps", "320", "--seeds", "2", "--out", cut)
    refused = {
        ("train", "a2c", "Pendulum-v1"): "The run is one of a2c on CartPole-v1.",
        ("train", *A2C[:2], "--steps", "7"): "The run has 320 steps for each of 2 trainings.",
        ("train", *A2C[:2], "--seed", "1"): "a run with seed 0, not 1",
    }
    for words, text in refused.items():
        with pytest.raises(OstinatoError, match=text):
            asked(*words, "--resume", cut)
    asked("train", *A2C[:2], "--resume", cut)
    for words, text in refused.items():  # what is over is another run as well
        with pytest.raises(OstinatoError, match=text.replace("a run with seed 0, not", "seed")):
            asked(*words, "--resume", cut)
    rows = [[{**row, "wall_s": ""} for row in table(tmp_path / name)] for name in ("cut", "whole")]
    assert rows[0] == rows[1] and len(rows[0]) == 10


@pytest.mark.filterwarnings("ignore:the outputs over `i` are not all computed")
def test_a_sweep_tries_every_choice_with_every_seed(tmp_path: Path) -> None:
    swept = ("--over", "learning_rate=1e-3,0", "--over", "entropy=0,0.1,0.2")
    found = tmp_path / "found.json"
    shown = asked(
        "sweep", *A2C, *swept, "--steps", "64", "--seeds", "2", "--out", tmp_path, "--json", found
    )
    best = json.loads(found.read_text())
    assert {each["settings"] for each in best} == {
        f"learning_rate={rate}, entropy={share}"
        for rate in ("1e-3", "0")
        for share in ("0", "0.1", "0.2")
    }
    assert "learning_rate=1e-3, entropy=0.2" in shown
    assert "episode_return[1,2,1]" in table(tmp_path)[0]


def test_choices_are_compared_by_the_last_tenth_of_the_records() -> None:
    metric = np.zeros((2, 2, 20))  # by choice, seed and record
    metric[1, :, -2:] = 4.0, 6.0
    metric[0, :, -3] = 100.0  # before that
    rows = [Row(k, k, 0.0, 0.0, (7.0, *metric[..., k].ravel())) for k in range(20)]
    with Path("/dev/null").open("w") as file:
        found = compared(["a", "b"], Metrics(file, rows=rows), (2, 2))
    assert [(each.settings, each.mean) for each in found] == [("b", 5.0), ("a", 0.0)]


def test_an_interval_of_the_mean_holds_the_true_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    low, high = interval(rng.normal(3.0, 2.0, (40, 500)))
    assert 0.90 < np.mean((low < 3.0) & (high > 3.0)) < 0.97


MISTAKES = {
    "an algorithm": (("train", "a3c", "CartPole-v1"), "There is no algorithm `a3c`.\n  Did you"),
    "an environment": (
        ("train", "a2c", "Cartpole-v1"),
        "there is no environment `Cartpole-v1`\n  Did you mean `CartPole-v1`? Known: Acrobot-v1",
    ),
    "a setting": (
        ("train", *A2C, "--set", "gamess=3"),
        "`gamess` is no setting of `a2c`.\n  Did you mean `games`? Known: anneal,",
    ),
    "a value": (
        ("train", "a2c", "CartPole-v1", "--set", "games=0"),
        "`games=0` is not an integer from 1.\n  Give games an integer from 1.",
    ),
    "a value of a sweep": (
        ("sweep", *A2C, "--over", "learning_rate=1,x"),
        "`learning_rate=x` is not a number from 0.\n  Give learning_rate a number from 0.",
    ),
    "a sweep of a size": (
        ("sweep", *A2C, "--over", "games=1,2"),
        "`games` is the same for all trainings of a program.\n"
        "  Train once for each value. What can be swept: learning_rate, discount,",
    ),
    "a sweep without values": (
        ("sweep", *A2C, "--over", "entropy"),
        "`--over entropy` has no value.\n  Write --over name=value.",
    ),
    "a setting that is swept too": (
        ("sweep", *A2C, "--set", "entropy=1", "--over", "entropy=1,2"),
        "`entropy` has a value, and is swept too.\n  Leave out --set entropy.",
    ),
    "a setting that is swept twice": (
        ("sweep", *A2C, "--over", "entropy=1,2", "--over", "entropy=3"),
        "`entropy` is swept twice.\n  Write --over entropy=1,2,3.",
    ),
    "a sweep over none": (
        ("sweep", "ppo", "CartPole-v1", "--over", "kl_limit=0.01,none"),
        "`kl_limit` is swept over none, which is no number.\n"
        "  Train once with --set kl_limit=none.",
    ),
    "no steps": (("train", *A2C, "--steps", "0"), "0 environment steps.\n  Give at least 1."),
}


@pytest.mark.parametrize(("words", "text"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_have_a_remedy(words: tuple[str, ...], text: str, tmp_path: Path) -> None:
    with pytest.raises(Exception) as caught:
        asked(*words, "--out", tmp_path / "run")
    assert text in str(caught.value)
    assert not (tmp_path / "run").exists()

"""``ostinato eval``: from a run directory to what its policy returns."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from ostinato import nn, rl
from ostinato.cli.app import app
from ostinato.cli.output import console
from ostinato.cli.trained_policy import trained_policy
from ostinato.pdg.errors import ArgumentError, CheckpointError, OptionError
from ostinato.runtime.run.checkpoint import read, write
from tests.cli.test_train import asked

SEVEN = ("--episodes", "7", "--json", "-")
A2C = ("a2c", "CartPole-v1", "--set", "hidden=8", "--set", "games=4")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs") / "one"
    asked("train", *A2C, "--steps", "640", "--out", directory)
    return directory


def test_the_result_is_json_on_standard_output(run: Path) -> None:
    found = json.loads(CliRunner().invoke(app, ["eval", str(run), *SEVEN]).stdout)
    assert found["episodes"] == 7 and found["iterations"] == 10
    assert found["mean_return"] == found["mean_length"] > 5.0
    assert found["std_return"] > 0.0 and found["unfinished"] == 0 and found["greedy"]


def test_the_same_seed_plays_the_same_episodes_and_drawn_actions_others(run: Path) -> None:
    def shown(*more: str) -> str:
        return asked("eval", run, "--episodes", "20", *more).partition("mean return")[2]

    assert shown() == shown() != shown("--seed", "1")
    assert shown("--sample") != shown()


def test_a_film_of_an_episode_is_a_gif(run: Path) -> None:
    asked("eval", run, "--episodes", "1", "--record", run / "film.gif")
    assert (run / "film.gif").read_bytes()[:6] == b"GIF89a"


def test_a_film_of_another_name_is_refused_before_it_is_played(run: Path) -> None:
    with pytest.raises(OptionError, match=r"film.mp4` is no .gif file.\n  Give film.gif."):
        asked("eval", run, "--record", run / "film.mp4")


def test_a_run_that_does_not_begin_leaves_an_earlier_one_as_it_was(run: Path) -> None:
    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}

    before = files()
    with pytest.raises(ArgumentError, match="`seed` is -1"):
        asked("train", *A2C, "--steps", "640", "--seed", "-1", "--out", run)
    with pytest.raises(CheckpointError, match="with other arguments|of another program"):
        going = before[run / "config.json"].replace(b'"hidden": "8"', b'"hidden": "9"')
        (run / "config.json").write_bytes(going)
        _unfinished(run)
        asked("train", *A2C[:2], "--resume", run)
    changed = {path for path, body in files().items() if body != before[path]}
    assert {path.name for path in changed} == {"config.json", "checkpoint.safetensors"}
    for path in changed:  # other tests share the run
        path.write_bytes(before[path])


def _unfinished(run: Path) -> None:
    """Let a checkpoint be one of a run that goes on."""
    found = read(run / "checkpoint.safetensors")
    write(run / "checkpoint.safetensors", replace(found, notes={**found.notes, "end": ""}))


def test_a_policy_that_does_not_fit_the_named_environment_is_refused(run: Path) -> None:
    fact = "The policy of the run cannot act in Acrobot-v1: matrix product of"
    with pytest.raises(OptionError, match=f"{fact}.*\n  Name an environment like that of the run"):
        asked("eval", run, "--episodes", "1", "--environment", "Acrobot-v1")


def test_every_one_of_several_trainings_is_played(tmp_path: Path) -> None:
    asked("train", *A2C, "--steps", "64", "--seeds", "3", "--out", tmp_path)
    asked("eval", tmp_path, "--episodes", "5", "--json", tmp_path / "found.json")
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["episodes"] == 15 and len(found["mean_returns"]) == 3


FILE = """
import ostinato as ot
from ostinato import rl

def policy(iterations: int = 2) -> ot.Experiment:
    return rl.a2c(rl.CartPole(), iterations=iterations, games=2, hidden=[4])

def nothing() -> ot.Experiment:
    b, i = ot.dims("b i")
    x = ot.recurrent("x", over=(b, i))
    x[b, 0], x[b, i + 1] = 1.0, x * 0.5
    program = ot.Program(episode_return=x[:, i].mean())
    return ot.Experiment(program=program, over=i, arguments={"I": 2, "B": 3}, steps_per_record=1)
"""


def test_a_run_of_a_file_needs_a_policy_checkpoints_and_the_name_of_its_environment(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    kept, bare, other = (tmp_path / name for name in ("kept", "bare", "other"))
    file, every = tmp_path / "mine.py", ("--checkpoint-every", "1")
    asked("run", f"{file}:policy", "--out", kept, *every)
    asked("run", f"{file}:policy", "--out", bare)
    asked("run", f"{file}:nothing", "--out", other, *every)
    shown = asked("eval", kept, "--episodes", "3", "--environment", "CartPole-v1")
    assert "after 2 iterations: mean return" in shown
    with pytest.raises(OptionError, match="in which environment.*\n.*--environment CartPole-v1"):
        asked("eval", kept)
    with pytest.raises(CheckpointError, match="is no directory of a run that kept a checkpoint"):
        asked("eval", bare)
    with pytest.raises(OptionError, match=r"does not say what its policy is.\n  Return rl.Train"):
        asked("eval", other)


def test_the_weights_of_a_run_are_those_of_pytorchs_sequential(run: Path) -> None:
    shown = asked("export", run, run / "weights.safetensors")
    found = nn.load_weights(run / "weights.safetensors")
    assert {name: array.shape for name, array in found.items()} == {
        "body.0.weight": (8, 4), "body.0.bias": (8,), "body.2.weight": (2, 8), "body.2.bias": (2,),
    }  # fmt: skip
    assert "4 weights of 58 numbers after 10 iterations" in shown


def test_a_policy_of_a_run_is_a_model_of_onnx(run: Path, tmp_path: Path) -> None:
    runtime: Any = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnx", reason="ONNX is not installed")
    asked("export", run, run / "policy.onnx")
    session = runtime.InferenceSession(run / "policy.onnx", providers=["CPUExecutionProvider"])
    (action,) = session.run(["action"], {"observation": np.zeros((3, 4), np.float32)})
    assert action.dtype == np.int32 and action.shape == (3,)
    asked("train", *A2C, "--steps", "64", "--seeds", "2", "--out", tmp_path)
    asked("export", tmp_path, tmp_path / "second.onnx", "--training", "1")
    assert (tmp_path / "second.onnx").stat().st_size > 500


def test_a_policy_that_scales_what_it_sees_is_exported(tmp_path: Path) -> None:
    """How many it has seen is a number without axes."""
    options = ("--set", "normalise_observation=yes", "--set", "hidden=4")
    for seeds, which in (("1", ()), ("2", ("--training", "1"))):
        out = tmp_path / seeds
        asked(
            "train", "ppo", "CartPole-v1", *options, "--steps", "64", "--seeds", seeds, "--out", out
        )
        asked("export", out, out / "w.safetensors", *which)
        weights = nn.load_weights(out / "w.safetensors")
        assert weights["moments.count"].shape == () and weights["moments.mean"].shape == (4,)
        policy = trained_policy(out, None, console()).single
        assert rl.evaluate(rl.CartPole(), policy, weights, episodes=2).ended.all()


def test_what_cannot_be_exported_is_said(run: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="is neither a .onnx nor a .safetensors file"):
        asked("export", run, "policy.pt")
    asked("train", *A2C, "--steps", "64", "--seeds", "3", "--out", tmp_path)
    with pytest.raises(OptionError, match="has 3 trainings.*\n.*--training 0, to 2"):
        asked("export", tmp_path, tmp_path / "w.safetensors")
    asked("export", tmp_path, tmp_path / "w.safetensors", "--training", "2")
    with pytest.raises(OptionError, match="There is no training 3"):
        asked("export", tmp_path, tmp_path / "w.safetensors", "--training", "3")

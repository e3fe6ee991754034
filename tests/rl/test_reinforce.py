"""The example program, by the interpreter at a tiny size."""

from pathlib import Path

import numpy as np

import ostinato as ot
from ostinato import rl
from ostinato.cli.program_file import load_experiment, load_function

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "reinforce_cartpole.py")


def test_reinforce_runs_and_its_returns_are_possible() -> None:
    program = load_function(f"{EXAMPLE}:reinforce")(rl.CartPole())
    assert isinstance(program, ot.Program)
    out = program.interpret(B=3, I=2, T=12)
    assert out["episode_return"].shape == out["loss"].shape == (2,)
    assert np.all(out["episode_return"] > 7) and np.all(out["episode_return"] <= 12)
    assert np.isfinite(out["loss"]).all()


def test_the_experiment_counts_every_step() -> None:
    experiment = load_experiment(EXAMPLE, ["episodes=8", "iterations=3", "steps=50"])
    assert experiment.steps_per_record == 400
    assert experiment.arguments == {"B": 8, "I": 3, "T": 50}
    assert experiment.program.extents == ("B", "I", "T")

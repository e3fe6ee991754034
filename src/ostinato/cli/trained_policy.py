"""The policy that a run directory has a checkpoint of, and the environment it was trained in."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from ostinato import rl
from ostinato.cli.program_file import load_experiment
from ostinato.cli.run import RunOptions
from ostinato.cli.run_directory import read_checkpoint, read_config
from ostinato.cli.train import built, options_of
from ostinato.nn.module import Module
from ostinato.pdg.errors import OptionError, ShapeError
from ostinato.pdg.functions import Array


@dataclass(frozen=True)
class TrainedPolicy:
    """A policy with its weights as PyTorch has them, after so many iterations.

    Of several trainings ``policy`` and ``weights`` are those of all, ``single`` is that of one.
    """

    env: rl.Env[rl.Actions]
    policy: Module
    single: Module
    weights: Mapping[str, Array]
    step: int


def trained_policy(directory: Path, environment: str | None, console: Console) -> TrainedPolicy:
    """Return what the checkpoint of a run directory has learnt.

    ``environment`` names another one to play in; it is needed for what `ostinato run` left.

    Errors: CheckpointError if there is no checkpoint; OptionError for a run without a policy, or
    whose environment is not known.
    """
    state = read_checkpoint(directory).state
    config = read_config(directory, "Give the directory of a run.")
    settings = tuple(f"{name}={value}" for name, value in config["settings"].items())
    if "trained" in config:
        options = options_of(cast(dict[str, Any], config["trained"]))
        run = RunOptions(place=config["program"], settings=settings)
        training, name = built(options, run, console), environment or options.environment
        one = training
        if training.trainings:
            quiet = Console(quiet=True)
            one = built(replace(options, seeds=1, swept=()), run, quiet)
    else:
        training, name = _of_file(config["program"], settings, environment)
        one = training
    weights = training.policy.state_dict(state)
    return TrainedPolicy(rl.make(name), training.policy, one.policy, weights, state.step)


@contextmanager
def acting_in(environment: str | None) -> Generator[None]:
    """Say so where a policy does not fit an environment that was named.

    Errors: OptionError.
    """
    try:
        yield
    except ShapeError as error:
        if environment is None:
            raise
        fact = f"The policy of the run cannot act in {environment}: {error.fact}."
        raise OptionError(fact, "Name an environment like that of the run.") from None


def _of_file(
    place: str, settings: Sequence[str], environment: str | None
) -> tuple[rl.Training, str]:
    """The training of a user's function, whose environment must be named."""
    made = load_experiment(place, settings)
    if not isinstance(made, rl.Training):
        fact = f"{place} returns an Experiment, which does not say what its policy is."
        remedy = "Return rl.Training(policy=..., ...): an Experiment with the module that acts."
        raise OptionError(fact, remedy)
    if environment is None:
        fact = f"The run of {place} does not say in which environment its policy acts."
        raise OptionError(fact, "Name it: --environment CartPole-v1.")
    return made, environment

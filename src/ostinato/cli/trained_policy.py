"""The policy that a run directory has a checkpoint of, and the environment it was trained in."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.console import Console

from ostinato import nn, rl
from ostinato.cli.output import write_json
from ostinato.cli.program_file import load_experiment
from ostinato.cli.run import RunOptions
from ostinato.cli.run_directory import read_checkpoint, read_config
from ostinato.cli.train import built, options_of
from ostinato.nn.module import Module
from ostinato.pdg.errors import OptionError, ShapeError
from ostinato.pdg.functions import Array
from ostinato.rl.evaluation import MAX_FRAMES, MAX_STEPS


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


def export(
    run: Path, file: Path, environment: str | None, training: int | None, console: Console
) -> int:
    """Write the weights, or the policy as a graph, as the name of the file says; exit status."""
    if file.suffix not in (".onnx", ".safetensors"):
        fact = f"`{file}` is neither a .onnx nor a .safetensors file."
        raise OptionError(fact, "Give policy.onnx, or weights.safetensors.")
    trained = trained_policy(run, environment, console)
    weights = _of_one(trained, training)
    if file.suffix == ".onnx":
        with acting_in(environment):
            rl.export_onnx(file, trained.env, trained.single, weights)
    else:
        nn.save_weights(file, weights)
    numbers = sum(array.size for array in weights.values())
    text = (
        f"{file}: {len(weights)} weights of {numbers:,} numbers after {trained.step:,} iterations"
    )
    console.print(text, soft_wrap=True)
    return 0


def _of_one(trained: TrainedPolicy, training: int | None) -> dict[str, Array]:
    """The weights of one training.

    Errors: OptionError if there are several and none is named, and for one that there is not.
    """
    ranks = {weight.name: weight.tensor.ndim for weight in trained.policy.named_weights()}
    rows = {n: a.reshape(-1, *a.shape[a.ndim - ranks[n] :]) for n, a in trained.weights.items()}
    count = max((len(array) for array in rows.values()), default=1)
    if training is None and count > 1:
        fact = f"The run has {count} trainings, and a file has one policy."
        raise OptionError(fact, f"Name one: --training 0, to {count - 1}.")
    chosen = training or 0
    if chosen >= count:
        raise OptionError(f"There is no training {chosen}.", f"Give one from 0 to {count - 1}.")
    return {n: np.array(array[min(chosen, len(array) - 1)], order="C") for n, array in rows.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalOptions:
    """The options of ``ostinato eval``."""

    run: Path  # a run directory
    episodes: int = 100
    sample: bool = False  # draw actions instead of taking the best
    seed: int = 0
    environment: str | None = None  # default: that of the run
    max_steps: int | None = None
    record: Path | None = None  # a GIF


def evaluate(options: EvalOptions, json: Path | None, console: Console) -> int:
    """Play, show and write what the episodes came to, and return the exit status."""
    if options.record is not None and options.record.suffix != ".gif":
        raise OptionError(f"`{options.record}` is no .gif file.", "Give film.gif.")
    most = MAX_STEPS if options.max_steps is None else options.max_steps
    trained = trained_policy(options.run, options.environment, console)
    with acting_in(options.environment):
        played = rl.evaluate(
            trained.env,
            trained.policy,
            trained.weights,
            episodes=options.episodes,
            greedy=not options.sample,
            seed=options.seed,
            max_steps=most,
        )
    console.print(_sentence(played, trained.step), soft_wrap=True)
    unfinished = int((~played.ended).sum())
    if unfinished:
        left = f"{unfinished} episodes did not end within {most:,} steps"
        console.print(f"{left}: they count with what they returned by then")
    write_json(json, _result(played, options, trained.step))
    if options.record is not None:
        _record(trained, options, options.record, min(most, MAX_FRAMES), console)
    return 0


def _sentence(played: rl.Episodes, step: int) -> str:
    count, steps = played.returns.size, played.lengths.mean()
    return (
        f"after {step:,} iterations: mean return {played.mean_return:.2f}, standard deviation "
        f"{played.std_return:.2f}, of {count} episodes of {steps:.1f} steps"
    )


def _result(played: rl.Episodes, options: EvalOptions, step: int) -> Mapping[str, object]:
    """What is written as JSON; of several trainings also the mean of each."""
    several = {"mean_returns": played.returns.mean(-1).tolist()} if played.returns.ndim > 1 else {}
    return {
        "mean_return": played.mean_return,
        "std_return": played.std_return,
        "episodes": played.returns.size,
        "mean_length": float(played.lengths.mean()),
        "unfinished": int((~played.ended).sum()),
        "greedy": not options.sample,
        "seed": options.seed,
        "iterations": step,
        **several,
    }


def _record(
    trained: TrainedPolicy, options: EvalOptions, path: Path, most: int, console: Console
) -> None:
    """Write a film of an episode, of so many steps at most."""
    pictures = rl.filmed(
        trained.env,
        trained.policy,
        trained.weights,
        greedy=not options.sample,
        seed=options.seed,
        max_steps=most,
    )
    rl.write_gif(path, pictures)
    ends = "" if len(pictures) <= most else ", where it is cut"
    console.print(f"{path}: {len(pictures)} frames of an episode{ends}", soft_wrap=True)

"""``ostinato eval``: whole episodes of the policy that a run has come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ostinato import rl
from ostinato.cli.as_json import write_json
from ostinato.cli.trained_policy import TrainedPolicy, acting_in, trained_policy
from ostinato.pdg.errors import OptionError
from ostinato.rl.evaluation import MAX_FRAMES, MAX_STEPS


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

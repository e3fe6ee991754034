"""``ostinato train`` and ``ostinato sweep``: an algorithm of `ostinato.rl` on an environment."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast, get_type_hints

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

import ostinato as ot
from ostinato import rl
from ostinato.cli.output import write_json
from ostinato.cli.resuming import Resumed
from ostinato.cli.run import RunOptions, begun, carry_out, is_over
from ostinato.cli.run_directory import Metrics
from ostinato.cli.settings import closest, mentions, parted, read, read_settings, settable, unknown
from ostinato.cli.spread import interval
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import OptionError

LAST = 0.1  # of the records: what a training has come to
CHECKPOINTS = 10  # of a training, if nothing else is asked for
Algorithm = Callable[..., rl.Training]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """What is trained; `RunOptions` say how."""

    algorithm: str
    environment: str
    steps: int | None = None  # environment steps of each training; default: the algorithm's
    seeds: int = 1
    swept: tuple[str, ...] = ()  # name=value,value


def algorithms() -> dict[str, Algorithm]:
    """Return the functions of `ostinato.rl` that return a training, by name."""
    public = {name: getattr(rl, name) for name in rl.__all__}
    functions = {name: made for name, made in public.items() if _says_training(made)}
    return {n: f for n, f in functions.items() if get_type_hints(f).get("return") is rl.Training}


def _says_training(made: object) -> bool:
    """Whether a return is annotated by that name; other annotations may need other packages."""
    known: dict[str, object] = getattr(made, "__annotations__", {})
    return str(known.get("return", "")).endswith("Training")


def train(options: TrainOptions, run: RunOptions, every: int | None, console: Console) -> int:
    """Train and leave a run directory; return the exit status.

    A run that goes on is the one that its directory tells of.
    """
    asked = run
    before, run = begun(asked)
    if before is not None:
        options = _as_before(options, before)
    if is_over(before, asked, console):
        return 0
    training = built(options, run, console)
    records = training.arguments[str(training.over).upper()]
    assert isinstance(records, int), f"{training.over} has no length"
    cadence = max(1, records // CHECKPOINTS) if every is None else every
    run = replace(run, checkpoint_every=run.checkpoint_every or cadence, trained=asdict(options))
    return carry_out(training, run, console, before)[0]


def _as_before(options: TrainOptions, before: Resumed) -> TrainOptions:
    """The options of the run that goes on.

    Errors: OptionError if it was asked for something else.
    """
    found = before.config.get("trained")
    if not isinstance(found, dict):
        fact = "The run directory is not one of `ostinato train`."
        raise OptionError(fact, "Go on with `ostinato run FILE --resume RUN`.")
    earlier = options_of(cast(dict[str, Any], found))
    if (options.algorithm, options.environment) != (earlier.algorithm, earlier.environment):
        fact = f"The run is one of {earlier.algorithm} on {earlier.environment}."
        raise OptionError(fact, "Go on with these.")
    if options.steps not in (None, earlier.steps) or options.seeds not in (1, earlier.seeds):
        fact = f"The run has {earlier.steps} steps for each of {earlier.seeds} trainings."
        raise OptionError(fact, "Leave out --steps and --seeds.")
    return earlier


def options_of(trained: dict[str, Any]) -> TrainOptions:
    """Return the options of a run, as its directory tells of them."""
    known: dict[str, Any] = {**trained, "swept": tuple(trained["swept"])}
    return TrainOptions(**known)


def sweep(options: TrainOptions, run: RunOptions, json: Path | None, console: Console) -> int:
    """Train with every combination of the swept settings at once, and show which are best."""
    if not options.swept:
        raise OptionError("No setting is swept.", "Add --over learning_rate=1e-4,1e-3.")
    labels = tuple(", ".join(choice) for choice in itertools.product(*map(_choices, options.swept)))
    training = built(options, run, console)
    run = replace(run, labels=labels, trained=asdict(options))
    status, rows = carry_out(training, run, console)
    found = compared(labels, rows, training.trainings)
    console.print(_table(found, options.seeds))
    write_json(json, [asdict(each) for each in found])
    return status


def built(options: TrainOptions, run: RunOptions, console: Console) -> rl.Training:
    """Return the training that the options ask for.

    Errors: OptionError for an unknown algorithm or setting, and for a value that is not accepted;
    ArgumentError for an unknown environment, or one that the algorithm cannot be used for.
    """
    started, known = time.perf_counter(), algorithms()
    if options.algorithm not in known:
        remedy = closest(options.algorithm, known)
        raise OptionError(f"There is no algorithm `{options.algorithm}`.", remedy)
    algorithm = known[options.algorithm]
    given = read_settings(algorithm, run.settings, {"env"})
    chosen, arguments, sizes = _swept(algorithm, options.swept)
    for name in chosen.keys() & given.keys():
        raise OptionError(f"`{name}` has a value, and is swept too.", f"Leave out --set {name}.")
    several = options.seeds > 1 or bool(sizes)
    seeds = ot.dim("seed", size=options.seeds) if several else ()
    env = rl.make(options.environment)
    training = algorithm(env, **given, **chosen, **({"over": seeds} if several else {}))
    made = replace(
        training,
        arguments={**training.arguments, **arguments},
        trainings=(*sizes, options.seeds) if several else (),
    )
    console.print(f"traced in {time.perf_counter() - started:.2f} s")
    return made if options.steps is None else _as_long(made, options.steps)


def _swept(
    algorithm: Algorithm, swept: Sequence[str]
) -> tuple[dict[str, Tensor], dict[str, npt.NDArray[np.float32]], list[int]]:
    """The swept settings as inputs over dimensions of their own, their values and numbers."""
    tensors: dict[str, Tensor] = {}
    arguments: dict[str, npt.NDArray[np.float32]] = {}
    kinds = settable(algorithm)
    for setting in swept:
        name, text = parted(setting, "--over")
        if name not in kinds:
            raise unknown(name, algorithm, kinds)
        if name in tensors:
            whole = ",".join(parted(each)[1] for each in swept if parted(each)[0] == name)
            raise OptionError(f"`{name}` is swept twice.", f"Write --over {name}={whole}.")
        if not mentions(kinds[name], Tensor):
            several = ", ".join(each for each in kinds if mentions(kinds[each], Tensor))
            fact = f"`{name}` is the same for all trainings of a program."
            raise OptionError(fact, f"Train once for each value. What can be swept: {several}.")
        values = [read(name, each, kinds[name]) for each in text.split(",")]
        if None in values:
            remedy = f"Train once with --set {name}=none."
            raise OptionError(f"`{name}` is swept over none, which is no number.", remedy)
        dim = ot.dim(f"{name}_choice", size=len(values))
        tensors[name] = ot.input(name, over=dim)
        arguments[name] = np.array(values, np.float32)
    return tensors, arguments, [len(values) for values in arguments.values()]


def _choices(setting: str) -> list[str]:
    """A swept setting as one setting for each value."""
    name, text = parted(setting, "--over")
    return [f"{name}={value}" for value in text.split(",")]


def _as_long(training: rl.Training, steps: int) -> rl.Training:
    """The training with as many iterations as give so many environment steps."""
    if steps < 1:
        raise OptionError(f"{steps} environment steps.", "Give at least 1.")
    iterations = -(-steps // training.steps_per_record)
    extent = str(training.over).upper()
    return replace(training, arguments={**training.arguments, extent: iterations})


@dataclass(frozen=True, slots=True)
class Compared:
    """What trainings with the same settings have come to: the mean over seeds, and its interval."""

    settings: str
    mean: float
    low: float
    high: float


def compared(labels: Sequence[str], rows: Metrics, trainings: Sequence[int]) -> list[Compared]:
    """Return what every choice of settings has come to, the highest metric first."""
    values = rows.of_trainings(trainings)
    last = values[..., -max(1, int(values.shape[-1] * LAST)) :].mean(-1)
    found: list[Compared] = []
    for label, seeds in zip(labels, last, strict=True):
        low, high = interval(seeds)
        found.append(Compared(label, float(seeds.mean()), float(low), float(high)))
    return sorted(found, key=lambda each: -each.mean)


def _table(found: Sequence[Compared], seeds: int) -> Table:
    table = Table("settings", f"mean of {seeds} seeds", "95 % interval")
    for each in found:
        table.add_row(each.settings, f"{each.mean:.1f}", f"{each.low:.1f} to {each.high:.1f}")
    return table

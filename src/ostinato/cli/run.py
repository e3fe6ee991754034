"""``ostinato run``: compile a program, train it with live progress, keep what it made."""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from ostinato.cli.program_file import load_experiment
from ostinato.cli.resuming import CheckpointFile, Resumed, resumed
from ostinato.cli.run_directory import (
    Metrics,
    clear,
    event_package,
    events,
    held,
    make,
    make_another,
    metrics,
    write_config,
    write_kernels,
    writing,
)
from ostinato.cli.training import Before, Column, Outcome, Records, Row, train
from ostinato.compiler.experiment import Experiment
from ostinato.pdg.errors import CheckpointError, OptionError

if TYPE_CHECKING:
    from ostinato.compiler.compiled import Compiled
    from ostinato.report.measured_run import RunProfile
from collections.abc import Generator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

INTERRUPTED = 130  # the exit status of a program that Ctrl-C ended


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of ``ostinato run``."""

    place: str  # FILE[:FUNCTION]
    settings: tuple[str, ...] = ()  # name=value
    out: Path | None = None  # default: runs/<file>-<time>
    seed: int | None = None  # default: the experiment's
    check_finite: bool = False
    show_progress: bool = True
    tensorboard: bool = False
    target: str | None = None  # default: that of the run that goes on, or "cpu"
    certificate: Path | None = None
    profile: bool = False
    labels: tuple[str, ...] = ()  # of the settings that trainings differ in, for the curve
    checkpoint_every: int = 0
    resume: Path | None = None  # a run directory
    trained: Mapping[str, object] | None = None  # what `ostinato train` was asked for

    @property
    def command(self) -> str:
        """The command and its arguments, without options."""
        if self.trained is None:
            return f"run {shlex.quote(self.place)}"
        trained = (str(self.trained[name]) for name in ("algorithm", "environment"))
        return shlex.join(["train", *trained])


def run(options: RunOptions, console: Console) -> int:
    """Run the experiment and return the exit status: 0, or 130 after Ctrl-C."""
    asked = options
    before, options = begun(asked)
    if is_over(before, asked, console):
        return 0
    started = time.perf_counter()
    experiment = load_experiment(options.place, options.settings)
    console.print(f"traced in {time.perf_counter() - started:.2f} s")
    return carry_out(experiment, options, console, before)[0]


def is_over(before: Resumed | None, asked: RunOptions, console: Console) -> bool:
    """Return whether nothing of a run is left, and say so.

    Errors: CheckpointError if it was asked for with other settings, or another seed.
    """
    if before is None or before.end not in ("solved", "finished"):
        return False
    ended = f"{before.end} after {before.state.step:,} iterations"
    had = ", ".join(before.settings) or "none"
    other = [each for each in asked.settings if each not in before.settings]
    if other or asked.seed not in (None, before.state.seed):
        what = f"`{other[0]}` (its settings: {had})" if other else f"seed {asked.seed}"
        fact = f"the run of `{asked.resume}` is over, {ended}, and was one without {what}"
        raise CheckpointError(fact, "Run into another directory: --out instead of --resume.")
    console.print(f"nothing to run: {ended}")
    return True


def carry_out(
    experiment: Experiment, options: RunOptions, console: Console, before: Resumed | None = None
) -> tuple[int, Metrics]:
    """Compile and train, leave the run directory, and return the exit status and all rows.

    ``before`` is the run of ``options.resume``, which goes on.
    """
    directory = options.resume or options.out
    if directory is None:
        directory = make_another(default_directory(options.place))
    else:
        make(directory)
    names = [column.name for column in columns_of(experiment)]
    with ExitStack() as stack:
        stack.enter_context(held(directory))
        compiled, took = compile_for_run(options, experiment, console)
        records, profiled = _started(options, experiment, compiled, before)
        stack.callback(records.close)
        if before is None:  # only a run that began takes the place of an earlier one
            with writing(directory):
                clear(directory)
                write_config(directory, configuration(options, experiment))
        keep_kernels(compiled, directory, took, console)
        earlier = before.rows if before else ()
        with metrics(directory, experiment.metric, names, earlier) as rows:
            outcome = _train(options, experiment, records, rows, before, console)
        report(outcome, experiment, directory, console)
        if profiled is not None:
            from ostinato.cli.profile import keep_profile

            keep_profile(profiled(), directory, console)
        draw_curve(directory, experiment, rows, options.labels, console)
    goes_on = options.checkpoint_every and not experiment.program.hosts
    if goes_on and outcome.end == "interrupted":
        text = f"go on with: ostinato {options.command} --resume {shlex.quote(str(directory))}"
        console.print(text, soft_wrap=True)
    return (INTERRUPTED if outcome.end == "interrupted" else 0), rows


def compile_for_run(
    options: RunOptions, experiment: Experiment, console: Console
) -> tuple[Compiled, str]:
    """Compile the program for its run, and tell how long it took."""
    started, target, program = time.perf_counter(), chosen_target(options), experiment.program
    extents = program.signature.bind(experiment.arguments).extents
    with console.status("compiling"):
        compiled = program.compile(target, certificate=options.certificate, extents=extents)
    taken_s = time.perf_counter() - started
    stages = phases(compiled.executable.artifact.explanation.cost, taken_s)
    return compiled, f"compiled for {target} in {taken_s:.2f} s ({stages})"


def keep_kernels(compiled: Compiled, directory: Path, took: str, console: Console) -> None:
    """Write the kernels to the run directory, and say how long they took to make."""
    source = compiled.executable.artifact.explanation.source
    with writing(directory):
        (path,) = write_kernels(directory, {"program": source})
    console.print(f"{took} -> {path}", soft_wrap=True)


def phases(cost: Mapping[str, float], taken_s: float) -> str:
    """Return how long each stage of a compilation took, or that none ran."""
    stages = {name: cost[f"{name}_s"] for name in ("rewrite", "schedule", "emit")}
    rest_s = taken_s - sum(stages.values())
    if rest_s < 0:  # the times are those of the process that filled the cache
        return "from the cache"
    return ", ".join(f"{name} {s:.2f}" for name, s in {**stages, "machine code": rest_s}.items())


def columns_of(experiment: Experiment) -> list[Column]:
    """Return what is kept of a record besides the metric.

    These are the outputs with a number for each training, and the metric of each one of several.
    """
    trainings = experiment.trainings
    means = [
        Column(name, name)
        for name, node in experiment.program.pdg.outputs
        if [*map(str, node.domain)] == [str(experiment.over)]
        and len(node.shape) in {0, len(trainings)}
        and name != experiment.metric
        and name in experiment.program.outputs
    ]
    metric = experiment.metric
    each = [
        Column(f"{metric}[{','.join(map(str, element))}]", metric, element)
        for element in np.ndindex(*trainings)
        if element
    ]
    return [*means, *each]


def default_directory(place: str) -> Path:
    stem = Path(place.partition(":")[0]).stem
    return Path("runs") / f"{stem}-{datetime.now():%Y%m%d-%H%M%S}"


def configuration(options: RunOptions, experiment: Experiment) -> Mapping[str, object]:
    """Return everything needed to run this again."""
    return {
        "command": ["ostinato", *sys.argv[1:]],
        "program": options.place,
        **({} if options.trained is None else {"trained": dict(options.trained)}),
        "settings": dict(setting.split("=", 1) for setting in options.settings),
        "seed": chosen_seed(options, experiment),
        "target": chosen_target(options),
        "check_finite": options.check_finite,
        "checkpoint_every": options.checkpoint_every,
        "arguments": dict(experiment.arguments),
        "steps_per_record": experiment.steps_per_record,
        "versions": {
            "python": platform.python_version(),
            **{
                name: version_of(name) for name in ("ostinato", "numpy", "numba", "egglog", "islpy")
            },
        },
        "machine": platform.platform(),
        "cores": len(os.sched_getaffinity(0)),
    }


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # a checkout that is run without being installed
        return "not installed"


def chosen_seed(options: RunOptions, experiment: Experiment) -> int:
    return experiment.seed if options.seed is None else options.seed


def chosen_target(options: RunOptions) -> str:
    return options.target or "cpu"


def begun(options: RunOptions) -> tuple[Resumed | None, RunOptions]:
    """Return the run that goes on, and the options with what it was given at its start.

    Errors: OptionError for options that exclude each other; CheckpointError.
    """
    _check_together(options)
    if options.tensorboard:
        event_package()  # before anything of an earlier run is gone
    if options.resume is None:
        return None, options
    before = resumed(options.resume)
    return before, replace(
        options,
        settings=options.settings or before.settings,
        seed=before.state.seed if options.seed is None else options.seed,
        checkpoint_every=options.checkpoint_every or before.every,
        target=options.target or before.target,
    )


def _check_together(options: RunOptions) -> None:
    """Refuse options that exclude each other."""
    if options.resume is not None and options.out is not None:
        fact = "--out is given, and --resume, which goes on in the directory of the run"
        raise OptionError(fact, "Leave out --out.")
    if options.profile and (options.resume is not None or options.checkpoint_every):
        fact = "--profile measures a run that does not wait for checkpoints"
        raise OptionError(fact, "Leave out --profile, or --resume and --checkpoint-every.")


def _started(
    options: RunOptions, experiment: Experiment, compiled: Compiled, before: Resumed | None
) -> tuple[Records, Callable[[], RunProfile] | None]:
    """The records, and what gives the profile if one was asked for."""
    arguments = {**experiment.arguments, "seed": chosen_seed(options, experiment)}
    if options.profile:
        return compiled.profiled_stream(experiment.over, options.check_finite, **arguments)
    state = before.state if before else None
    every = options.checkpoint_every
    if every and experiment.program.hosts:
        every = 1  # what Python keeps cannot be computed again: the loop waits after every record
    made = compiled.stream(experiment.over, options.check_finite, every or None, state, **arguments)
    return made, None


def _train(
    options: RunOptions,
    experiment: Experiment,
    records: Records,
    rows: Metrics,
    before: Resumed | None,
    console: Console,
) -> Outcome:
    """Train, and return how it ended."""
    extent = experiment.arguments.get(str(experiment.over).upper())
    total = extent if isinstance(extent, int) else None
    directory = Path(rows.file.name).parent
    with ExitStack() as stack:
        sinks: list[Callable[[Row], None]] = [rows.add]
        if options.tensorboard:
            names = (experiment.metric, *rows.others)
            sinks.append(stack.enter_context(events(directory, names)))
        if options.show_progress:
            sinks.append(stack.enter_context(progress(console, experiment.metric, total)))
        every = options.checkpoint_every
        keeper = CheckpointFile(directory, every) if every else None
        earlier = before.before if before else Before()
        return train(experiment, records, sinks, columns_of(experiment), keeper, earlier)


def report(outcome: Outcome, experiment: Experiment, directory: Path, console: Console) -> None:
    """Say how the run ended and where its files are."""
    if outcome.last is not None:
        console.print(line(outcome.last, experiment.metric), soft_wrap=True)
        console.print(ending(outcome, experiment), soft_wrap=True)
    console.print(f"run directory: {directory}", soft_wrap=True)


def ending(outcome: Outcome, experiment: Experiment) -> str:
    """Return the sentence that says why the run ended."""
    assert outcome.last is not None
    at = f"at iteration {outcome.last.iteration + 1} after {outcome.last.wall_s:.2f} s"
    if outcome.end == "solved" and experiment.stop:
        stop = experiment.stop
        return (
            f"solved {at}: mean {stop.metric} of the last {stop.mean_of_last} episodes "
            f"is at least {stop.at_least:g}"
        )
    if outcome.end == "interrupted":
        return f"interrupted {at}; everything recorded so far is kept"
    return f"finished {at}" + (", not solved" if experiment.stop else "")


def draw_curve(
    directory: Path,
    experiment: Experiment,
    rows: Metrics,
    labels: Sequence[str],
    console: Console,
) -> None:
    """Draw learning_curve.png, or say how to get it when matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        console.print(
            "no learning_curve.png: install matplotlib, e.g. pip install 'ostinato[plot]'",
            soft_wrap=True,
        )
        return
    from ostinato.cli.curve import write_learning_curve

    bar = experiment.stop.at_least if experiment.stop else None
    path = directory / "learning_curve.png"
    with writing(directory):
        write_learning_curve(path, rows, experiment.metric, bar, experiment.trainings, labels)


PLAIN_EVERY_S = 2.0  # without a terminal: one printed line this often


def line(row: Row, metric: str) -> str:
    speed = row.env_steps / max(row.wall_s, 1e-9)
    return (
        f"iteration {row.iteration + 1:,}  {row.env_steps:,} steps  "
        f"{speed / 1e6:.2f} M steps/s  {metric} {row.metric:.1f}"
    )


@contextmanager
def progress(console: Console, metric: str, total: int | None) -> Generator[Callable[[Row], None]]:
    """Yield a sink that shows each row: a live line on a terminal, else a line now and then."""
    if not console.is_terminal:
        yield plain_sink(console, metric)
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        console=console,
    )
    with bar:
        task = bar.add_task("waiting for the first iteration", total=total)

        def show(row: Row) -> None:
            bar.update(task, completed=row.iteration + 1, description=line(row, metric))

        yield show


def plain_sink(
    console: Console, metric: str, clock: Callable[[], float] = time.monotonic
) -> Callable[[Row], None]:
    shown = float("-inf")

    def show(row: Row) -> None:
        nonlocal shown
        if clock() - shown >= PLAIN_EVERY_S:
            shown = clock()
            console.print(line(row, metric), soft_wrap=True)

    return show

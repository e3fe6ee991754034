"""What a run leaves behind: metrics.csv, config.json, the kernels and the learning curve."""

from __future__ import annotations

import csv
import fcntl
import itertools
import json
import os
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TextIO, cast

import numpy as np
import numpy.typing as npt

from ostinato.cli.training import Row
from ostinato.pdg.errors import CheckpointError, OptionError, optional, to_write
from ostinato.runtime.run.checkpoint import Checkpoint, read

CHECKPOINT = "checkpoint.safetensors"
PROFILE = ("profile.json", "profile.svg", "trace.json")
COLUMNS = ("iteration", "env_steps", "wall_s")  # before the metric


@dataclass(slots=True)
class Metrics:
    """The rows of one run: each goes to the file at once and stays for the learning curve."""

    file: TextIO
    others: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list[Row])

    def add(self, row: Row) -> None:
        iteration, env_steps, wall_s, *rest = row.values()
        texts = (f"{value:.9g}" for value in rest)
        with writing(Path(self.file.name).parent):
            csv.writer(self.file, lineterminator="\n").writerow(
                (iteration, env_steps, f"{wall_s:.6f}", *texts)
            )
            self.file.flush()  # a reader that follows the file sees every iteration
        self.rows.append(row)

    def of_trainings(self, trainings: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return the metric by choice of settings, seed and row: the last columns."""
        count = int(np.prod(trainings))
        values = np.array([row.others[-count:] for row in self.rows])
        return values.T.reshape(-1, trainings[-1], len(self.rows))


@contextmanager
def writing(directory: Path, what: str = "written") -> Generator[None]:
    """Say so where a file of the run cannot be written.

    Errors: OptionError.
    """
    try:
        yield
    except OSError as failure:
        fact = f"The run directory `{directory}` cannot be {what}: {failure.strerror}."
        raise OptionError(fact, to_write(failure, "Name another one with --out.")) from None


def make(directory: Path) -> None:
    """Make the run directory; what is there stays.

    Errors: OptionError if it cannot be made.
    """
    with writing(directory, "made"):
        (directory / "kernels").mkdir(parents=True, exist_ok=True)


def make_another(directory: Path) -> Path:
    """Make a run directory that was not there, and return it: its name, or that and a number.

    Runs that begin within one second have one each.
    Errors: OptionError if it cannot be made.
    """
    with writing(directory, "made"):
        directory.parent.mkdir(parents=True, exist_ok=True)
        made = directory
        for count in itertools.count(2):
            with suppress(FileExistsError):
                made.mkdir()
                break
            made = directory.with_name(f"{directory.name}-{count}")
    make(made)
    return made


@contextmanager
def held(directory: Path) -> Generator[None]:
    """Keep other runs out of a run directory until this one has ended, or its process has.

    Where the file system has no locks, it says so.

    Errors: OptionError if another run is there.
    """
    folder = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(folder)
        fact = f"Another run writes to the run directory `{directory}`."
        raise OptionError(fact, "Wait for its end, or run into another one: --out.") from None
    except OSError as failure:
        unlocked = f"the run directory `{directory}` cannot be locked: {failure.strerror}"
        warnings.warn(f"{unlocked}. Let no second run write to it.", stacklevel=2)
    try:
        yield
    finally:
        os.close(folder)


def clear(directory: Path) -> None:
    """Remove an earlier run from a directory; other files stay."""
    kernels = directory / "kernels"
    made = ("metrics.csv", "config.json", "learning_curve.png", CHECKPOINT, *PROFILE)
    stale = [directory / name for name in made]
    for path in [*stale, *kernels.glob("*.py")]:
        path.unlink(missing_ok=True)


def read_checkpoint(directory: Path) -> Checkpoint:
    """Return the last checkpoint of a run.

    Errors: CheckpointError if there is none, or it is damaged.
    """
    if not (directory / CHECKPOINT).is_file():
        fact = f"`{directory}` is no directory of a run that kept a checkpoint"
        raise CheckpointError(fact, "Give one whose run had --checkpoint-every, or `train`.")
    return read(directory / CHECKPOINT)


@contextmanager
def metrics(
    directory: Path, metric: str, others: Sequence[str] = (), before: Sequence[Row] = ()
) -> Generator[Metrics]:
    """Open metrics.csv with its header; the columns after the metric are `others`.

    Of a run that goes on, the rows ``before`` stay, and what follows them is cut off.
    """
    path = directory / "metrics.csv"
    with writing(directory):
        file = path.open("r+" if before else "w", newline="")
    try:
        if before:
            for _ in range(len(before) + 1):
                file.readline()
            file.seek(file.tell())  # more was read ahead
            file.truncate()
        else:
            csv.writer(file, lineterminator="\n").writerow((*COLUMNS, metric, *others))
        yield Metrics(file, tuple(others), [*before])
    finally:
        with writing(directory):  # the disk may be full
            file.close()


def rows_before(directory: Path, step: int) -> list[Row]:
    """The rows of the first steps of a run.

    Errors: CheckpointError if metrics.csv does not have them all.
    """
    path = directory / "metrics.csv"
    try:
        with path.open(newline="") as file:
            texts = [line for _, line in zip(range(step + 1), csv.reader(file), strict=False)][1:]
        rows = [
            Row(int(k), int(steps), float(wall_s), float(metric), tuple(map(float, others)))
            for k, steps, wall_s, metric, *others in texts
        ]
    except (OSError, ValueError):
        rows = []
    if [row.iteration for row in rows] != [*range(step)]:
        fact = f"`{path}` does not have the {step} rows of the checkpoint"
        raise CheckpointError(fact, "Run again from the start, into another directory.")
    return rows


# What a configuration must have, and what it may have.
MUST: Mapping[str, type] = {"program": str, "settings": dict}
MAY: Mapping[str, type] = {"target": str, "checkpoint_every": int, "trained": dict}
TRAINED: Mapping[str, type | tuple[type, ...]] = {
    "algorithm": str, "environment": str, "steps": (int, type(None)), "seeds": int, "swept": list
}  # fmt: skip


def read_config(directory: Path, remedy: str) -> dict[str, Any]:
    """Return the configuration of a run.

    Errors: CheckpointError if there is none, or it is not what a run writes.
    """
    path = directory / "config.json"
    try:
        found: object = json.loads(path.read_text())
    except OSError as failure:
        fact = f"`{path}` cannot be read: {failure.strerror}"
        raise CheckpointError(fact, remedy) from None
    except (ValueError, RecursionError) as failure:
        raise CheckpointError(f"`{path}` cannot be read: {failure}", remedy) from None
    if not _is_configuration(found):
        raise CheckpointError(f"`{path}` is not the configuration of a run", remedy)
    return cast(dict[str, Any], found)


def _is_configuration(found: object) -> bool:
    if not isinstance(found, dict):
        return False
    config = cast(dict[str, Any], found)
    trained = config.get("trained")
    return (
        all(isinstance(config.get(name), kind) for name, kind in MUST.items())
        and all(isinstance(config[name], kind) for name, kind in MAY.items() if name in config)
        and (trained is None or trained.keys() == TRAINED.keys())
        and all(isinstance(trained[name], kind) for name, kind in TRAINED.items() if trained)
    )


def write_config(directory: Path, config: Mapping[str, object]) -> None:
    text = json.dumps(config, indent=2, default=describe)
    (directory / "config.json").write_text(text + "\n")


def describe(value: object) -> object:
    """Return what JSON can hold of a value: numbers as such, arrays by shape and dtype."""
    array = np.asarray(value)
    if array.dtype == object:
        return str(value)
    return {"shape": list(array.shape), "dtype": str(array.dtype)} if array.ndim else array.item()


def write_kernels(directory: Path, sources: Mapping[str, str]) -> list[Path]:
    """Write one Python file per kernel module and return their paths."""
    paths: list[Path] = []
    for name, text in sources.items():
        path = directory / "kernels" / f"{name}.py"
        path.write_text(text)
        paths.append(path)
    return paths


class Writer(Protocol):
    """The part of `tensorboard.summary.Writer` that is used; the package has no types."""

    def add_scalar(self, tag: str, data: float, step: int) -> None: ...

    def close(self) -> None: ...


def event_package() -> Any:
    """Return what writes events.

    Errors: OptionError if it is not installed.
    """
    needed = "--tensorboard needs the package tensorboard."
    return optional("tensorboard.summary", "tensorboard", needed)


@contextmanager
def events(directory: Path, names: Sequence[str]) -> Generator[Callable[[Row], None]]:
    """Yield a sink that writes the metric and the other columns, by name, over environment steps.

    Errors: OptionError if tensorboard is not installed.
    """
    writer: Writer = event_package().Writer(str(directory))

    def write(row: Row) -> None:
        for name, value in zip(names, (row.metric, *row.others), strict=True):
            writer.add_scalar(name, value, row.env_steps)

    try:
        yield write
    finally:
        writer.close()

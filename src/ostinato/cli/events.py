"""Records as TensorBoard scalars; needs the `tensorboard` extra."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from ostinato.cli.training import Row
from ostinato.pdg.errors import OptionError


class Writer(Protocol):
    """The part of `tensorboard.summary.Writer` that is used; the package has no types."""

    def add_scalar(self, tag: str, data: float, step: int) -> None: ...

    def close(self) -> None: ...


@contextmanager
def events(directory: Path, names: Sequence[str]) -> Generator[Callable[[Row], None]]:
    """Yield a sink that writes the metric and the other columns, by name, over environment steps.

    Errors: OptionError if tensorboard is not installed.
    """
    if importlib.util.find_spec("tensorboard") is None:
        raise OptionError(
            "--tensorboard needs the package tensorboard.", "pip install 'ostinato[tensorboard]'"
        )
    writer: Writer = importlib.import_module("tensorboard.summary").Writer(str(directory))

    def write(row: Row) -> None:
        for name, value in zip(names, (row.episode_return, *row.others), strict=True):
            writer.add_scalar(name, value, row.env_steps)

    try:
        yield write
    finally:
        writer.close()

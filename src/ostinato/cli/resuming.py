"""Checkpoints of a run directory: written while a run goes on, and where one begins again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ostinato.cli.run_directory import (
    CHECKPOINT,
    read_checkpoint,
    read_config,
    rows_before,
    writing,
)
from ostinato.cli.training import Before, End, Episodes, Row
from ostinato.runtime.run.checkpoint import Checkpoint, write
from ostinato.runtime.run.state import State

BESIDE = ("config.json", "metrics.csv")  # what a checkpoint is of no use without


def on_disk(path: Path) -> None:
    """Wait until what was written to a file outlives the machine.

    Errors: OptionError if it cannot be written.
    """
    with writing(path.parent), path.open("rb") as file:
        os.fsync(file.fileno())


@dataclass
class CheckpointFile:
    """The last checkpoint of a run, in its directory."""

    directory: Path
    every: int
    kept: int = -1  # the step of the last one

    def keep(self, state: State, episodes: Episodes, end: End | None) -> None:
        """Replace the checkpoint; the rows before it are in metrics.csv already."""
        if state.step == self.kept and end in (None, "interrupted"):
            return
        for name in BESIDE:
            on_disk(self.directory / name)
        notes = {"episodes": json.dumps([*map(list, episodes)]), "end": end or ""}
        write(self.directory / CHECKPOINT, Checkpoint(state, notes))
        self.kept = state.step


@dataclass(frozen=True)
class Resumed:
    """A run that goes on: its state, how it ended if it is over, and what was before."""

    state: State
    end: str
    rows: tuple[Row, ...]
    before: Before
    config: Mapping[str, Any]

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings of the run, as on its command line."""
        found = cast(Mapping[str, str], self.config.get("settings", {}))
        return tuple(f"{name}={value}" for name, value in found.items())

    @property
    def target(self) -> str:
        """Where the kernels of the run ran."""
        return str(self.config.get("target", "cpu"))

    @property
    def every(self) -> int:
        """After how many records the run kept a checkpoint."""
        return int(self.config.get("checkpoint_every", 0))


def resumed(directory: Path) -> Resumed:
    """The run of a directory, from its checkpoint on.

    Errors: CheckpointError if there is none, or it or another file of the run is damaged.
    """
    found = read_checkpoint(directory)
    config = read_config(directory, "Run again from the start.")
    rows = tuple(rows_before(directory, found.state.step))
    wall_s, env_steps = (rows[-1].wall_s, rows[-1].env_steps) if rows else (0.0, 0)
    episodes: list[list[float]] = json.loads(found.notes.get("episodes", "[]"))
    before = Before(episodes, wall_s, env_steps)
    return Resumed(found.state, found.notes.get("end", ""), rows, before, config)

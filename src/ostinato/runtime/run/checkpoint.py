"""States as files: safetensors, with what they are states of and a checksum in the metadata."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ostinato.pdg.errors import CheckpointError, to_write
from ostinato.pdg.functions import Array
from ostinato.runtime.run.state import State

FORMAT = "ostinato state 1"
HEAD = 8  # bytes: the length of the header, little-endian
ABOUT = ("over", "step", "seed", "program", "arguments")


@dataclass(frozen=True)
class Checkpoint:
    """A state with notes of whoever keeps it."""

    state: State
    notes: Mapping[str, str] = field(default_factory=dict[str, str])


def write(path: Path, checkpoint: Checkpoint) -> None:
    """Write a file at once: whenever the process or the machine stops, it is the old or the new.

    Errors: CheckpointError.
    """
    from safetensors.numpy import save

    state = checkpoint.state
    arrays = {name: np.ascontiguousarray(a).reshape(a.shape) for name, a in state.items()}
    about = {name: str(getattr(state, name)) for name in ABOUT}
    about |= {"format": FORMAT, "notes": json.dumps(dict(checkpoint.notes), sort_keys=True)}
    about["checksum"] = _checksum(arrays, about)
    try:
        _replace(path, save(arrays, about))
    except OSError as failure:
        fact = f"the checkpoint `{path}` cannot be written: {failure.strerror}"
        raise CheckpointError(fact, to_write(failure)) from None


def read(path: Path) -> Checkpoint:
    """Return the checkpoint in a file.

    Errors: CheckpointError if it cannot be read, is damaged, or is no checkpoint.
    """
    try:
        body = path.read_bytes()
    except OSError as failure:
        fact = f"the checkpoint `{path}` cannot be read: {failure.strerror}"
        raise CheckpointError(fact, "Give the path of a checkpoint.") from None
    arrays, about = _parts(path, body)
    if about.get("format") != FORMAT:
        fact = f"`{path}` is no checkpoint of a run: it has weights only, or another format"
        raise CheckpointError(fact, "Give a file that `ot.save` or `ostinato run` wrote.")
    given = about.pop("checksum", "")
    if given != _checksum(arrays, about):
        raise _damaged(path, "its checksum does not fit")
    texts = {name: about[name] for name in ABOUT}
    step, seed = int(texts.pop("step")), int(texts.pop("seed"))
    return Checkpoint(State(arrays, step=step, seed=seed, **texts), json.loads(about["notes"]))


def _parts(path: Path, body: bytes) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays and the metadata of a file."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(body)
        size = int.from_bytes(body[:HEAD], "little")
        header: dict[str, Any] = json.loads(body[HEAD : HEAD + size])
    except (SafetensorError, ValueError, KeyError) as failure:
        raise _damaged(path, str(failure)) from None
    return arrays, dict(header.get("__metadata__", {}))


def _damaged(path: Path, how: str) -> CheckpointError:
    fact = f"the checkpoint `{path}` is damaged or cut off ({how})"
    return CheckpointError(fact, "Take an earlier one, or run again from the start.")


def _checksum(arrays: Mapping[str, Array], about: Mapping[str, str]) -> str:
    total = hashlib.sha256(json.dumps(sorted(about.items())).encode())
    for name, array in sorted(arrays.items()):
        total.update(json.dumps([name, str(array.dtype), array.shape]).encode())
        total.update(array.tobytes())
    return total.hexdigest()


def _replace(path: Path, body: bytes) -> None:
    made = path.with_name(f".{path.name}.new")  # one name: what was left of a killed process goes
    try:
        with made.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        made.replace(path)
    except BaseException:
        with suppress(OSError):
            made.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY)  # the name is on the disk too
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

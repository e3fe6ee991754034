"""States of runs, to and from files."""

from __future__ import annotations

from pathlib import Path

from ostinato.language.surface import declare
from ostinato.pdg.errors import CheckpointError
from ostinato.provenance.place import place
from ostinato.runtime.run import checkpoint
from ostinato.runtime.run.state import State


def save(path: str | Path, state: State) -> None:
    """Write the state of a stream to a file, in the format safetensors.

    The file is replaced at once, and the metadata has a checksum and what the state is one of.

    Errors: CheckpointError if the file cannot be written.

    >>> import ostinato as ot, tempfile
    >>> i, b = ot.dims("i b")
    >>> weight = ot.recurrent("weight", over=i)
    >>> loss = ((weight - ot.input("x", over=b))[i, :] ** 2).mean()
    >>> weight[0], weight[i + 1] = 0.0, weight - 0.25 * ot.grad(loss, weight)
    >>> run = ot.Program(loss=loss).compile()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with run.stream(i, every=2, I=4, x=[4, 4]) as records:
    ...         print([next(records).loss for _ in range(2)])
    ...         ot.save(f"{folder}/two.safetensors", records.state)
    ...     state = ot.load(f"{folder}/two.safetensors")
    [16.0, 4.0]
    >>> [record.loss for record in run.stream(i, resume=state, I=4, x=[4, 4])]
    [1.0, 0.25]
    """
    try:
        checkpoint.write(Path(path), checkpoint.Checkpoint(state))
    except CheckpointError as error:
        raise error.at(place()) from None


def load(path: str | Path) -> State:
    """Return the state in a file that `save` or ``ostinato run`` wrote.

    Errors: CheckpointError if it cannot be read, is damaged, or is no state.
    """
    try:
        return checkpoint.read(Path(path)).state
    except CheckpointError as error:
        raise error.at(place()) from None


declare(__name__)

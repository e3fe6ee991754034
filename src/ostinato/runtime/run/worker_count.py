"""How many threads run a program: all of them, or one where that is predicted to be faster.

Results are the same for every number. A prediction takes longer than a brief run, so that it is
made once for extents of the same magnitudes, and kept beside the program.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ostinato.runtime.disk.sealed import Note
from ostinato.runtime.run.artifact import Price

FILE = "threads.json"
PREDICTED = "predicted_ns"  # the whole of a price; without one all threads run
WORTH = 0.875  # of the time alone: what other processors are worth, as sure as predictions are


class Crowd:
    """The choices for one program, made in this process or an earlier one."""

    def __init__(self, price: Price, directory: Path | None, program: str) -> None:
        """``price`` predicts a run; ``directory`` is where the program with this key is kept."""
        self._price, self._note = price, Note(directory, program, FILE)
        self._known: dict[str, bool] | None = None

    def workers(self, extents: Mapping[str, int], most: int) -> int:
        """``most``, or 1 if they are predicted to gain next to nothing."""
        if most == 1:
            return 1
        if self._known is None:
            self._known = self._read()
        sizes = (f"{name}<{1 << size.bit_length()}" for name, size in sorted(extents.items()))
        key = " ".join((str(most), *sizes))
        if key not in self._known:
            alone, together = (self._price(extents, n).get(PREDICTED, 0.0) for n in (1, most))
            self._known[key] = alone * WORTH < together
            self._write(self._known)
        return 1 if self._known[key] else most

    def _read(self) -> dict[str, bool]:
        body = self._note.read()
        if body is None:
            return {}
        try:
            return {str(key): bool(alone) for key, alone in json.loads(body).items()}
        except (ValueError, AttributeError) as failure:
            self._note.refuse(failure)
            return {}

    def _write(self, known: Mapping[str, bool]) -> None:
        self._note.write(json.dumps(known).encode())

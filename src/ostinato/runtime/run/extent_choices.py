"""What is found once for extents and kept: where tensors lie, and how many threads run.

Finding places takes milliseconds and the whole plan, which a program that is run as before need not
load. A program runs on all threads, or on one where that is predicted to be faster; results are the
same. A prediction takes longer than a brief run, so that it is made once for extents of the same
magnitudes, and kept beside the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ostinato.runtime.disk.sealed import Note
from ostinato.runtime.machine_code.arena_layout import (
    Layout,
    Moves,
    Part,
    Passage,
    Room,
    Transfer,
    Window,
)
from ostinato.runtime.run.artifact import Place, PlaceStream, Price, unstreamed

LAYOUTS = "layouts.json"
RECORD_BYTES = 1 << 25  # of the records that may wait to be read, if the user does not say
MOST = 8  # layouts that are kept: the first ones that were asked for


class Placing:
    """The layouts of one program."""

    def __init__(
        self,
        place: Place,
        directory: Path | None,
        program: str,
        place_stream: PlaceStream = unstreamed,
    ) -> None:
        """Two functions find layouts; ``directory`` is where the program with this key is kept."""
        self._place, self._place_stream = place, place_stream
        self._note = Note(directory, program, LAYOUTS)
        self._known: dict[str, Layout] | None = None

    def layout(
        self, extents: Mapping[str, int], workers: int, records: int | None = None
    ) -> Layout:
        """Where every tensor lies; of a stream ``records`` may wait, 0 for as many as are usual."""
        if self._known is None:
            self._known = self._note.table(_layout)
        of = str(workers) if records is None else f"{workers} stream={records}"
        key = " ".join((of, *(f"{name}={n}" for name, n in sorted(extents.items()))))
        found: Layout | None = self._known.get(key)
        if found is None:
            if records is None:
                found = self._place(extents, workers)
            else:
                found = self._place_stream(extents, workers, records, RECORD_BYTES)
            if len(self._known) < MOST:
                self._known[key] = found
                self._note.put({k: _row(of) for k, of in self._known.items()})
        return found


def _row(of: Layout) -> list[object]:
    """A layout as it is kept."""
    moves = of.moves
    moved = moves.room_bytes, moves.unplanned, moves.link_ns, moves.again_bytes, moves.passages
    return [*{**vars(of), "moves": moved}.values()]


def _layout(row: list[Any]) -> Layout:
    """What was kept of a layout."""
    at, stride, whole, bound, blocks, near, windows, moved = row
    room_bytes, unplanned, link_ns, again_bytes, passages = moved
    found = tuple(map(_passage, passages))
    moves = Moves(room_bytes, tuple(unplanned), link_ns, again_bytes, lambda: found)
    held = tuple(Window(*of) for of in windows)
    return Layout(at, stride, whole, bound, _rows(blocks), near, held, moves)


def _passage(row: list[Any]) -> Passage:
    walk, kernel, tensor, copies, room, visits, parts, *rest = row
    read = (Part(n, _rows(points), (*(Transfer(*t) for t in of),)) for n, points, of in parts)
    return Passage(walk, kernel, tensor, copies, Room(*room), _rows(visits), (*read,), *rest)


def _rows(of: Iterable[Iterable[Any]]) -> tuple[Any, ...]:
    return tuple((*row,) for row in of)


THREADS = "threads.json"
PREDICTED = "predicted_ns"  # the whole of a price; without one all threads run
WORTH = 0.875  # of the time alone: what other processors are worth, as sure as predictions are


class Crowd:
    """The choices for one program, made in this process or an earlier one."""

    def __init__(self, price: Price, directory: Path | None, program: str) -> None:
        """``price`` predicts a run; ``directory`` is where the program with this key is kept."""
        self._price, self._note = price, Note(directory, program, THREADS)
        self._known: dict[str, bool] | None = None

    def workers(self, extents: Mapping[str, int], most: int) -> int:
        """``most``, or 1 if they are predicted to gain next to nothing."""
        if most == 1:
            return 1
        if self._known is None:
            self._known = self._note.table(bool)
        sizes = (f"{name}<{1 << size.bit_length()}" for name, size in sorted(extents.items()))
        key = " ".join((str(most), *sizes))
        if key not in self._known:
            alone, together = (self._price(extents, n).get(PREDICTED, 0.0) for n in (1, most))
            self._known[key] = alone * WORTH < together
            self._note.put(self._known)
        return 1 if self._known[key] else most

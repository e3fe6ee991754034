"""What is found once for extents and kept: where tensors lie, and how many threads run.

Finding places takes milliseconds and the whole plan, which a program that is run as before need not
load. A program runs on all threads, or on one where that is predicted to be faster; results are the
same. A prediction takes longer than a brief run, so that it is made once for extents of the same
magnitudes, and kept beside the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ostinato.runtime.disk.sealed import Note
from ostinato.runtime.run.artifact import Layout, Moves, Place, PlaceStream, Price, Room, unstreamed

LAYOUTS = "layouts.json"
RECORD_BYTES = 1 << 25  # of the records that may wait to be read, if the user does not say
MOST = 8  # layouts that are kept: the first ones that were asked for


class PlacedRoom(NamedTuple):
    """See `ostinato.runtime.run.artifact.Room`."""

    steps: int
    step_bytes: int
    block_steps: int
    blocks: int
    rows: int
    row_bytes: int

    @classmethod
    def of(cls, room: Room) -> PlacedRoom:
        about = room.steps, room.step_bytes, room.block_steps, room.blocks
        return cls(*about, room.rows, room.row_bytes)


class PlacedPart(NamedTuple):
    """See `ostinato.report.transfer_timeline.Part`."""

    times: int
    points: tuple[tuple[int, int], ...]
    transfers: tuple[tuple[str, int, int, int], ...]

    @classmethod
    def of(cls, part: Iterable[Any]) -> PlacedPart:
        times, points, transfers = part
        return cls(times, _rows(points), _rows(transfers))


class PlacedPassage(NamedTuple):
    """See `ostinato.runtime.run.artifact.Passage`."""

    walk: int
    kernel: int
    tensor: str
    copies: int
    room: PlacedRoom
    visits: tuple[tuple[int, int], ...]
    parts: tuple[PlacedPart, ...]
    around: int

    @classmethod
    def read(cls, row: list[Any]) -> PlacedPassage:
        walk, kernel, tensor, copies, room, visits, parts, around = row
        rest = _rows(visits), tuple(map(PlacedPart.of, parts)), around
        return cls(walk, kernel, tensor, copies, PlacedRoom(*room), *rest)


class PlacedMoves(NamedTuple):
    """See `ostinato.runtime.run.artifact.Moves`."""

    passages: tuple[PlacedPassage, ...] = ()
    room_bytes: int = 0
    unplanned: tuple[str, ...] = ()
    link_ns: float = 0.0

    @classmethod
    def of(cls, moves: Moves) -> PlacedMoves:
        passages = tuple(
            PlacedPassage(
                *(p.walk, p.kernel, p.tensor, p.copies),
                PlacedRoom.of(p.room),
                _rows(p.visits),
                tuple(map(PlacedPart.of, p.parts)),
                p.around,
            )
            for p in moves.passages
        )
        return cls(passages, moves.room_bytes, tuple(moves.unplanned), moves.link_ns)

    @classmethod
    def read(cls, row: list[Any]) -> PlacedMoves:
        passages, room_bytes, unplanned, link_ns = row
        found = tuple(map(PlacedPassage.read, passages))
        return cls(found, room_bytes, tuple(unplanned), link_ns)


@dataclass(frozen=True)
class Placed:
    """A layout as it is kept: see `ostinato.runtime.run.artifact.Layout`."""

    offsets: Mapping[str, int]
    local_stride: int
    total_bytes: int
    lower_bound_bytes: int
    blocks: tuple[tuple[str, int, int, int, int], ...]
    memory_bytes: int
    windows: tuple[tuple[str, int, int, int], ...] = ()
    moves: PlacedMoves = PlacedMoves()

    @property
    def peak_bytes(self) -> int:
        """The bytes that take memory at once."""
        return self.memory_bytes + self.moves.room_bytes

    @classmethod
    def of(cls, layout: Layout) -> Placed:
        used = layout.total_bytes, layout.lower_bound_bytes
        blocks, windows = tuple(layout.blocks), tuple((*w,) for w in layout.windows)
        near, moves = layout.memory_bytes, PlacedMoves.of(layout.moves)
        return cls(dict(layout.offsets), layout.local_stride, *used, blocks, near, windows, moves)


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
        self._known: dict[str, Placed] | None = None

    def layout(
        self, extents: Mapping[str, int], workers: int, records: int | None = None
    ) -> Layout:
        """Where every tensor lies; of a stream ``records`` may wait, 0 for as many as are usual."""
        if self._known is None:
            self._known = self._note.table(lambda row: _placed(*row))
        of = str(workers) if records is None else f"{workers} stream={records}"
        key = " ".join((of, *(f"{name}={n}" for name, n in sorted(extents.items()))))
        found: Layout | None = self._known.get(key)
        if found is None:
            if records is None:
                found = self._place(extents, workers)
            else:
                found = self._place_stream(extents, workers, records, RECORD_BYTES)
            if len(self._known) < MOST:
                self._known[key] = Placed.of(found)
                self._note.put({k: [*vars(of).values()] for k, of in self._known.items()})
        return found


def _placed(at: dict[str, int], stride: int, whole: int, bound: int, *rest: Any) -> Placed:
    """What was kept of a layout."""
    blocks, near, held, moves = rest
    first = at, stride, whole, bound
    return Placed(*first, _rows(blocks), near, _rows(held), PlacedMoves.read(moves))


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

"""FrozenLake, CliffWalking and Taxi: Gymnasium's tables of transitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ostinato.language.kinds import Count
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.environments.tabular import Tabular, Transitions

Outcome = tuple[int, float, bool]  # the place that follows, the reward, whether it terminates
LAKES = {
    4: ("SFFF", "FHFH", "FFFH", "HFFG"),
    8: (
        *("SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF"),
        *("FFFHFFFF", "FHHFFFHF", "FHFFHFHF", "FFFHFFFG"),
    ),
}
TAXI = ("R: | : :G", " : | : : ", " : : : : ", " | : | : ", "Y| : |B: ")
STANDS = ((0, 0), (0, 4), (4, 0), (4, 3))  # where passengers wait, and want to go
_MOVES = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}


def _table(
    places: int, actions: int, outcomes: Callable[[int, int], Sequence[Outcome]]
) -> Transitions:
    """The tables of outcomes that are equally likely."""
    found = [[outcomes(p, a) for a in range(actions)] for p in range(places)]
    columns = np.array(found, dtype=object)
    return Transitions(
        columns[..., 0].astype(np.int32),
        columns[..., 1].astype(np.float32),
        columns[..., 2].astype(np.bool_),
        np.full(columns.shape[:3], 1.0 / columns.shape[2]),
    )


def _only(where: int, places: int) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = np.eye(places)[where]
    return found


def _moved(at: int, by: tuple[int, int], rows: int, columns: int) -> int:
    row = min(max(at // columns + by[0], 0), rows - 1)
    return row * columns + min(max(at % columns + by[1], 0), columns - 1)


class FrozenLake(Tabular):
    """A way across a lake with holes: left 0, down 1, right 2, up 3.

    On ``slippery`` ice a step goes as meant, or to either side of that, with equal probability. An
    episode terminates in a hole or at the goal, which alone is rewarded, with 1; it is cut after
    100 steps, 200 on the lake of size 8. ``lake`` are its rows, of S, F, H and G.

    Source: the transitions of Gymnasium's ``FrozenLake-v1`` and ``FrozenLake8x8-v1``.
    """

    def __init__(
        self, size: Count = 4, slippery: bool = True, lake: Sequence[str] | None = None
    ) -> None:
        if lake is None and size not in LAKES:
            fact = f"a frozen lake of size {size}"
            raise ArgumentError(fact, "Give 4 or 8, or the rows of a lake.", place())
        rows = LAKES[size] if lake is None else tuple(lake)
        self.rows = rows
        letters, width = "".join(rows), len(rows[0]) if rows else 0
        if (
            {len(row) for row in rows} != {width}
            or "S" not in letters
            or set(letters) - set("SFHG")
        ):
            fact = f"a lake of the rows {rows}"
            remedy = "Give rows of one length, of S (start), F (frozen), H (hole) and G (goal)."
            raise ArgumentError(fact, remedy, place())
        moves = tuple(_MOVES.values())

        def outcome(at: int, action: int) -> Outcome:
            if letters[at] in "GH":
                return at, 0.0, True
            reached = _moved(at, moves[action % 4], len(rows), width)
            return reached, float(letters[reached] == "G"), letters[reached] in "GH"

        def outcomes(at: int, action: int) -> list[Outcome]:
            sides = (action - 1, action, action + 1) if slippery else (action,)
            return [outcome(at, side) for side in sides]

        start = np.array([letter == "S" for letter in letters], np.float64)
        limit = 100 if len(letters) <= 16 else 200
        super().__init__(_table(len(letters), 4, outcomes), start / start.sum(), limit)


class CliffWalking(Tabular):
    """A way along a cliff: up 0, right 1, down 2, left 3.

    Every step is rewarded with -1, one over the cliff with -100, which leads back to the start. An
    episode terminates at the other end, and is cut after ``max_steps``.

    Source: the transitions of Gymnasium's ``CliffWalking-v1``; Sutton and Barto 2018, example 6.6.
    """

    def __init__(self, max_steps: Count = 200) -> None:
        rows, columns = 4, 12
        start, goal = 36, 47
        moves = [_MOVES[name] for name in ("up", "right", "down", "left")]

        def outcomes(at: int, action: int) -> list[Outcome]:
            reached = _moved(at, moves[action], rows, columns)
            falls = start < reached < goal
            return [(start, -100.0, False) if falls else (reached, -1.0, reached == goal)]

        super().__init__(_table(48, 4, outcomes), _only(start, 48), max_steps)


class Taxi(Tabular):
    """A taxi that fetches a passenger: south 0, north 1, east 2, west 3, take 4, leave 5.

    Places number the positions of the taxi, of the passenger (one of four stands, or 4 in the taxi)
    and of the destination. The reward is 20 for who arrives, -10 where nobody can be taken or
    left, and -1 for all else. An episode terminates on arrival and is cut after 200 steps.

    Source: the transitions of Gymnasium's ``Taxi-v4``; Dietterich 2000.
    """

    def __init__(self) -> None:
        waiting = [taxi(p)[2] not in (4, taxi(p)[3]) for p in range(500)]
        start = np.array(waiting, np.float64)
        super().__init__(_table(500, 6, _drive), start / start.sum(), 200)


def taxi(number: int) -> tuple[int, int, int, int]:
    """Row, column, passenger and destination of a place."""
    return number // 100, number // 20 % 5, number // 4 % 5, number % 4


def _drive(number: int, action: int) -> list[Outcome]:
    row, column, passenger, goal = taxi(number)
    here = (row, column)
    reward, arrives = -1.0, False
    match action:
        case 0 | 1:
            row = min(max(row + (1 if action == 0 else -1), 0), 4)
        case 2 if column < 4 and TAXI[row][2 * column + 1] == ":":
            column += 1
        case 3 if column > 0 and TAXI[row][2 * column - 1] == ":":
            column -= 1
        case 4 if passenger < 4 and here == STANDS[passenger]:
            passenger = 4
        case 5 if passenger == 4 and here == STANDS[goal]:
            passenger, reward, arrives = goal, 20.0, True
        case 5 if passenger == 4 and here in STANDS:
            passenger = STANDS.index(here)
        case 4 | 5:
            reward = -10.0
        case _:
            pass  # against a wall
    return [(((row * 5 + column) * 5 + passenger) * 4 + goal, reward, arrives)]

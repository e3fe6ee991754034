"""Pictures of boards, as an agent sees them, and of worlds of places on a grid."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ostinato.pdg.functions import Array
from ostinato.rl.drawing.canvas import BLACK, BLUE, GRAY, GREEN, ORANGE, RED, WHITE, Picture
from ostinato.rl.environments.grid_worlds import STANDS, TAXI, FrozenLake, taxi

SIDE = 22  # pixels of a place
PALETTE = np.array(
    [BLUE, ORANGE, GREEN, RED, (148, 103, 189), (140, 86, 75), (227, 119, 194), (188, 189, 34)],
    np.uint8,
)


def _enlarged(colours: npt.NDArray[np.uint8]) -> Picture:
    """Places of one pixel as squares with thin lines between them."""
    out = colours.repeat(SIDE, 0).repeat(SIDE, 1)
    out[::SIDE], out[:, ::SIDE] = out[::SIDE] // 2, out[:, ::SIDE] // 2
    return out


def board(seen: Array) -> Picture:
    """The layers of a board, the first on top; shape (h, w) or (h, w, layers)."""
    layers = seen[..., None] if seen.ndim == 2 else seen
    colours = np.full((*layers.shape[:2], 3), BLACK, np.uint8)
    for k in reversed(range(layers.shape[2])):
        colours[layers[..., k] > 0] = PALETTE[k % len(PALETTE)]
    return _enlarged(colours)


def lake(env: FrozenLake, state: Mapping[str, Array]) -> Picture:
    """Ice, holes, the goal and who walks."""
    colour = {"S": (220, 235, 255), "F": (220, 235, 255), "H": BLUE, "G": GREEN}
    colours = np.array([[colour[letter] for letter in row] for row in env.rows], np.uint8)
    colours[np.unravel_index(int(state["place"]), colours.shape[:2])] = RED
    return _enlarged(colours)


def cliff(state: Mapping[str, Array]) -> Picture:
    """Four rows of twelve places, the cliff between start and goal."""
    colours = np.full((4, 12, 3), WHITE, np.uint8)
    colours[3, 1:11], colours[3, 11] = BLACK, GREEN
    colours[np.unravel_index(int(state["place"]), (4, 12))] = RED
    return _enlarged(colours)


def streets(state: Mapping[str, Array]) -> Picture:
    """The taxi, orange with a passenger; who waits is blue, and wants to where it is green."""
    row, column, passenger, goal = taxi(int(state["place"]))
    colours = np.full((5, 9, 3), WHITE, np.uint8)
    for (r, c), place in np.ndenumerate(np.array([[*line] for line in TAXI])):
        if place == "|":
            colours[r, c] = BLACK
        elif c % 2:
            colours[r, c] = (235, 235, 235)
    for stand in STANDS:
        colours[stand[0], 2 * stand[1]] = GRAY
    colours[STANDS[goal][0], 2 * STANDS[goal][1]] = GREEN
    if passenger < len(STANDS):
        colours[STANDS[passenger][0], 2 * STANDS[passenger][1]] = BLUE
    colours[row, 2 * column] = ORANGE if passenger == len(STANDS) else RED
    return _enlarged(colours)

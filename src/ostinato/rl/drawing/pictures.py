"""Pictures of things that swing, roll and fly, of boards, and of worlds of places on a grid."""

from __future__ import annotations

from collections.abc import Mapping
from math import cos, pi, sin

import numpy as np
import numpy.typing as npt

from ostinato.pdg.functions import Array
from ostinato.rl.drawing.canvas import (
    BLACK,
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    RED,
    WHITE,
    Canvas,
    Picture,
    Point,
)
from ostinato.rl.environments.grid_worlds import STANDS, TAXI, FrozenLake, taxi

State = Mapping[str, Array]


def _beyond(start: Point, angle: float, length: float) -> Point:
    """The end of a rod that hangs from a point; an angle of 0 hangs down."""
    return start[0] + length * sin(angle), start[1] - length * cos(angle)


def cart_pole(state: State) -> Picture:
    """A cart on a track with a pole on it."""
    x, _, angle, _ = map(float, state["motion"])
    canvas = Canvas(360, 180, (-2.5, -0.4), (2.5, 2.1))
    canvas.line([(-2.4, 0.0), (2.4, 0.0)], GRAY, 1)
    canvas.box((x - 0.3, -0.12), (x + 0.3, 0.12), BLUE)
    canvas.line([(x, 0.0), _beyond((x, 0.0), pi - angle, 1.0)], ORANGE, 6)
    return canvas.picture


def pendulum(state: State) -> Picture:
    """A rod about a hinge; it stands at the angle 0."""
    angle = float(state["angle"])
    canvas = Canvas(200, 200, (-1.3, -1.3), (1.3, 1.3))
    canvas.line([(0.0, 0.0), _beyond((0.0, 0.0), angle + pi, 1.0)], ORANGE, 10)
    canvas.disc((0.0, 0.0), 0.08, BLUE)
    return canvas.picture


def acrobot(state: State) -> Picture:
    """Two rods, and the line that the end of the second is to pass."""
    first, second = (float(angle) for angle in state["motion"][:2])
    elbow = _beyond((0.0, 0.0), first, 1.0)
    canvas = Canvas(220, 220, (-2.3, -2.3), (2.3, 2.3))
    canvas.line([(-2.3, 1.0), (2.3, 1.0)], GRAY, 1)
    canvas.line([(0.0, 0.0), elbow], BLUE, 7)
    canvas.line([elbow, _beyond(elbow, first + second, 1.0)], ORANGE, 7)
    return canvas.picture


def mountain_car(state: State) -> Picture:
    """A car on a hill, and a flag on top of it."""

    def height(x: float) -> float:
        return 0.45 * sin(3.0 * x) + 0.55

    x = float(state["position"])
    canvas = Canvas(360, 220, (-1.25, 0.0), (0.65, 1.15))
    canvas.line([(at, height(at)) for at in np.linspace(-1.2, 0.6, 100)], GRAY, 2)
    canvas.line([(0.5, height(0.5)), (0.5, height(0.5) + 0.12)], GREEN, 3)
    canvas.disc((x, height(x) + 0.04), 0.035, RED)
    return canvas.picture


def lander(state: State) -> Picture:
    """A body on two legs above a pad between flags."""
    x, y, _, _, angle, _ = map(float, state["motion"])

    def at(across: float, up: float) -> Point:
        """A point of the body, whose feet are 0.6 below its centre."""
        turned = across * cos(angle) - up * sin(angle), across * sin(angle) + up * cos(angle)
        return x + turned[0], y + 0.6 + turned[1]

    canvas = Canvas(360, 260, (-10.0, -1.0), (10.0, 13.0))
    canvas.box((-10.0, -1.0), (10.0, 0.0), GRAY)
    for flag in (-2.0, 2.0):
        canvas.line([(flag, 0.0), (flag, 0.9)], GREEN, 2)
    for side, touches in zip((-1.0, 1.0), state["legs"], strict=True):
        colour = GREEN if touches else BLUE
        canvas.line([at(side * 0.45, -0.2), at(side * 0.667, -0.6)], colour, 3)
    canvas.polygon([at(-0.57, -0.33), at(0.57, -0.33), at(0.47, 0.57), at(-0.47, 0.57)], ORANGE)
    return canvas.picture


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

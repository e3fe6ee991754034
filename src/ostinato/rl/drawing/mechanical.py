"""Pictures of things that swing, roll and fly, from their states."""

from __future__ import annotations

from collections.abc import Mapping
from math import cos, pi, sin

import numpy as np

from ostinato.pdg.functions import Array
from ostinato.rl.drawing.canvas import BLUE, GRAY, GREEN, ORANGE, RED, Canvas, Picture, Point

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

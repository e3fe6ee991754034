"""A canvas in the coordinates of a world, drawn by Pillow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.pdg.errors import optional

Picture = npt.NDArray[np.uint8]
Point = tuple[float, float]
WHITE, BLACK, GRAY = (255, 255, 255), (32, 32, 32), (150, 150, 150)
BLUE, ORANGE, GREEN, RED = (31, 119, 180), (255, 127, 14), (44, 160, 44), (214, 39, 40)
Colour = tuple[int, int, int]


def pillow(module: str) -> Any:
    """Return a module of Pillow.

    Errors: OptionError if it is not installed.
    """
    return optional(f"PIL.{module}", "plot", "Pictures need the package Pillow.")


class Canvas:
    """What a rectangle of the world looks like, from its lower left corner to its upper right."""

    def __init__(self, width: int, height: int, low: Point, high: Point) -> None:
        self._image = pillow("Image").new("RGB", (width, height), WHITE)
        self._draw = pillow("ImageDraw").Draw(self._image)
        self._low, self._height = low, height
        self._scale = (width / (high[0] - low[0]), height / (high[1] - low[1]))

    def at(self, point: Point) -> Point:
        """Return where a point of the world is, in pixels."""
        across, up = ((point[k] - self._low[k]) * self._scale[k] for k in (0, 1))
        return across, self._height - up

    def line(self, points: Sequence[Point], colour: Colour = BLACK, width: int = 3) -> None:
        """Draw from point to point."""
        self._draw.line([*map(self.at, points)], colour, width, joint="curve")

    def disc(self, centre: Point, radius: float, colour: Colour) -> None:
        """Draw a disc; its radius is in units of the world, across."""
        (x, y), r = self.at(centre), radius * self._scale[0]
        self._draw.ellipse((x - r, y - r, x + r, y + r), colour)

    def polygon(self, corners: Sequence[Point], colour: Colour) -> None:
        """Draw a filled polygon."""
        self._draw.polygon([*map(self.at, corners)], colour)

    def box(self, low: Point, high: Point, colour: Colour) -> None:
        """Draw a filled rectangle."""
        self.polygon([low, (high[0], low[1]), high, (low[0], high[1])], colour)

    @property
    def picture(self) -> Picture:
        """What was drawn so far."""
        found: Picture = np.asarray(self._image, dtype=np.uint8)
        return found

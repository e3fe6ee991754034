"""What every limit of memory would cost: predicted time over bytes, as a table and a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT, MARGIN = 640.0, 320.0, 48.0


@dataclass(frozen=True, slots=True)
class LimitCost:
    """A limit in bytes, the peak of the plan that is made for it, its predicted time, and how."""

    limit: int
    peak_bytes: int
    predicted_ns: float
    ways: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryCurve:
    """What limits cost, the largest first; the last one is the least that a plan was found for.

    ``largest`` says which tensor takes most of that plan, and how many bytes.
    """

    points: tuple[LimitCost, ...] = ()
    largest: str = ""

    @property
    def least_bytes(self) -> int:
        """The least limit that is not refused."""
        return self.points[-1].peak_bytes if self.points else 0

    def table(self) -> str:
        """One line for each limit: peak, predicted time, this over that without a limit, ways."""
        if not self.points:
            return ""
        usual = self.points[0].predicted_ns
        lines = [
            f"{p.peak_bytes:>15,} bytes  {p.predicted_ns / 1e6:>10.4g} ms  "
            f"{p.predicted_ns / usual:>6.2f}  {_told(p.ways)}"
            for p in self.points
        ]
        return "\n".join([*lines, f"less is refused: {self.largest}"])

    def to_svg(self) -> str:
        """The times over the bytes, these on a logarithmic scale; empty without two points."""
        if len(self.points) < 2:
            return ""
        usual = self.points[0].predicted_ns
        low, high = math.log(self.least_bytes), math.log(self.points[0].peak_bytes)
        most = max(p.predicted_ns for p in self.points) / usual
        wide = (WIDTH - 2 * MARGIN) / max(high - low, 1e-9)
        tall = (HEIGHT - 2 * MARGIN) / most
        dots = [
            (
                MARGIN + (math.log(p.peak_bytes) - low) * wide,
                HEIGHT - MARGIN - p.predicted_ns / usual * tall,
                f"{p.peak_bytes:,} bytes: {p.predicted_ns / usual:.2f} times. {_told(p.ways)}",
            )
            for p in self.points
        ]
        base = HEIGHT - MARGIN
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in dots)
        out = [
            '<svg class="limits" xmlns="http://www.w3.org/2000/svg" role="img" '
            f'aria-label="time over memory" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}">',
            f'<path d="M{MARGIN} {MARGIN}V{base}H{WIDTH - MARGIN}" fill="none" stroke="#777"/>',
            f'<polyline points="{path}" fill="none" stroke="#3060b0"/>',
            *(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#3060b0">'
                f"<title>{escape(tip)}</title></circle>"
                for x, y, tip in dots
            ),
            f'<text x="{MARGIN}" y="{base + 18}">{self.least_bytes:,} bytes</text>',
            f'<text x="{WIDTH - MARGIN}" y="{base + 18}" text-anchor="end">'
            f"{self.points[0].peak_bytes:,} bytes</text>",
            f'<text x="{MARGIN}" y="{MARGIN - 10}">{most:.2f} times the usual time</text>',
            "</svg>",
        ]
        return "\n".join(out)


def _told(ways: tuple[str, ...]) -> str:
    if not ways:
        return "as without a limit"
    return ways[0] if len(ways) == 1 else f"{ways[0]}, and {len(ways) - 1} more"

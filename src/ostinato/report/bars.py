"""Where time went, as bars: one per operation, longest first."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ostinato.report.kernels import duration

WIDTH, ROW, LEFT, RIGHT = 760.0, 26.0, 150.0, 150.0
COLOURS = {
    "environment": "#4c9f70", "policy": "#3f78b5", "model": "#3f78b5", "returns": "#b58a3f",
    "gradient": "#8a5ab5", "optimizer": "#b5503f", "host": "#6b6b6b", "waiting": "#c8c8c8",
}  # fmt: skip
OTHER = "#7aa6a1"


def bars(rows: Sequence[tuple[str, float, float]], title: str) -> str:
    """Return the picture as SVG.

    ``rows`` are operations with their nanoseconds, and how many of these are measured; the rest,
    which a prediction divides among what one kernel serves, is lighter.
    """
    total = sum(ns for _, ns, _ in rows) or 1.0
    longest = max((ns for _, ns, _ in rows), default=0.0) or 1.0
    height = ROW * (len(rows) + 1) + 12
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height:.0f}" '
        f'width="{WIDTH:.0f}" height="{height:.0f}" role="img" font-family="sans-serif" '
        f'font-size="13"><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="8" y="19" font-weight="600">{escape(title)}</text>'
    ]
    for k, (name, ns, measured) in enumerate(rows):
        y = ROW * (k + 1) + 4
        scale = (WIDTH - LEFT - RIGHT) / longest
        colour = COLOURS.get(name, OTHER)
        tip = f"{name}: {duration(ns)}, {duration(measured)} of it measured"
        out.append(
            f"<g><title>{escape(tip)}</title>"
            f'<text x="{LEFT - 8:.0f}" y="{y + 15:.0f}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{LEFT:.0f}" y="{y:.0f}" width="{ns * scale:.1f}" height="{ROW - 6:.0f}" '
            f'fill="{colour}" opacity="0.45"/>'
            f'<rect x="{LEFT:.0f}" y="{y:.0f}" width="{measured * scale:.1f}" '
            f'height="{ROW - 6:.0f}" fill="{colour}"/>'
            f'<text x="{LEFT + ns * scale + 6:.1f}" y="{y + 15:.0f}">{duration(ns)} '
            f"({100 * ns / total:.1f} %)</text></g>"
        )
    return "\n".join([*out, "</svg>"]) + "\n"

"""The picture of a program as SVG, complete in itself."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape

from ostinato.report.drawing.layered import Drawing, Rect, draw
from ostinato.report.drawing.picture import FILLS, Arrow, Box, Picture

CHARACTER, LINE, MARGIN = 7.0, 15.0, 8.0  # of the type in which boxes are written
LONGEST = 44  # characters of a line
MOST_LINES = 6  # of a formula; the tooltip has all of it
STYLE = (
    "text{font:11px ui-monospace,Menlo,Consolas,monospace;white-space:pre}"
    ".title{font-weight:bold}.label{font-size:9px;fill:#666}"
    ".box{stroke:#888}.inside{stroke:#b08030;stroke-width:1.6}"
    ".arrow{fill:none;stroke:#777}.back{stroke:#b08030;stroke-dasharray:5 3}"
)


def svg(found: Picture, prefix: str = "") -> str:
    """Return the drawing: reads at other points are labelled, those that close a circle dashed.

    ``prefix`` begins the names of its elements, for several drawings in one page.
    """
    texts = {box.name: lines_of(box, found) for box in found.boxes}
    sizes = {name: _size(lines) for name, lines in texts.items()}
    drawing = draw(sizes, [(a.source, a.target) for a in found.arrows])
    inside = {name for members in found.clusters for name in members}
    width, height = drawing.width, drawing.height
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<style>{STYLE}</style>",
        f'<defs><marker id="{escape(prefix)}tip" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 1L7 4L0 7z" fill="#777"/></marker></defs>',
    ]
    out += [_arrow(a, drawing, prefix) for a in found.arrows if a.source != a.target]
    out += [
        _box(box, texts[box.name], drawing.rects[box.name], box.name in inside, prefix)
        for box in found.boxes
    ]
    return "\n".join([*out, "</svg>", ""])


def lines_of(box: Box, found: Picture) -> list[str]:
    """The title, the formula in short lines, and where the box reads itself."""
    own = [a for a in found.arrows if a.source == a.target == box.name]
    notes = [f"↺ {', '.join(a.labels)}" for a in own]
    body = [part for line in (*box.lines, *notes) for part in wrapped(line)]
    shown = body if len(body) <= MOST_LINES else [*body[: MOST_LINES - 1], "…"]
    return [*wrapped(box.title), *shown]


def wrapped(text: str) -> list[str]:
    """Text in lines that fit a box; words that are too long are cut."""
    return textwrap.wrap(text, LONGEST, subsequent_indent="  ", break_on_hyphens=False) or [""]


def _size(lines: Sequence[str]) -> tuple[float, float]:
    return max(map(len, lines)) * CHARACTER + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN - 3


def _box(box: Box, lines: Sequence[str], at: Rect, is_inside: bool, prefix: str) -> str:
    tip = "\n".join(filter(None, (box.place, box.title, *box.lines)))
    style = "inside" if is_inside else "box"
    out = [
        f'<g id="{escape(prefix + box.name)}"><title>{escape(tip)}</title>',
        f'<rect class="{style}" x="{at.x:.1f}" y="{at.y:.1f}" width="{at.width:.1f}" '
        f'height="{at.height:.1f}" rx="5" fill="{FILLS[box.kind]}"/>',
    ]
    for k, line in enumerate(lines):
        mark = ' class="title"' if k == 0 else ""
        y = at.y + MARGIN + 9 + k * LINE
        out.append(f'<text{mark} x="{at.x + MARGIN:.1f}" y="{y:.1f}">{escape(line)}</text>')
    return "".join([*out, "</g>"])


def _arrow(arrow: Arrow, drawing: Drawing, prefix: str) -> str:
    points = drawing.paths[arrow.source, arrow.target]
    is_back = points[0][1] > points[-1][1]
    style = "arrow back" if is_back else "arrow"
    path = f'<path class="{style}" d="{_curve(points)}" marker-end="url(#{escape(prefix)}tip)"/>'
    title = f"<title>{escape(f'{arrow.source} → {arrow.target}')}</title>"
    label = ", ".join(arrow.labels)
    if len(label) > LONGEST // 2:
        label = label[: LONGEST // 2] + "…"
    x, y = points[-1][0], points[-1][1] + (-9 if not is_back else 14)
    text = f'<text class="label" x="{x + 4:.1f}" y="{y:.1f}">{escape(label)}</text>'
    ends = f'data-from="{escape(arrow.source)}" data-to="{escape(arrow.target)}"'
    return f"<g {ends}>{title}{path}{text if label else ''}</g>"


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """A smooth line that leaves and arrives upright; straight where it passes a row."""
    (x, y), *rest = points
    out = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in rest:
        half = (y + to_y) / 2
        out.append(
            f"L{to_x:.1f} {to_y:.1f}"
            if abs(to_x - x) < 0.1
            else f"C{x:.1f} {half:.1f} {to_x:.1f} {half:.1f} {to_x:.1f} {to_y:.1f}"
        )
        x, y = to_x, to_y
    return "".join(out)

"""The arena over time: every stored tensor as a rectangle, phases to the right, bytes upwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT, MARGIN = 860.0, 360.0, 24.0
HUES = 11  # neighbours in the list of tensors get colours that are far apart


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor in the arena: where it starts, its bytes, and the first and last phase of use."""

    name: str
    offset: int
    size: int
    first: int
    last: int


def memory_chart(tensors: Sequence[Stored], total: int) -> str:
    """Return the chart as SVG; empty if nothing is stored."""
    if not tensors or not total:
        return ""
    phases = 1 + max(s.last for s in tensors)
    wide, high = (WIDTH - 2 * MARGIN) / phases, (HEIGHT - 2 * MARGIN) / total
    out = [
        f'<svg class="memory" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="memory over time" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}">',
    ]
    for k, s in enumerate(tensors):
        x, y = MARGIN + s.first * wide, HEIGHT - MARGIN - (s.offset + s.size) * high
        width, height = (s.last - s.first + 1) * wide, max(s.size * high, 0.5)
        tip = f"{s.name}: {s.size:,} bytes, phases {s.first} to {s.last}"
        out.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'fill="hsl({k * 360 * 4 // HUES % 360} 60% 70%)"><title>{escape(tip)}</title></rect>'
        )
        if height > 12 and width > 7 * len(s.name):
            out.append(f'<text x="{x + 4:.1f}" y="{y + 11:.1f}">{escape(s.name)}</text>')
    base = HEIGHT - MARGIN
    out.append(
        f'<path class="axis" d="M{MARGIN:.0f} {MARGIN:.0f}V{base:.0f}H{WIDTH - MARGIN:.0f}"/>'
        f'<text x="{MARGIN:.0f}" y="{MARGIN - 8:.0f}">{total:,} bytes</text>'
        f'<text x="{WIDTH - MARGIN:.0f}" y="{HEIGHT - 8:.0f}" text-anchor="end">'
        f"{phases} phase{'s' if phases > 1 else ''}</text></svg>"
    )
    return "\n".join(out)


def memory_table(tensors: Sequence[Stored]) -> str:
    """Return the tensors as rows, largest first."""
    rows = [
        f"<tr><td>{escape(s.name)}</td><td>{s.size:,}</td><td>{s.first} – {s.last}</td></tr>"
        for s in sorted(tensors, key=lambda s: (-s.size, s.name))
    ]
    head = "<tr><th>tensor</th><th>bytes</th><th>phases</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>"

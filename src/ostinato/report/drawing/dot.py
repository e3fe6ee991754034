"""The picture of a program as Graphviz text."""

from __future__ import annotations

from ostinato.report.drawing.picture import Box, Picture

FILLS = {
    "input": "#e8f0fe",
    "draw": "#f3e8fd",
    "recurrence": "#fff4e0",
    "value": "#ffffff",
    "output": "#e6f4ea",
}


def dot(found: Picture) -> str:
    """Return a digraph: clusters are recurrences, labels index maps, tooltips places."""
    numbers = {box.name: k for k, box in enumerate(found.boxes)}
    lines = [
        "digraph program {",
        '  graph [rankdir=TB, fontname="Helvetica", fontsize=10];',
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=10];',
        '  edge [fontname="Helvetica", fontsize=9, color="#555555"];',
    ]
    inside = {name for members in found.clusters for name in members}
    by_name = {box.name: box for box in found.boxes}
    for k, members in enumerate(found.clusters):
        lines.append(f"  subgraph cluster_{k} {{")
        lines.append(f"    label={quoted(', '.join(_carried(by_name, members)))};")
        lines.append('    style="rounded,dashed"; color="#b08030";')
        lines += [f"  {_node(by_name[name], numbers[name])}" for name in members]
        lines.append("  }")
    lines += [_node(box, numbers[box.name]) for box in found.boxes if box.name not in inside]
    for arrow in found.arrows:
        label = f" [label={quoted(chr(10).join(arrow.labels))}]" if arrow.labels else ""
        lines.append(f"  n{numbers[arrow.source]} -> n{numbers[arrow.target]}{label};")
    return "\n".join([*lines, "}", ""])


def _carried(boxes: dict[str, Box], members: tuple[str, ...]) -> list[str]:
    """The recurrent tensors of a cluster."""
    return [n for n in members if boxes[n].kind == "recurrence"] or list(members)[:1]


def _node(box: Box, number: int) -> str:
    text = "\n".join((box.title, *box.lines))
    return (
        f"  n{number} [label={quoted(text, left=True)}, tooltip={quoted(box.place or box.title)}, "
        f'fillcolor="{FILLS[box.kind]}"];'
    )


def quoted(text: str, left: bool = False) -> str:
    """A string of Graphviz; with ``left`` its lines are aligned at the left."""
    end = "\\l" if left else "\\n"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", end) + (end if left and "\n" in escaped else "") + '"'

"""A program as boxes and edges: one box per equation, one edge per value that it reads.

Chains of operators between named values are one box with its formula. Boxes that need each other
through their steps form a cluster: a recurrence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ostinato.pdg.index import Index, expr
from ostinato.pdg.node import Input, Node, Pdg, Random, Read, Rec
from ostinato.pdg.scc import components
from ostinato.report.drawing.expressions import operands
from ostinato.report.drawing.mathematics import Formulas
from ostinato.report.drawing.points import At, composed, kind_of, point_of, where


@dataclass(frozen=True, slots=True)
class Box:
    """An input, a recurrent tensor, or a value with a name; ``lines`` say what it is.

    ``nodes`` are the operators of its formula, which no other box shows.
    """

    name: str
    title: str
    lines: tuple[str, ...]
    place: str
    kind: str  # "input" | "draw" | "recurrence" | "value" | "output"
    nodes: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Arrow:
    """``target`` reads ``source``; ``labels`` are the index maps, none for the same point."""

    source: str
    target: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """Boxes in reading order, arrows, and the clusters of boxes that need each other."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    clusters: tuple[tuple[str, ...], ...]


def picture(pdg: Pdg) -> Picture:
    """Return the boxes and arrows of a program."""
    formulas = Formulas(pdg)
    boxes = {box.name: box for box in _boxes(formulas)}
    labels: dict[tuple[str, str], dict[str, None]] = {}
    inside: dict[str, dict[Node, None]] = {name: {} for name in boxes}
    for name, node in _roots(formulas):
        for source, label in _reads(formulas, node, inside[name]):
            if source in boxes:
                labels.setdefault((source, name), {})[label] = None
    arrows = tuple(
        Arrow(a, b, tuple(label for label in found if label)) for (a, b), found in labels.items()
    )
    ordered = tuple(replace(box, nodes=tuple(inside[name])) for name, box in boxes.items())
    return Picture(ordered, arrows, _clusters([b.name for b in ordered], arrows))


def _boxes(formulas: Formulas) -> Iterator[Box]:
    results = {node: name for name, node in formulas.pdg.results}
    for node in formulas.nodes:
        if isinstance(node.op, Input):
            title = f"{node.op.name}{point_of(node)} {kind_of(node)}".strip()
            yield Box(node.op.name, title, (), node.where, "input")
    for name in formulas.recurrences():
        found = formulas.recurrence(name)
        equation = formulas.pdg.equations[name]
        texts = tuple(text for line in found for text in line.texts())
        kind = "output" if equation.rec in results else "recurrence"
        title = f"{name}{point_of(equation.rec)} {kind_of(equation.rec)}".strip()
        place = next(filter(None, equation.where), equation.rec.where)
        yield Box(name, title, texts, place, kind)
    for node, name in formulas.names.items():
        line, *others = formulas.value_lines(node)
        kind = "output" if node in results else "value"
        kind = "draw" if isinstance(node.op, Random) else kind
        title = f"{line.left} {line.kind}".strip()
        texts = (line.cases[0][0], *(text for other in others for text in other.texts()))
        yield Box(name, title, texts, node.where, kind)


def _roots(formulas: Formulas) -> Iterator[tuple[str, Node]]:
    """Every box with a value that it is made of."""
    for name in formulas.recurrences():
        equation = formulas.pdg.equations[name]
        for _, right in equation.cases:
            yield name, right
    for node, name in formulas.names.items():
        yield name, node


def _reads(formulas: Formulas, root: Node, inside: dict[Node, None]) -> Iterator[tuple[str, str]]:
    """The boxes that a value reads, each with its index map where it leaves the point.

    The operators on the way are entered in ``inside``.
    """
    is_box = root in formulas.names and not isinstance(root.op, Rec | Input)
    todo: list[tuple[Node, At]] = [(root, {})]
    seen: set[tuple[Node, tuple[tuple[object, Index], ...]]] = set()
    while todo:
        node, at = todo.pop()
        key = (node, tuple(at.items()))
        if key in seen:
            continue
        seen.add(key)
        leaf = isinstance(node.op, Rec | Input)
        if leaf or (node in formulas.names and not (is_box and node == root)):
            yield formulas.reference(node, {}), _label(node, at)
            continue
        inside[node] = None
        if isinstance(node.op, Read):
            todo.append((node.args[0], composed(node.op.at, node.args[0], at)))
        else:
            todo += [(a, {d: i for d, i in at.items() if d in a.domain}) for a in operands(node)]


def _label(node: Node, at: At) -> str:
    parts = [where(d, at[d]) for d in node.domain if d in at and at[d] != expr(d)]
    return f"[{', '.join(parts)}]" if parts else ""


def _clusters(names: list[str], arrows: tuple[Arrow, ...]) -> tuple[tuple[str, ...], ...]:
    """Boxes on a common circle, in reading order."""
    onward: dict[str, set[str]] = {name: set() for name in names}
    for arrow in arrows:
        onward[arrow.source].add(arrow.target)
    found = (c for c in components(names, onward) if len(c) > 1 or c[0] in onward[c[0]])
    return tuple(map(tuple, sorted(found, key=lambda circle: names.index(circle[0]))))


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

"""A program's picture for a page: the drawing, and what a click on a box shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ostinato.pdg.node import Node, Pdg
from ostinato.report.drawing.picture import Box, picture
from ostinato.report.drawing.svg import svg


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known of an operator: the rules that made it, and its predicted nanoseconds."""

    rules: tuple[str, ...] = ()
    nanoseconds: float | None = None


@dataclass(frozen=True, slots=True)
class Details:
    """What a click on a box shows; ``places`` are pairs of a place and its text.

    ``rules`` counts the operators that each rule made; ``nanoseconds`` is None if nobody knows.
    """

    title: str
    lines: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    operators: int = 0
    rules: Mapping[str, int] = field(default_factory=dict[str, int])
    nanoseconds: float | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """A drawing as SVG, and the details of its boxes by the name of their element."""

    title: str
    drawing: str
    details: Mapping[str, Details] = field(default_factory=dict[str, Details])


def graph(
    title: str, prefix: str, pdg: Pdg, facts: Mapping[Node, Fact], line: Callable[[str], str]
) -> Graph:
    """Return the picture of a program, whose boxes are elements ``PREFIX-NAME``.

    ``line`` gives the text of a place such as ``"a.py:3"``.
    """
    found = picture(pdg)
    details = {f"{prefix}-{box.name}": _details(box, facts, line) for box in found.boxes}
    return Graph(title, svg(found, f"{prefix}-"), details)


def _details(box: Box, facts: Mapping[Node, Fact], line: Callable[[str], str]) -> Details:
    known = [facts[node] for node in box.nodes if node in facts]
    counts = Counter(rule for fact in known for rule in fact.rules)
    costs = [fact.nanoseconds for fact in known if fact.nanoseconds is not None]
    places = dict.fromkeys(filter(None, (box.place, *(node.where for node in box.nodes))))
    return Details(
        box.title,
        box.lines,
        tuple((place, line(place)) for place in places),
        len(box.nodes),
        dict(sorted(counts.items(), key=lambda rule: (-rule[1], rule[0]))),
        sum(costs) if costs else None,
    )

"""One page that needs no other file and no network: text, drawings, and a little script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from importlib import resources

from ostinato.report.graph import Graph
from ostinato.report.kernels import KernelRecord, kernels_table
from ostinato.report.memory_curve import MemoryCurve
from ostinato.report.memory_map import Stored, memory_chart, memory_table


@dataclass(frozen=True)
class Page:
    """What a page shows; empty parts are left out.

    - ``summary``: figures by what they are; ``notes``: what the compiler could not do;
    - ``graphs``: the program at several stages; ``rules``: name -> times fired;
    - ``kernels``: the loop IR of each function, as text;
    - ``records``: what the kernels serve, do and take;
    - ``stored``: the arena, with its ``total_bytes``; ``curve``: what limits of it cost.
    """

    title: str
    summary: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: Sequence[str] = ()
    equations: str = ""
    graphs: Sequence[Graph] = ()
    rules: Mapping[str, int] = field(default_factory=dict[str, int])
    schedule: str = ""
    kernels: Sequence[str] = ()
    records: Sequence[KernelRecord] = ()
    stored: Sequence[Stored] = ()
    total_bytes: int = 0
    curve: MemoryCurve = MemoryCurve()
    cost: Mapping[str, str] = field(default_factory=dict[str, str])
    source: str = ""


def page(made: Page) -> str:
    """Return the page as HTML."""
    parts = {
        "Notes": _items(made.notes),
        "Equations": _text(made.equations),
        "Graph": _graphs(made.graphs),
        "Rules": _rules(made.rules),
        "Schedule": _text(made.schedule),
        "Time": kernels_table(made.records),
        "Kernels": "".join(map(_kernel, made.kernels)),
        "Memory": _memory(made.stored, made.total_bytes),
        "Limits": made.curve.to_svg() + _text(made.curve.table()),
        "Cost": _pairs(made.cost),
        "Source": _text(made.source),
    }
    shown = {name: body for name, body in parts.items() if body}
    links = "".join(f'<a href="#{name.lower()}">{name}</a>' for name in shown)
    sections = "\n".join(
        f'<details id="{name.lower()}"{"" if name == "Source" else " open"}>'
        f"<summary><h2>{name}</h2></summary>\n{body}</details>"
        for name, body in shown.items()
    )
    details = {name: asdict(each) for g in made.graphs for name, each in g.details.items()}
    data = json.dumps(details).replace("<", "\\u003c")  # no text of a user ends the script
    title = escape(made.title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{title}</title>\n<style>\n{_file('page.css')}</style>\n</head>\n<body>\n"
        f"<header><h1>{title}</h1>{_summary(made.summary)}<nav>{links}</nav></header>\n"
        f"<main>\n{sections}\n</main>\n"
        f'<script type="application/json" id="details">{data}</script>\n'
        f"<script>\n{_file('page.js')}</script>\n</body>\n</html>\n"
    )


def _file(name: str) -> str:
    return resources.files("ostinato.report").joinpath(name).read_text(encoding="utf-8")


def _text(text: str) -> str:
    return f"<pre>{escape(text)}</pre>" if text else ""


def _items(texts: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(t)}</li>' for t in texts)}</ul>" if texts else ""


def _summary(found: Mapping[str, str]) -> str:
    cells = "".join(
        f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in found.items()
    )
    return f"<dl>{cells}</dl>" if found else ""


def _pairs(found: Mapping[str, str]) -> str:
    rows = "".join(f"<tr><td>{escape(k)}</td><td>{escape(v)}</td></tr>" for k, v in found.items())
    return f"<table>{rows}</table>" if found else ""


def _rules(counts: Mapping[str, int]) -> str:
    fired = sorted(((n, c) for n, c in counts.items() if c), key=lambda r: (-r[1], r[0]))
    rows = "".join(f"<tr><td>{escape(n)}</td><td>{c}</td></tr>" for n, c in fired)
    head = "<tr><th>rule</th><th>times fired</th></tr>"
    return f"<table>{head}{rows}</table>" if fired else ""


def _kernel(source: str) -> str:
    lines = source.splitlines()
    title = next((x for x in lines if x.startswith("def ")), lines[0])
    return f"<details><summary>{escape(title)}</summary><pre>{escape(source)}</pre></details>"


def _memory(stored: Sequence[Stored], total: int) -> str:
    chart = memory_chart(stored, total)
    table = f"<details><summary>Every tensor</summary>{memory_table(stored)}</details>"
    return chart + table if chart else ""


def _graphs(graphs: Sequence[Graph]) -> str:
    if not graphs:
        return ""
    tabs = "".join(
        f'<button type="button" role="tab" data-tab="{k}" aria-selected="{str(not k).lower()}">'
        f"{escape(g.title)}</button>"
        for k, g in enumerate(graphs)
    )
    panes = "".join(
        f'<div class="pane" role="tabpanel" data-pane="{k}"{" hidden" if k else ""}>'
        f"{g.drawing}</div>"
        for k, g in enumerate(graphs)
    )
    return (
        f'<div role="tablist">{tabs}<span class="hint">drag to move, wheel to zoom, '
        "double click to fit, click a box for its source, rules and cost</span></div>"
        f'<div class="graph"><div class="panes">{panes}</div>'
        '<aside id="about" aria-live="polite">Click a box.</aside></div>'
    )

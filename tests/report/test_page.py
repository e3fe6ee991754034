"""The page of a compilation: complete in itself, and every text of a user is only text."""

import json
import re
from xml.etree import ElementTree

import ostinato as ot
from ostinato.pdg.node import Node, Pdg
from ostinato.provenance.place import line_at
from ostinato.report.graph import Details, Fact, Graph, graph
from ostinato.report.memory_map import HEIGHT, MARGIN, Stored, memory_chart, memory_table
from ostinato.report.page import Page, page

STORED = (Stored("theta", 0, 64, 0, 1), Stored("x", 64, 128, 0, 0), Stored("y", 64, 64, 1, 1))


def program() -> Pdg:
    t = ot.dims("t")
    x, s = ot.input("x", over=t), ot.recurrent("s", over=t)
    s[0] = 0.0
    s[t + 1] = ot.tanh(s) + x[t + 1]
    return ot.Program(s=s).pdg


def drawn(facts: dict[Node, Fact] | None = None) -> Graph:
    return graph("as written", "before", program(), facts or {}, line_at)


def details(html: str) -> dict[str, dict[str, object]]:
    found = re.search(r'<script type="application/json" id="details">(.*?)</script>', html)
    assert found is not None
    return dict(json.loads(found[1]))


def test_a_box_tells_its_formula_and_its_line_of_the_program() -> None:
    found = drawn().details["before-s"]
    assert found.lines == ("s[0] = 0", "s[t+1] = tanh(s) + x[t+1]")
    assert [text for _, text in found.places] == ["s[0] = 0.0", "s[t + 1] = ot.tanh(s) + x[t + 1]"]


def test_a_box_adds_up_the_rules_and_the_cost_of_its_operators() -> None:
    pdg = program()
    facts = {n: Fact(("vectorize/map2",), 2.0) for n in pdg.nodes() if str(n.op).find("add") > 0}
    found = graph("as compiled", "after", pdg, facts, line_at).details["after-s"]
    assert found.rules == {"vectorize/map2": 1}
    assert found.nanoseconds == 2.0


def test_every_detail_belongs_to_a_box_of_its_drawing() -> None:
    made = drawn()
    boxes = {g.get("id") for g in ElementTree.fromstring(made.drawing).iter() if g.get("id")}
    assert {"before-x", "before-s"} <= made.details.keys() <= boxes


def test_parts_without_content_are_left_out() -> None:
    html = page(Page("nothing"))
    assert "<details id=" not in html
    assert 'id="schedule"' in page(Page("something", schedule="for t"))


def test_no_text_of_a_user_is_markup() -> None:
    evil = "</script><script>alert(1)</script>"
    made = Graph("<b>", "<svg></svg>", {"before-x": Details(evil)})
    html = page(Page(evil, notes=[evil], equations=evil, graphs=[made], kernels=[evil]))
    assert html.count("<script") == 2
    assert details(html)["before-x"]["title"] == evil


def test_a_page_needs_nothing_else() -> None:
    html = page(Page("page", graphs=[drawn()], stored=STORED, total_bytes=192, source="x"))
    assert not re.findall(r'(?:src|href)="(?!#|data:)', html)
    assert "url(http" not in html and "@import" not in html


def test_memory_over_time_is_to_scale() -> None:
    svg = ElementTree.fromstring(memory_chart(STORED, 192))
    rects = [r for r in svg if r.tag.endswith("rect")]
    high = (HEIGHT - 2 * MARGIN) / 192
    assert [float(r.get("height", 0)) for r in rects] == [round(s.size * high, 1) for s in STORED]
    assert rects[1].get("x") == rects[0].get("x")
    assert float(rects[2].get("x", 0)) > float(rects[1].get("x", 0))


def test_tensors_are_listed_by_size() -> None:
    names = re.findall(r"<tr><td>(\w+)</td>", memory_table(STORED))
    assert names == ["x", "theta", "y"]


def test_a_line_of_an_unknown_file_has_no_text() -> None:
    assert line_at("nowhere.py:3") == ""

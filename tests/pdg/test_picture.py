"""Pictures of programs: boxes, arrows and clusters, as Graphviz text and as SVG."""

import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import ostinato as ot
from ostinato.report.drawing.layered import draw, forward, longest_paths
from ostinato.report.drawing.picture import Picture, picture

SVG = "{http://www.w3.org/2000/svg}"


def walk() -> ot.Program:
    b, t = ot.dims("b t")
    x, s = ot.input("x", over=(b, t)), ot.recurrent("s", over=(b, t))
    bent = ot.tanh(2.0 * s + x).named("bent")
    s[b, 0] = 0.0
    s[b, t + 1] = bent + x[b, t + 1]
    return ot.Program(total=s[b, :].sum(0), far=ot.exp(bent[b, -1]))


def wide() -> ot.Program:
    """A hundred values that read several earlier ones."""
    t = ot.dims("t")
    values = [ot.input("x", over=t)]
    for k in range(100):
        near, far = values[-1], values[k // 3]
        values.append((ot.sin(near) + far[ot.maximum(t - 1, 0)]).named(f"value_{k}"))
    return ot.Program(last=values[-1])


def arrows(found: Picture) -> dict[tuple[str, str], tuple[str, ...]]:
    return {(a.source, a.target): a.labels for a in found.arrows}


def test_every_equation_is_a_box_with_its_formula() -> None:
    boxes = {box.name: box for box in picture(walk().pdg).boxes}
    assert list(boxes) == ["x", "s", "total", "far", "bent"]
    assert boxes["bent"].lines == ("= tanh(2·s + x)",)
    assert boxes["s"].lines == ("s[b, 0] = 0", "s[b, t+1] = bent + x[t+1]")
    assert [box.kind for box in boxes.values()] == [
        "input", "recurrence", "output", "output", "value",
    ]  # fmt: skip


def test_arrows_say_where_a_value_is_read() -> None:
    found = arrows(picture(walk().pdg))
    assert found == {
        ("bent", "s"): ("[t-1]",),
        ("x", "s"): (),
        ("s", "total"): ("[t=:]",),
        ("bent", "far"): ("[T-1]",),
        ("s", "bent"): (),
        ("x", "bent"): (),
    }


def test_values_that_need_each_other_are_a_cluster() -> None:
    assert picture(walk().pdg).clusters == (("s", "bent"),)


def test_graphviz_text_has_every_box_arrow_and_cluster() -> None:
    text, found = walk().dot(), picture(walk().pdg)
    nodes = re.findall(r'^ +(n\d+) \[label="(\w+)', text, re.MULTILINE)
    edges = re.findall(r"^  (n\d+) -> (n\d+)", text, re.MULTILINE)
    names = dict(nodes)
    assert sorted(names.values()) == sorted(box.name for box in found.boxes)
    assert {(names[a], names[b]) for a, b in edges} == arrows(found).keys()
    assert text.count("subgraph cluster_") == 1 and text.count("{") == text.count("}")
    assert 'tooltip="test_picture.py:' in text and '[label="[t-1]"]' in text


def test_svg_has_every_box_and_arrow() -> None:
    root, found = ElementTree.fromstring(walk().to_svg()), picture(walk().pdg)
    groups = list(root.iter(f"{SVG}g"))
    assert [g.get("id") for g in groups if g.get("id")] == [box.name for box in found.boxes]
    ends = {(g.get("data-from"), g.get("data-to")) for g in groups if g.get("data-from")}
    assert ends == {(a.source, a.target) for a in found.arrows}
    tips = [title.text or "" for title in root.iter(f"{SVG}title")]
    assert any("test_picture.py:" in tip and "= tanh(2·s + x)" in tip for tip in tips)


def test_boxes_of_a_large_program_do_not_overlap_and_stay_inside() -> None:
    root = ElementTree.fromstring(wide().to_svg())
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    rects = [[float(r.get(k, 0)) for k in ("x", "y", "width", "height")]
             for r in root.iter(f"{SVG}rect")]  # fmt: skip
    assert len(rects) == 101
    for x, y, w, h in rects:
        assert x >= 0 and y >= 0 and x + w <= width + 1 and y + h <= height + 1
    for (x, y, w, h), (u, v, a, c) in combinations(rects, 2):
        assert x + w <= u or u + a <= x or y + h <= v or v + c <= y


def test_arrows_pass_no_box() -> None:
    names = [f"n{k}" for k in range(12)]
    pairs = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :: 3]]
    drawing = draw(dict.fromkeys(names, (60.0, 20.0)), pairs)
    for pair, points in drawing.paths.items():
        for x, y in points[1:-1]:
            others = (r for n, r in drawing.rects.items() if n not in pair)
            inside = [r for r in others if r.x < x < r.x + r.width and r.y < y < r.y + r.height]
            assert not inside, pair


def test_an_arrow_that_closes_a_circle_is_turned() -> None:
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "c")]
    down = forward(["a", "b", "c"], pairs)
    assert down == {("a", "b"): ("a", "b"), ("b", "c"): ("b", "c"), ("c", "a"): ("a", "c")}
    assert longest_paths(["a", "b", "c"], down.values()) == {"a": 0, "b": 1, "c": 2}


def test_the_same_program_gives_the_same_drawing(tmp_path: Path) -> None:
    path = tmp_path / "walk.svg"
    assert walk().to_svg(path) == walk().to_svg() == path.read_text(encoding="utf-8")
    assert walk().dot() == walk().dot()

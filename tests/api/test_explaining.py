"""What a compiled program tells about itself: its page, and its memory over time."""

import json
import re
from pathlib import Path

import ostinato as ot
from ostinato.compiler.compiled import Compiled


def returns() -> Compiled:
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    gain = ot.discounted_sum(x[b, t:], 0.5).named("gain")
    return ot.Program(mean=gain[:, :].mean()).compile()


def test_the_page_shows_the_program_before_and_after(tmp_path: Path) -> None:
    returns().explain(B=2, T=3).to_html(tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text()
    for part in ('id="written-gain"', 'id="compiled-mean"', 'id="memory"', "gain[b, t]"):
        assert part in html


def test_a_box_of_the_page_tells_line_rules_and_cost(tmp_path: Path) -> None:
    returns().explain(B=2, T=3).to_html(tmp_path / "page.html")
    found = re.search(r'id="details">(.*?)</script>', (tmp_path / "page.html").read_text())
    assert found is not None
    details = json.loads(found[1])
    boxes = [box for name, box in details.items() if name.startswith("compiled-")]
    assert any("vectorize/lin" in box["rules"] for box in boxes)
    assert sum(box["nanoseconds"] or 0 for box in boxes) > 0
    lines = [text for box in boxes for _, text in box["places"]]
    assert any(text.startswith("gain = ot.discounted_sum(") for text in lines)


def test_prices_are_shares_of_the_prediction(tmp_path: Path) -> None:
    explanation = returns().explain(B=2, T=3)
    explanation.to_html(tmp_path / "page.html")
    found = re.search(r'id="details">(.*?)</script>', (tmp_path / "page.html").read_text())
    assert found is not None
    total = sum(box["nanoseconds"] or 0 for box in json.loads(found[1]).values())
    assert 0 < total <= explanation.cost["predicted_ns"]


def test_memory_over_time_fills_the_arena_and_never_overlaps() -> None:
    memory = returns().explain(B=64, T=100).memory
    assert max(s.offset + s.size for s in memory.tensors) == memory.predicted_peak_bytes
    for a in memory.tensors:
        for b in memory.tensors:
            together = a is not b and a.first <= b.last and b.first <= a.last
            assert not together or a.offset + a.size <= b.offset or b.offset + b.size <= a.offset

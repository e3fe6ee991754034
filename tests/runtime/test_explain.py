"""The explanation prints, and makes one page."""

from __future__ import annotations

from pathlib import Path

from ostinato.runtime.run.explanation import Explanation, MemoryUse

EXAMPLE = Explanation(
    rules={"map/vec": 12, "sum/linear": 3},
    kernels=("def k0():\n    a < b",),
    schedule="parallel b_o",
    source="def k0():\n    a < b\n",
    memory=MemoryUse(4096, 2048, {"B": 64}),
    cost={"rewrite_s": 0.25},
)


def test_every_section_is_printed() -> None:
    text = str(EXAMPLE)
    for part in ("12  map/vec", "parallel b_o", "peak 4,096 bytes", "B=64", "rewrite_s 0.25"):
        assert part in text


def test_the_page_needs_no_other_file_and_escapes_code(tmp_path: Path) -> None:
    EXAMPLE.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "a &lt; b" in page
    assert "src=" not in page

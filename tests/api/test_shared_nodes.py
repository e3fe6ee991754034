"""Programs that share equal nodes keep their own places and names."""

import gc
from inspect import currentframe
from pathlib import Path

import ostinato as ot

t = ot.dims("t")


def line() -> int:
    """The line that calls."""
    frame = currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def first() -> tuple[ot.Program, int]:
    twice = (2.0 * ot.input("x", over=t)).named("twice")
    return ot.Program(y=twice + 1.0), line() - 1


def second() -> tuple[ot.Program, int]:
    double = (2.0 * ot.input("x", over=t)).named("doubled_x")
    return ot.Program(y=double + 1.0), line() - 1


def test_a_program_names_its_own_lines_and_values() -> None:
    (one, written_1), (two, written_2) = first(), second()
    for program, written, name in ((one, written_1, "twice"), (two, written_2, "doubled_x")):
        assert f"test_shared_nodes.py:{written}" in str(program)
        assert name in str(program)
    assert "doubled_x" not in str(one) and "twice" not in str(two)


def test_an_earlier_program_is_compiled_with_its_own_places(tmp_path: Path) -> None:
    (one, written), _ = first(), second()
    page = tmp_path / "page.html"
    one.compile(threads=1).explain(T=8).to_html(page)
    text = page.read_text(encoding="utf-8")
    assert f"test_shared_nodes.py:{written}" in text
    assert "doubled_x" not in text


def test_a_program_that_is_gone_leaves_no_places() -> None:
    first()
    gc.collect()
    two, written = second()
    assert f"test_shared_nodes.py:{written}" in str(two)

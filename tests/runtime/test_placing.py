"""Layouts are kept beside the program, and what nobody asks for is not loaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import ostinato as ot
from ostinato.runtime.machine_code.arena_layout import Layout
from ostinato.runtime.run import extent_choices
from ostinato.runtime.run.extent_choices import Placing

LAYOUT = Layout({"x": 0, "y": 64}, 128, 4096, 2048, (("x", 0, 64, 0, 1),), 4096)


class Counted:
    """Finds the same layout each time."""

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, int], int]] = []

    def __call__(self, extents: Mapping[str, int], workers: int) -> Layout:
        self.asked.append((dict(extents), workers))
        return LAYOUT


def test_a_layout_is_found_once_for_extents_and_workers(tmp_path: Path) -> None:
    place = Counted()
    for _ in range(2):  # two processes
        for n, workers in ((3, 1), (3, 2), (4, 1)):
            assert Placing(place, tmp_path, "key").layout({"n": n}, workers) == LAYOUT
    assert place.asked == [({"n": 3}, 1), ({"n": 3}, 2), ({"n": 4}, 1)]


def test_a_damaged_file_is_made_again(tmp_path: Path) -> None:
    place = Counted()
    Placing(place, tmp_path, "key").layout({}, 1)
    path = tmp_path / extent_choices.LAYOUTS
    path.write_bytes(path.read_bytes().replace(b"4096", b"1024"))
    with pytest.warns(UserWarning, match="its digest is wrong.: made again"):
        assert Placing(place, tmp_path, "key").layout({}, 1).total_bytes == 4096
    assert len(place.asked) == 2


def test_no_more_layouts_are_kept_than_a_start_can_read(tmp_path: Path) -> None:
    for n in range(extent_choices.MOST + 3):
        Placing(Counted(), tmp_path, "key").layout({"n": n}, 1)
    place = Counted()
    for n in range(extent_choices.MOST + 3):
        Placing(place, tmp_path, "key").layout({"n": n}, 1)
    assert [extents["n"] for extents, _ in place.asked] == [8, 9, 10]


def test_a_program_that_is_run_as_before_loads_no_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_CACHE_DIR", str(tmp_path))
    t = ot.dims("t")
    program = ot.Program(y=ot.input("x", over=t) + 1.0)
    x = [1.0, 2.0]
    program.compile()(x=x)
    again, other = program.compile(), program.compile()

    def refuse(_: bytes) -> None:
        raise AssertionError("the plan is loaded")

    with monkeypatch.context() as patched:
        patched.setattr("pickle.loads", refuse)
        assert again(x=x)["y"].tolist() == [2.0, 3.0]
        with pytest.raises(AssertionError, match="the plan is loaded"):
            other(x=[1.0] * 100)
    assert other(x=[1.0] * 100)["y"].tolist() == [2.0] * 100

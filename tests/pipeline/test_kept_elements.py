"""An update in place visits the elements that it may change, and no others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato.compiler.compiled import Compiled

SIZE, STEPS = 4096, 9
t = ot.dims("t")
chosen = ot.input("chosen", dtype="int32", over=t)
x = ot.input("x", over=t)
entry = ot.arange(SIZE)

# a test of the entries that change, and the range of the loop over them
ONE = "range(max(i64(chosen_1), 0), min(i64(chosen_1) + i64(1), 4096))"
CASES: dict[str, tuple[Callable[[], ot.Tensor], str]] = {
    "one": (lambda: entry == chosen, ONE),
    "one, the other way round": (lambda: chosen == entry, ONE),
    "all but others": (lambda: ~(entry != chosen), ONE),
    "below": (lambda: entry < chosen, "range(0, min(i64(chosen_1), 4096))"),
    "not above": (lambda: entry <= chosen, "range(0, min(i64(chosen_1) + i64(1), 4096))"),
    "above": (lambda: entry > chosen, "range(max(i64(chosen_1) + i64(1), 0), 4096)"),
    "not below": (lambda: ~(entry < chosen), "range(max(i64(chosen_1), 0), 4096)"),
    "one of the step": (lambda: entry == t, "range(max(i64(t), 0), min(i64(t + 1), 4096))"),
    "so far": (lambda: entry <= t, "range(0, min(i64(t + 1), 4096))"),
    "one where a value asks": (lambda: (x > 0.0) & (entry == t), "range(max(i64(t), 0), "),
    "one of two tests": (lambda: (entry == chosen) & (entry == t), "range(max(i64(t), "),
}


def table(changes: ot.Tensor, size: int = SIZE) -> ot.Program:
    """A table of which some entries take a new value at every step."""
    r = ot.recurrent("r", (size,), over=t)
    r[0] = ot.arange(size).cast("float32")
    seen = r.take(chosen, axis=0)
    r[t + 1] = ot.where(changes, 0.5 * r + x, r)
    return ot.Program(seen=seen)


def arguments(seed: int = 0) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    places = rng.integers(-3, SIZE + 3, STEPS).astype(np.int32)
    places[:4] = 0, SIZE - 1, -1, SIZE
    return {"chosen": places, "x": rng.normal(size=STEPS).astype(np.float32)}


def assert_means(program: ot.Program, compiled: Compiled, seed: int = 0) -> None:
    given = arguments(seed)
    expected, found = program.interpret(**given), compiled(**given)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def loops(compiled: Compiled) -> list[str]:
    """The loops over axes, those of the update last."""
    source = compiled.executable.artifact.source
    return [line.strip() for line in source.splitlines() if line.strip().startswith("for a")]


@pytest.mark.parametrize("name", CASES)
def test_a_loop_visits_the_elements_for_which_a_test_may_hold(name: str) -> None:
    changes, visited = CASES[name]
    program = table(changes())
    compiled = program.compile(exact=True)
    assert loops(compiled)[-1].startswith(f"for a0 in {visited}")
    for seed in range(3):
        assert_means(program, compiled, seed)


def test_without_the_pass_all_elements_are_visited_and_the_results_are_the_same() -> None:
    program = table(entry == chosen)
    compiled = program.compile(exact=True, without=["kept elements"])
    assert loops(compiled)[-1] == f"for a0 in range({SIZE}):"
    assert_means(program, compiled)


@pytest.mark.parametrize("changes", [entry != chosen, (entry == chosen) | (entry == t)])
def test_a_test_that_bounds_nothing_visits_all(changes: ot.Tensor) -> None:
    program = table(changes)
    compiled = program.compile(exact=True)
    assert loops(compiled)[-1] == f"for a0 in range({SIZE}):"
    assert_means(program, compiled)


def test_a_condition_that_only_some_steps_meet_is_asked_before_the_loop() -> None:
    program = table((x > 0.0) & (entry != chosen))
    compiled = program.compile(exact=True)
    source = compiled.executable.artifact.source
    assert "        if gt_:\n            for a0 in range(4096):" in source
    assert_means(program, compiled)


def cells(rows: int, columns: int) -> ot.Program:
    """What cells hold and how often they were chosen: one mask for both."""
    row, column = chosen % rows, (chosen * 5) % columns
    value = ot.recurrent("value", (rows, columns), over=t)
    count = ot.recurrent("count", (rows, columns), dtype="int32", over=t)
    value[0], count[0] = ot.zeros((rows, columns)), ot.zeros((rows, columns), "int32")
    seen = value.take(row, axis=0).take(column, axis=0)
    here = (ot.arange(rows)[..., None] == row) & (ot.arange(columns) == column)
    value[t + 1] = ot.where(here, value + 0.5 * (x - seen), value)
    count[t + 1] = ot.where(here, count + 1, count)
    often = count.take(row, axis=0).take(column, axis=0)
    return ot.Program(seen=seen, often=often)


@pytest.mark.parametrize("sizes", [(100, 200), (1, 70), (60, 1), (3, 4)])
def test_a_cell_of_two_tables_is_visited_in_one_loop(sizes: tuple[int, int]) -> None:
    program = cells(*sizes)
    compiled = program.compile(exact=True)
    assert_means(program, compiled)
    if min(sizes) > 8:  # the smaller ones keep all steps for a later loop
        last = loops(compiled)[-2:]
        assert all("max(i64(" in line and "min(i64(" in line for line in last)
        assert "in value, few along a0 and a1 " in compiled.executable.artifact.source


def test_tables_that_change_elsewhere_have_loops_of_their_own() -> None:
    first, second = (ot.recurrent(name, (SIZE,), over=t) for name in ("first", "second"))
    first[0] = second[0] = ot.zeros(SIZE)
    a, b = first.take(chosen, axis=0), second.take(chosen, axis=0)
    first[t + 1] = ot.where(entry == chosen, a + x, first)
    second[t + 1] = ot.where(entry == t, b - x, second)
    program = ot.Program(a=a, b=b)
    compiled = program.compile(exact=True)
    assert_means(program, compiled)
    assert all("max(i64(" in line for line in loops(compiled)[-2:])


def test_a_table_without_entries_is_not_asked_where_it_changes() -> None:
    """A position that is read from an array that may be empty is read if some entry is visited."""
    e = ot.dims("e")
    at = ot.input("at", dtype="int32", over=(t, e))
    size = e.size - 1
    r = ot.recurrent("r", (size,), over=t)
    r[0] = ot.zeros(size)
    r[t + 1] = ot.where(ot.arange(size) < at[t, 1:][0], r + x, r)
    program = ot.Program(total=r.sum())
    compiled = program.compile(exact=True, checks=["addresses"])
    for entries in (1, 2, 50):
        ends = np.full((STEPS, entries), entries // 2, np.int32)
        given = {"at": ends, "x": np.ones(STEPS, np.float32)}
        expected, found = program.interpret(**given), compiled(**given)
        np.testing.assert_array_equal(found["total"], expected["total"])


def test_what_is_left_at_the_end_is_updated_in_place(tmp_path: Path) -> None:
    """The update after the last step, which nobody asks for, is left out."""
    r = ot.recurrent("r", (SIZE,), over=t)
    r[0] = ot.zeros(SIZE)
    seen = r.take(chosen, axis=0)
    r[t + 1] = ot.where(entry == chosen, seen + x, r)
    program = ot.Program(seen=seen, last=r.at(t=t.size - 1))
    compiled = program.compile(exact=True, certificate=tmp_path / "table.json")
    source = compiled.executable.artifact.source
    assert "        if T >= t + 2:\n" in source and "pass  # it is in place" in source
    assert_means(program, compiled)
    assert ot.verify_certificate(tmp_path / "table.json", program).holds


def test_an_update_beside_a_result_of_every_step_is_made_at_every_step() -> None:
    """The result reads no other statement, and is computed in the loop of the update."""
    r, rows = ot.recurrent("r", (SIZE,), over=t), ot.input("rows", (SIZE,))
    r[0] = ot.zeros(SIZE)
    r[t + 1] = ot.tanh(r + x)
    program = ot.Program(last=r.at(t=t.size - 1), beside=rows * x)
    given = {"x": arguments()["x"], "rows": np.arange(SIZE, dtype=np.float32)}
    compiled = program.compile(hints={"T": STEPS})
    assert "beside, tanh" in compiled.explain().schedule
    expected, found = program.interpret(**given), compiled(**given)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5)


@pytest.mark.parametrize("order", ["s t", "t s"])
@pytest.mark.parametrize("at_end", [False, True])
def test_every_worker_updates_the_tables_of_its_seeds_in_place(
    order: str, at_end: bool, tmp_path: Path
) -> None:
    over = ot.dims(order)
    u = next(d for d in over if d.name == "t")
    place, z = ot.input("place", dtype="int32", over=over), ot.input("z", over=over)
    r = ot.carry("r", ot.zeros(SIZE), over=over)
    seen = r.take(place, axis=0)
    r.step(ot.where(entry == place, 0.5 * r + z, r))
    total = ot.Program(total=seen.at(t=u.size - 1 if at_end else slice(None)))
    compiled = total.compile(exact=True, threads=3, certificate=tmp_path / "tables.json")
    assert any(line.startswith("for a0 in range(max(i64(place_") for line in loops(compiled))
    copies = [line for line in loops(compiled) if line == f"for a0 in range({SIZE}):"]
    assert len(copies) == 1  # the first step's
    rng = np.random.default_rng(0)
    sizes = tuple({"s": 5, "t": STEPS}[d.name] for d in over)
    given = {
        "place": rng.integers(-3, SIZE + 3, sizes).astype(np.int32),
        "z": rng.normal(size=sizes).astype(np.float32),
    }
    np.testing.assert_array_equal(compiled(**given)["total"], total.interpret(**given)["total"])
    assert ot.verify_certificate(tmp_path / "tables.json", total).holds


READ: dict[str, Callable[[ot.Tensor, ot.Tensor], ot.Tensor]] = {
    "entries in order": lambda r, seen: seen.at(t=slice(None)),
    "their sum": lambda r, seen: seen.at(t=slice(None)).sum(),
    "their largest": lambda r, seen: seen.at(t=slice(None)).max(),
    "where it is": lambda r, seen: seen.at(t=slice(None)).argmax(),
    "sums so far": lambda r, seen: seen.at(t=slice(0, t + 1)).sum(),
    "a product": lambda r, seen: seen.at(t=slice(None)) @ x.at(t=slice(None)),
    "later ones": lambda r, seen: ot.sin(seen.at(t=slice(t, None))).mean(),
    "one entry": lambda r, seen: r[:, 5],
    "the last entry": lambda r, seen: r[:, -1],
    "three entries": lambda r, seen: r[:, 2] + r[:, 7] * r[:, 3],
    "a few": lambda r, seen: 0.5 * r[:, 4:8],
    "every second time": lambda r, seen: r[::2, 1],
    "in the other order": lambda r, seen: ot.flip(r[:, 1], 0),
    "the table's mean": lambda r, seen: r.mean(),
    "where it is largest": lambda r, seen: r.argmax().at(t=slice(None)),
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read_of_a_table_is_kept_and_not_the_table(name: str) -> None:
    size = 100
    r = ot.recurrent("r", (size,), over=t)
    r[0] = ot.arange(size).cast("float32")
    seen = r.take(chosen, axis=0)
    r[t + 1] = ot.where(ot.arange(size) == chosen, 0.5 * r + x, r)
    program = ot.Program(found=READ[name](r, seen))
    compiled = program.compile(exact=True)
    assert_means(program, compiled)
    steps = 10_000
    peak = compiled.explain(T=steps).memory.predicted_peak_bytes
    assert peak < 8 * 4 * (size + 2 * steps)


@pytest.mark.parametrize("name", ["one entry", "three entries"])
def test_a_program_without_parts_apart_gives_the_same(name: str, tmp_path: Path) -> None:
    r = ot.recurrent("r", (70,), over=t)
    r[0] = ot.arange(70).cast("float32")
    r[t + 1] = ot.where(ot.arange(70) == chosen, 0.5 * r + x, ot.roll(r, 1))
    program = ot.Program(found=READ[name](r, r))
    ways: list[dict[str, Any]] = [{}, {"without": ["parts apart"]}, {"hints": {"T": 99}}]
    for options in ways:
        path = tmp_path / "parts.json"
        assert_means(program, program.compile(exact=True, certificate=path, **options))
        assert ot.verify_certificate(path, program).holds


@pytest.mark.parametrize("options", [{"threads": 3}, {"hints": {"T": 100}}])
def test_certificates_hold_with_any_options(options: dict[str, Any], tmp_path: Path) -> None:
    program = table(entry == chosen)
    program.compile(certificate=tmp_path / "table.json", **options)
    assert ot.verify_certificate(tmp_path / "table.json", program).holds

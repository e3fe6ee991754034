import json
from pathlib import Path

import pytest

from bench.harness.compared import compared
from bench.harness.machine import machine
from bench.harness.markdown import figure, replaced, section
from bench.harness.rows import FIELDS, Refusal, Report, Row, read, update, written
from bench.harness.suite import Suite, Target

MACHINE = machine()
SUITE = Suite(
    "toy",
    "a title",
    "Some words.",
    (),
    (Target("jax", 3.0, 4.0, "steps/s", {"envs": 4}), Target("", 2.0, 1.0, "compile_s")),
)


def row(system: str, value: float, unit: str = "steps/s", program: str = "p", **size: int) -> Row:
    return Row("toy", program, system, size or {"envs": 4}, value, unit, value - 1, value + 1)


ROWS = (row("ostinato", 350.0), row("jax", 100.0), row("torch", 700.0))


def table(*rows: Row) -> str:
    return section(SUITE, Report(MACHINE, rows), "ostinato bench toy")


def test_the_json_has_the_fields_that_others_read() -> None:
    found = json.loads(written(Report(MACHINE, ROWS)))
    assert set(found) == {"machine", "rows"} and tuple(found["rows"][0]) == FIELDS
    assert found["rows"][1] | {"low": 0} == found["rows"][1] | {"system": "jax", "low": 0}


def test_a_report_survives_json() -> None:
    report = Report(MACHINE, ROWS)
    assert read(written(report)) == report


@pytest.mark.parametrize(
    ("change", "message"),
    [({"value": "fast"}, "`value` of a row is a number"), ({"speed": 1}, "look at speed")],
)
def test_a_wrong_row_is_refused(change: dict[str, object], message: str) -> None:
    found = json.loads(written(Report(MACHINE, ROWS)))
    found["rows"][0] |= change
    with pytest.raises(ValueError, match=message):
        read(json.dumps(found))


def test_pieces_of_a_suite_add_up_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "toy.json"
    update(path, Report(MACHINE, ROWS))
    whole = update(path, Report(MACHINE, (row("jax", 120.0), row("jax", 9.0, envs=64))))
    assert [each.value for each in whole.rows] == [350.0, 120.0, 700.0, 9.0]
    assert read(path.read_text()) == whole


def refusal(system: str, reason: str = "too little [/x] | memory", **size: int) -> Refusal:
    return Refusal("toy", "p", system, size or {"envs": 4}, reason)


def test_a_report_says_what_was_refused_and_why() -> None:
    report = Report(MACHINE, ROWS[:2], (refusal("torch"),))
    assert read(written(report)) == report
    text = section(SUITE, report, "ostinato bench toy")
    assert r"| p | envs 4 | torch | refused: too little [/x] \| memory |  |  |" in text


def test_what_was_refused_lately_has_no_old_rows(tmp_path: Path) -> None:
    path = tmp_path / "toy.json"
    update(path, Report(MACHINE, ROWS[:2], (refusal("torch"), refusal("torch", envs=8))))
    whole = update(path, Report(MACHINE, ROWS[2:], (refusal("jax"),)))
    assert [each.system for each in whole.rows] == ["ostinato", "torch"]
    assert whole.refused == (refusal("torch", envs=8), refusal("jax"))


def test_rows_of_two_machines_do_not_mix(tmp_path: Path) -> None:
    update(tmp_path / "a.json", Report(MACHINE | {"processor": "abacus"}, ROWS))
    with pytest.raises(ValueError, match="measured on abacus"):
        update(tmp_path / "a.json", Report(MACHINE, ROWS))


def test_a_ratio_is_above_one_where_ours_is_better_also_for_times() -> None:
    rows = [row("ostinato", 2.0, "start_s"), row("jax", 6.0, "start_s")]
    assert [each.ratio for each in next(compared(SUITE, rows))] == [None, 3.0]


def test_nothing_has_no_ratio_and_meets_no_target() -> None:
    for unit in ("steps/s", "again"):
        rows = [row("ostinato", 0.0, unit), row("jax", 0.0, unit)]
        ((_, theirs),) = compared(SUITE, rows)
        assert (theirs.ratio, theirs.verdict) == (None, "")


def test_less_work_done_again_is_better() -> None:
    suite = Suite("toy", "", "", (), (Target("", 1.1, 1.05, "again"),))
    found = [next(compared(suite, [row("ostinato", k, "again")]))[0] for k in (1.0, 1.08, 2.0)]
    assert [each.verdict for each in found] == ["aim", "floor", "missed"]


def test_a_smaller_loss_is_better() -> None:
    ((_, theirs),) = compared(
        SUITE, (row("ostinato", -100.0, "return"), row("jax", -150.0, "return"))
    )
    assert theirs.ratio == 1.5


def test_the_table_says_which_targets_are_met_and_where_a_peer_wins() -> None:
    text = table(*ROWS)
    assert "| 3.50 x | 3 x, 4 x: floor |" in text
    assert "- torch is better at p (envs 4): by 2.00 x in steps/s." in text


def test_a_missed_target_is_said_in_words() -> None:
    text = table(row("ostinato", 250.0), row("jax", 100.0), row("ostinato", 3.0, "compile_s"))
    assert "- Missed against jax: p (envs 4), 2.50 x; 3 x, 4 x wanted." in text
    assert "- Missed: p (envs 4), 3; 2, 1 s compile wanted." in text


def test_a_form_has_a_row_but_no_verdict() -> None:
    text = table(row("ostinato", 350.0), row("jax", 200.0, program="p/scan"), row("jax", 100.0))
    lines = [line for line in text.splitlines() if "| jax |" in line]
    assert [line.count("floor") for line in lines] == [0, 1]


def test_sizes_within_a_group_are_compared() -> None:
    suite = Suite("toy", "", "", (), (Target("ostinato", 1.8, 1.9, "steps/s"),), ("threads",))
    rows = [row("ostinato", 19.0, threads=2), row("ostinato", 10.0, threads=1)]
    found = next(compared(suite, rows))
    assert [each.verdict for each in found] == ["", "aim"]


def test_a_section_replaces_itself_and_leaves_the_rest() -> None:
    first = replaced("# Results\n", "toy", table(*ROWS)) + "\nWritten by hand.\n"
    second = replaced(first, "toy", table(ROWS[0]))
    assert second.startswith("# Results\n") and second.endswith("\nWritten by hand.\n")
    assert "jax" not in second and second.count("## toy") == 1


def test_numbers_are_short() -> None:
    found = [figure(1.66e6, "steps/s"), figure(0.4123, "s"), figure(3 * 2**20, "peak_bytes")]
    assert found == ["1.66 M", "0.412", "3"]


def test_the_machine_is_described() -> None:
    assert machine({"jax": "1"}).keys() >= {"processor", "cores", "vectors", "python", "jax"}

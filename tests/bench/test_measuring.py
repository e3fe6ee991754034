import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench.harness import peers, timing
from bench.harness.measure import measure, rows_of
from bench.harness.sampling import Refused, Spread, alternate, spread
from bench.harness.served import Served
from bench.harness.suite import Beside, Case, Entry, Suite

PROGRAMS = "tests.bench.programs"


def test_programs_alternate_after_one_warm_up() -> None:
    order: list[str] = []

    def program(name: str) -> float:
        order.append(name)
        return float(len(order))

    samples = alternate(
        {"a": lambda: program("a"), "b": lambda: program("b")}, rounds=2, rest_s=0.0
    )
    assert order == ["a", "b"] * 3 and samples == {"a": [3.0, 5.0], "b": [4.0, 6.0]}


def test_the_spread_is_median_and_extremes() -> None:
    assert spread([3.0, 1.0, 7.0]) == Spread(3.0, 1.0, 7.0)


class Clock:
    """Time that passes only in a program."""

    def __init__(self) -> None:
        self.now, self.counts = 0.0, list[int]()

    def perf_counter(self) -> float:
        return self.now

    def run(self, iterations: int) -> None:
        self.counts.append(iterations)
        self.now += iterations * 2.0


def test_a_rate_runs_as_often_as_a_sample_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(timing, "time", clock)
    sample = timing.rates(clock.run, amount=8.0, seconds=6.0)
    assert clock.counts == [1, 1, 2, 4]
    assert sample() == 4.0 and clock.counts[-1] == 4


def test_a_program_is_measured_in_a_process_of_its_own() -> None:
    with Served(sys.executable, f"{PROGRAMS}:counting", {"start": 5}) as served:
        assert [served(), served()] == [6.0, 7.0]


def test_what_a_program_prints_is_no_answer() -> None:
    with Served(sys.executable, f"{PROGRAMS}:talking", {}) as served:
        assert served() == {"steps/s": 2.0, "peak_bytes": 3.0}


def test_a_process_that_ends_is_an_error_with_its_name() -> None:
    with Served(sys.executable, f"{PROGRAMS}:failing", {}) as served:
        for _ in range(2):
            with pytest.raises(ChildProcessError, match="failing has ended with status 3"):
                served()


def test_what_fails_is_refused_and_the_other_programs_and_cases_go_on() -> None:
    names = ("refusing", "killed", "failing_later")
    bad = [Entry("ostinato", f"{PROGRAMS}:{name}", form=name) for name in names]
    bad[0] = replace(bad[0], size={"limit": 9})
    good = Entry("jax", f"{PROGRAMS}:counting", size={"start": 1})
    cases = tuple(Case("p", {}, "steps/s", each) for each in ((*bad, good), (good,)))
    report = measure(Suite("toy", "", "", cases), 2, lambda _: None)
    assert [(row.system, row.value) for row in report.rows] == [("jax", 3.5)] * 2
    assert [each.reason for each in report.refused] == [
        "MemoryError: no form fits in 9 bytes Pass [/more] | less.",
        f"the process that runs {PROGRAMS}:killed has ended by SIGKILL",
        "StopIteration:",
    ]


def test_a_program_that_failed_takes_no_further_turn() -> None:
    order: list[str] = []

    def program(name: str) -> float:
        order.append(name)
        if name == "b" and len(order) > 2:
            raise ChildProcessError("it is gone")
        return float(len(order))

    programs = {"a": lambda: program("a"), "b": lambda: program("b")}
    samples = alternate(programs, rounds=3, rest_s=0.0)
    assert order == ["a", "b", "a", "b", "a", "a"]
    assert samples == {"a": [3.0, 5.0, 6.0], "b": Refused("it is gone")}


def test_beside_others_a_refused_program_has_no_row() -> None:
    entries = Entry("ostinato", f"{PROGRAMS}:killed"), Entry("jax", f"{PROGRAMS}:sleeping")
    busy = Case("beside", {}, "steps/s", entries, beside=(Beside(), Beside()))
    report = measure(Suite("toy", "", "", (busy,)), 1, lambda _: None)
    assert {row.system for row in report.rows} == {"jax"} and len(report.refused) == 2


def case(*entries: Entry) -> Case:
    return Case("counted", {"start": 1}, "steps/s", entries)


def no_such_package(name: str) -> tuple[str, ...]:
    return (f"no-such-package-of-{name}",)


def test_a_missing_peer_is_left_out_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "required", no_such_package)
    said: list[str] = []
    entries = (
        Entry("ostinato", f"{PROGRAMS}:counting"),
        Entry("jax", f"{PROGRAMS}:counting", "absent"),
    )
    cases = (case(*entries), case(*entries))
    report = measure(Suite("toy", "", "", cases), 2, said.append)
    assert [row.system for row in report.rows] == ["ostinato", "ostinato"]
    assert [line for line in said if "left out" in line] == [
        "absent is left out: no-such-package-of-absent is not installed (make peers PEERS=absent)"
    ]


def test_a_peer_in_its_own_environment_is_preferred(tmp_path: Path) -> None:
    own = tmp_path / "jax" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.write_text('#!/bin/sh\necho \'{"jax": "9.9"}\'\n')
    own.chmod(0o755)
    assert peers.find("jax", tmp_path) == peers.Peer(str(own), {"jax": "9.9"})


def test_every_pinned_package_is_asked_for() -> None:
    assert peers.required("jax")[0] == "jax"
    for path in peers.REQUIREMENTS.glob("requirements-*.txt"):
        lines = [line for line in path.read_text().splitlines() if line and line[0] not in "#-"]
        assert lines and all("==" in line for line in lines), path


def test_the_best_form_is_the_system_and_all_forms_are_rows() -> None:
    entries = [(Entry("jax", "", "", "scan"), [1.0, 2.0, 3.0]), (Entry("jax", "", "", "b"), [9.0])]
    rows = rows_of("toy", case(), entries)
    assert [(r.program, r.value) for r in rows] == [
        ("counted/scan", 2.0),
        ("counted/b", 9.0),
        ("counted", 9.0),
    ]


def test_a_sample_may_hold_several_units() -> None:
    rows = rows_of("toy", case(), [(Entry("jax", ""), [{"a_s": 1.0, "b_bytes": 2.0}] * 2)])
    assert [(row.unit, row.value) for row in rows] == [("a_s", 1.0), ("b_bytes", 2.0)]

"""Measuring beside busy neighbours: they end whatever happens, and the worst sample counts."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.harness.compared import compared
from bench.harness.markdown import headings
from bench.harness.measure import measure, worst
from bench.harness.neighbours import Neighbours
from bench.harness.sampling import Spread, alternate
from bench.harness.served import Served
from bench.harness.suite import Beside, Case, Entry, Suite, Target

ROOT = Path(__file__).parents[2]
PROGRAMS = "tests.bench.programs"


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def gone(process: int) -> bool:
    """Whether a process that is no child of this one ends soon."""
    end = time.monotonic() + 30
    while is_there(process) and time.monotonic() < end:
        time.sleep(0.01)
    return not is_there(process)


@pytest.mark.parametrize("own", [True, False])
def test_neighbours_are_there_as_long_as_the_block(own: bool) -> None:
    with Neighbours(2, own) as neighbours:
        found = [process.pid for process in neighbours.processes]
        assert len(found) == 2 and all(map(is_there, found))
        assert [os.getsid(pid) == os.getsid(0) for pid in found] == [not own] * 2
    assert not any(map(is_there, found))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_neighbours_end_with_an_error(error: type[BaseException]) -> None:
    found = list[int]()
    with pytest.raises(error), Neighbours(2) as neighbours:
        found += [process.pid for process in neighbours.processes]
        raise error
    assert found and not any(map(is_there, found))


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_neighbours_end_when_who_started_them_is_killed(ending: signal.Signals) -> None:
    code = (
        "import time\n"
        "from bench.harness.neighbours import Neighbours\n"
        "with Neighbours(1) as n:\n"
        "    print(n.processes[0].pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
    )
    assert starter.stdout is not None
    neighbour = int(starter.stdout.readline())
    starter.send_signal(ending)
    starter.communicate(timeout=30)
    assert gone(neighbour)


def toy() -> Suite:
    entries = (
        Entry("ostinato", f"{PROGRAMS}:counting", size={"start": 10}),
        Entry("jax", f"{PROGRAMS}:counting", size={"start": 20}),
    )
    beside = (Beside(), Beside(1), Beside(1, own_sessions=False))
    case = Case("counted", {}, "steps/s", entries, beside=beside)
    targets = (Target("jax", 1.0, 1.2, "kept"),)
    return Suite("toy", "", "", (case,), targets, within=("start",))


def test_the_worst_sample_counts_and_which_part_of_the_quiet_one_it_is() -> None:
    report = measure(toy(), 2, lambda _: None)
    found = [
        (row.system, row.size["neighbours"], row.size["sessions"], row.unit, row.value)
        for row in report.rows
    ]
    assert {row[:4] for row in found if row[3] == "cores"} == {
        (system, *place, "cores")
        for system in ("ostinato", "jax")
        for place in ((0, "none"), (1, "own"), (1, "one"))
    }
    assert all(0 <= row[4] for row in found if row[3] == "cores")
    found = [row for row in found if row[3] != "cores"]
    assert found[:4] == [
        ("ostinato", 0, "none", "steps/s", 12.0),  # the sample before it warmed up
        ("jax", 0, "none", "steps/s", 22.0),
        ("ostinato", 1, "own", "steps/s", 14.0),
        ("jax", 1, "own", "steps/s", 24.0),
    ]
    assert found[4:6] == [
        ("ostinato", 1, "own", "kept", 14 / 12),
        ("jax", 1, "own", "kept", 24 / 22),
    ]
    assert [row[2] for row in found[6:]] == ["one"] * 4
    rates = [row for row in report.rows if row.unit != "cores"]
    verdicts = [each.verdict for group in compared(toy(), rates) for each in group]
    assert verdicts == ["", ""] * 2 + ["", "floor"] + ["", ""] + ["", "floor"]


def test_a_program_that_computes_has_a_processor_and_one_that_sleeps_has_none() -> None:
    for form, least, most in (("computing", 0.2, 2.0), ("sleeping", 0.0, 0.2)):
        with Served(sys.executable, f"{PROGRAMS}:{form}", {}) as served:
            found = served.with_cores("steps/s")
        assert found["steps/s"] == 1.0 and least <= found["cores"] <= most, form


def test_the_worst_of_times_is_the_longest() -> None:
    assert worst([3.0, 1.0, 2.0], "env_steps/s") == Spread(1.0, 1.0, 3.0)
    assert worst([3.0, 1.0, 2.0], "start_s") == Spread(3.0, 1.0, 3.0)


def test_the_table_says_that_its_figures_are_the_worst() -> None:
    assert "worst (low .. high)" in headings(toy()) and len(headings(toy())) == 6


def test_no_round_begins_after_the_budget() -> None:
    def program() -> int:
        time.sleep(0.02)
        return 0

    samples = alternate({"a": program}, 50, False, 0.0, budget_s=0.05)["a"]
    assert isinstance(samples, list) and 1 < len(samples) < 5
    assert alternate({"a": int}, 50, False, 0.0, budget_s=-1.0)["a"] == [0]

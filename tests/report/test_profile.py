"""A measured run: parts that add up, a trace that nests, a picture."""

import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from ostinato.report.kernels import KernelRecord, Served, kernels_table, kernels_text
from ostinato.report.measured_run import RunProfile, run_profile
from ostinato.report.worker_times import Mark, Slice, Track

ACT = KernelRecord(
    "k0",
    (Served("state", "play.py:3", "environment"),),
    "b",
    32,
    2,
    {"elementwise": 2e6},
    {"L1": 1e6},
    predicted_ns=50.0,
    limit_ns=20.0,
    shares={("environment", "play.py:3"): 0.75, ("policy", "play.py:4"): 0.25},
)
LEARN = KernelRecord("k1", shares={("gradient", "play.py:9"): 1.0}, predicted_ns=10.0)
ASKED = KernelRecord(
    "k2", shares={("host", "play.py:7"): 0.5, ("returns", "play.py:8"): 0.5}, predicted_ns=8.0
)
EVENTS = (
    *(Mark(0, 0, 110), Slice(0, 110, 150), Slice(3, 150, 160)),
    *(Mark(0, 1, 160), Slice(1, 160, 190), Mark(0, -1, 190)),
)
FIRST = Track(110, 190, (40, 30, 0), (1, 1, 0), (10,), EVENTS, False)
SECOND = Track(120, 190, (60, 0, 0), (1, 0, 0), (10,), (), True)
TIMES = {"begin": 90, "run": 100, "results": 200, "end": 220}


def profile(*tracks: Track, host_ns: float = 0.0) -> RunProfile:
    slots = ((0,),), ("i",)
    return run_profile(tracks, (ACT, LEARN, ASKED), TIMES, host_ns, slots, {})


def spent(found: RunProfile) -> dict[str, tuple[float, float]]:
    return {part.operation: (part.ns, part.measured_ns) for part in found.operations}


def test_the_parts_add_up_to_the_total() -> None:
    found = profile(FIRST, SECOND)
    assert sum(part.ns for part in found.operations) == found.total_ns == 130
    assert sum(part.ns for part in found.lines) == 130


def test_waiting_starting_and_copies_are_parts_of_their_own() -> None:
    found = spent(profile(FIRST, SECOND))
    assert found["waiting"] == (10, 10) and found["starting"] == (25, 25)
    assert found["arguments"] == (10, 10) and found["results"] == (20, 20)


def test_a_kernel_of_one_operation_is_measured_and_others_are_divided() -> None:
    found = spent(profile(FIRST, SECOND))
    assert found["gradient"] == (15, 15)
    assert found["environment"] == (37.5, 0) and found["policy"] == (12.5, 0)


def test_python_functions_are_measured_inside_their_kernel() -> None:
    track = Track(100, 200, (0, 0, 100), (0, 0, 1), (0,), (), False)
    found = spent(profile(track, host_ns=70.0))
    assert found["host"] == (70, 70) and found["returns"] == (30, 30)


def test_a_kernel_is_measured_until_its_last_worker_is_done() -> None:
    found = profile(FIRST, SECOND).kernels[0]
    assert found.measured_ns == 60
    assert found.roofline == 20 / 60 and ACT.roofline == 20 / 50


def test_slices_of_a_track_nest(tmp_path: Path) -> None:
    profile(FIRST, SECOND).to_perfetto(tmp_path / "trace.json")
    made = json.loads((tmp_path / "trace.json").read_text())
    slices = [e for e in made["traceEvents"] if e["ph"] == "X" and e["tid"] == 1]
    names = [e["name"] for e in slices]
    assert names == ["i = 0", "i = 1", "k0: state", "waiting after k0: state", "k1"]
    kernels = [(e["ts"], e["ts"] + e["dur"]) for e in slices[2:]]
    assert all(end <= start for (_, end), (start, _) in pairwise(kernels))
    first, second = ((e["ts"], e["ts"] + e["dur"]) for e in slices[:2])
    assert first[1] <= second[0] and first[0] <= kernels[1][0] and kernels[1][1] <= first[1]
    assert made["otherData"]["cut"]


def test_the_picture_has_a_bar_for_every_operation() -> None:
    svg = ElementTree.fromstring(profile(FIRST, SECOND).to_svg())
    titles = [e.text for e in svg.iter() if e.tag.endswith("title")]
    assert len(titles) == len(spent(profile(FIRST, SECOND)))
    assert titles[0] == "environment: 37.5 ns, 0 ns of it measured"


def test_the_table_says_how_much_was_measured() -> None:
    text = profile(FIRST, SECOND).table()
    assert "environment  37.5 ns   28.8 %       7.5 ns  0 %" in text
    assert "play.py:3  37.5 ns  28.8 %       7.5 ns  environment" in text


def test_waiting_is_for_what_is_not_shared_evenly() -> None:
    found = profile(FIRST, SECOND)
    waited = {part.operation: part.waited_ns for part in found.operations if part.waited_ns}
    assert waited == {"environment": 7.5, "policy": 2.5}
    assert sum(waited.values()) == spent(found)["waiting"][0]


def test_a_sliver_of_another_operation_makes_no_kernel_unknown() -> None:
    record = KernelRecord("k0", shares={("gradient", ""): 0.95, ("optimizer", ""): 0.05})
    track = Track(100, 200, (100,), (1,), (), (), False)
    found = spent(run_profile([track], [record], TIMES, 0.0, ((), ()), {}))
    assert found["gradient"] == (95, 95) and found["optimizer"] == (5, 0)


def test_the_record_of_a_kernel_is_json() -> None:
    found = json.loads(json.dumps(ACT.data()))
    assert found["measured_ns"] is None and found["roofline"] == 0.4
    assert found["equations"][0]["place"] == "play.py:3"


def test_kernels_are_text_and_rows_that_can_be_sorted() -> None:
    text, html = kernels_text([ACT]), kernels_table([ACT])
    assert "k0      b by 32      2         2 M  1 M" in text
    assert "  state (play.py:3): environment" in text
    row = ElementTree.fromstring(html).find("tbody/tr")
    assert row is not None and row[3].get("data-value") == "2e+06"

"""A device leaves a loop and enters it again: records, states and profiles, by simulation."""

import io
import json
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import ostinato as ot
from ostinato.cli.run import INTERRUPTED, RunOptions
from ostinato.cli.run import run as run_experiment
from ostinato.compiler.compiled import Compiled
from ostinato.pdg.errors import (
    ArgumentError,
    CheckpointError,
    DomainError,
    MemoryLimitError,
    NonFiniteError,
    OptionError,
)
from ostinato.runtime.run import paused_stream
from ostinato.runtime.run.device import Arguments, Wait
from tests.cuda.programs import orders_of_many, recurrence
from tests.cuda.simulated import SimulatedMemory, SimulatedModule
from tests.cuda.streamed import (
    SMALL,
    assert_profile,
    assert_resumed,
    case,
    expected,
    opened,
    states_of,
)
from tests.pipeline.test_resumed import bits
from tests.pipeline.test_streamed_forms import CASES, Make, values
from tests.property.judge import EXTENTS
from tests.property.programs import Replay, arguments, covering

pytestmark = [
    pytest.mark.cuda_sim,
    pytest.mark.filterwarnings("ignore:rewriting left a part"),
]
Simulate = Callable[..., None]
FORMS = pytest.mark.parametrize("can_cooperate", [True, False], ids=["cooperative", "launched"])


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the loop after every step, however fast the machine is."""
    monkeypatch.setattr(paused_stream, "PART_S", 0.0)


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take twice as many steps each time."""
    monkeypatch.setattr(paused_stream, "PART_S", np.inf)


def compiled(name: str) -> Compiled:
    return case(name)[1].compile(target="cuda", threads=2, exact=True)


def module(run: Compiled) -> SimulatedModule:
    found = run.executable.module  # type: ignore[attr-defined]  # of a device
    assert isinstance(found, SimulatedModule)
    return found


@FORMS
@pytest.mark.parametrize("name", SMALL)
def test_a_resumed_run_has_the_bits_of_the_cpu(
    name: str, can_cooperate: bool, simulate: Simulate
) -> None:
    simulate(can_cooperate)
    run = compiled(name)
    states = states_of(run, name, every=4)
    kept = {step: states[step] for step in (1, 4, 5, len(states))}
    assert_resumed(run, name, kept)


@pytest.mark.parametrize("seed", [33, 59, 85])  # whose streams have states, and some records
def test_invented_programs_go_on_with_the_bits_of_the_cpu(seed: int, simulate: Simulate) -> None:
    recipe = covering(128)[seed]
    replay = Replay(recipe, recipe.dtypes[0])
    program = replay.program()
    every = arguments(replay, EXTENTS[seed % len(EXTENTS)], seed)
    given = {k: v for k, v in every.items() if k in (*program.inputs, *program.extents)}
    run = program.compile(threads=2, exact=True)
    over = run.executable.artifact.interface.streamed
    assert over, "with other constructs seeds stand for other programs: take those with streams"
    whole = [bits(record) for record in run.stream(over, seed=seed, **given)]
    simulate(seed % 2 == 0, 1 + seed % 3, seed)
    run = program.compile(target="cuda", threads=2, exact=True)
    with run.stream(over, every=2, seed=seed, **given) as records:
        found = [(bits(record), records.state) for record in records]
    assert [each for each, _ in found] == whole
    assert len(whole) > 3
    for step, (_, state) in enumerate(found, 1):
        again = run.stream(over, resume=state, keep=1 + step % 2, seed=seed, **given)
        assert [bits(record) for record in again] == whole[step:]


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("name", SMALL)
def test_parts_of_several_steps_have_these_bits_too(name: str, simulate: Simulate) -> None:
    simulate()
    run = compiled(name)
    assert [bits(record) for record in opened(run, name)] == expected(name)
    steps = len(expected(name))
    assert module(run).parts == steps.bit_length()  # of 1, 2, 4 and more steps
    assert_resumed(run, name, {3: states_of(run, name, every=5)[3]})  # computed again


def test_records_arrive_while_the_run_goes_on(simulate: Simulate) -> None:
    simulate()
    run = compiled("network")
    records = opened(run, "network")
    assert module(run).parts == 1
    assert [bits(next(records)) for _ in range(3)] == expected("network")[:3]
    assert module(run).parts == 4  # the device goes on while records are read
    records.close()
    assert module(run).parts == 4
    assert list(records) == []


def test_only_what_is_read_is_copied(simulate: Simulate) -> None:
    simulate()
    run = compiled("replay")
    of = module(run)
    for record in opened(run, "replay"):
        assert of.taken_bytes == 4 * (record.i + 1)  # of the loss
    assert of.put_bytes == 0
    before = of.taken_bytes
    with opened(run, "replay", every=9) as records:
        *_, state = (records.state for record in records if record.i == 8)
    assert of.taken_bytes - before == 4 * 9 + sum(array.nbytes for array in state.values())


def test_a_stream_has_room_for_some_records_only(simulate: Simulate) -> None:
    simulate()
    run = compiled("windows")
    for keep in (1, 3, "all"):
        found = [bits(record) for record in opened(run, "windows", keep=keep)]
        assert found == expected("windows")
    sizes = {"B": 5, "T": 11}
    assert run.executable.layout(sizes, 1).total_bytes < run.executable.layout(sizes).total_bytes


def test_a_long_stream_needs_memory_of_the_host_for_some_records_only(
    simulate: Simulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate()
    run, long = compiled("windows"), 100_000
    monkeypatch.setattr("ostinato.pdg.limits.physical_bytes", lambda: 100_000)
    with pytest.raises(MemoryLimitError, match="the run at"):
        run(B=5, T=long)
    with opened(run, "windows", T=long, keep=3) as records:
        assert [bits(next(records)) for _ in range(5)] == expected("windows")[:5]


def test_states_do_not_depend_on_what_is_kept(simulate: Simulate) -> None:
    simulate()
    run = compiled("windows")
    with opened(run, "windows", every=4, keep=2) as records:
        found = {record.index + 1: records.state for record in records}
    assert_resumed(run, "windows", {step: found[step] for step in (4, 7)})


def test_a_run_goes_on_from_a_file(simulate: Simulate, tmp_path: Path) -> None:
    simulate()
    run = compiled("network")
    with opened(run, "network", every=2) as records:
        for record in records:
            if record.i == 2:
                break
    ot.save(tmp_path / "it", records.state)
    again = opened(run, "network", resume=ot.load(tmp_path / "it"))
    assert [bits(record) for record in again] == expected("network")[3:]


def test_the_state_of_another_target_is_refused(simulate: Simulate) -> None:
    simulate()
    over, program, given = case("network")
    with program.compile(threads=2, exact=True).stream(over, every=2, **given) as records:
        next(records)
        state = records.state
    with pytest.raises(CheckpointError, match="another program, compiler or kind of machine"):
        opened(compiled("network"), "network", resume=state)


def test_two_streams_of_a_program_do_not_mix(simulate: Simulate) -> None:
    simulate()
    run = compiled("network")
    pairs = zip(opened(run, "network"), opened(run, "network", seed=4), strict=True)
    found = [(bits(a), bits(b)) for a, b in pairs]
    assert [a for a, _ in found] == expected("network")
    assert [b for _, b in found] == [bits(r) for r in opened(run, "network", seed=4)]


@pytest.fixture
def second_part_fails(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    run = SimulatedMemory.run

    def failing(self: SimulatedMemory, given: Arguments) -> Wait:
        wait = run(self, given)
        return fail if self.module.parts == 2 else wait

    def fail() -> None:
        raise OptionError("the device failed", "Report it.")

    monkeypatch.setattr(SimulatedMemory, "run", failing)
    yield


@pytest.mark.usefixtures("second_part_fails")
def test_a_device_that_fails_ends_a_stream_with_its_error(simulate: Simulate) -> None:
    simulate()
    records = opened(compiled("network"), "network", every=3)
    assert bits(next(records)) == expected("network")[0]
    with pytest.raises(OptionError, match="the device failed"):
        next(records)
    assert list(records) == []


def test_a_state_is_never_that_of_a_part_that_failed(
    simulate: Simulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate(can_cooperate=False)
    run, part = compiled("windows"), SimulatedMemory.run

    def failing(self: SimulatedMemory, given: Arguments) -> Wait:
        wait = part(self, given)
        if self.module.parts == 2:
            self.arena[:] = 0
            raise OptionError("the device failed", "Report it.")
        return wait

    monkeypatch.setattr(SimulatedMemory, "run", failing)
    records = opened(run, "windows", every=4, keep=1)
    next(records)
    with pytest.raises(OptionError, match="the device failed"):
        next(records)
    assert records.state.step == 1
    assert_resumed(run, "windows", {1: records.state})


def test_the_first_bad_record_ends_a_stream(simulate: Simulate) -> None:
    i, b = ot.dims("i b")
    x = ot.recurrent("x", over=(i, b))
    x[0, b] = 4.0
    x[i + 1, b] = ot.sqrt(x - 2.5) - 0.0 * x[i, :].mean()
    simulate()
    run = ot.Program(x=x).compile(target="cuda")
    with pytest.raises(NonFiniteError, match="output `x` is nan at i = 2"):
        list(run.stream(i, check_finite=True, I=9, B=3))
    assert module(run).parts < 9


@pytest.mark.parametrize("every", [None, 2])
def test_a_claim_is_checked_at_the_record_that_it_belongs_to(
    every: int | None, simulate: Simulate
) -> None:
    i, b = ot.dims("i b")
    x, table = ot.recurrent("x", over=(i, b)), ot.input("table", (5,))
    x[0, b] = 1.0
    x[i + 1, b] = x * 0.5 + table.take(ot.input("place", dtype="int32", over=i), axis=0)
    simulate()
    run = ot.Program(x=x, mean=x[i, :].mean()).compile(target="cuda", checks="values")
    given = {"table": np.ones(5, np.float32), "place": [0, 1, 2, 9, 1, 1], "B": 3}
    records = run.stream(i, every=every, **given)
    assert [next(records).i for _ in range(3)] == [0, 1, 2]
    with pytest.raises(DomainError, match="`table` is taken at position 9 at i = 3"):
        next(records)


FILE = """
import ostinato as ot
from tests.cuda.programs import network


def main() -> ot.Experiment:
    arguments = {"B": 35, "I": 6}
    return ot.Experiment(
        program=network()[0], over="i", arguments=arguments, steps_per_record=35, metric="loss"
    )
"""


def rows(directory: Path) -> list[list[str]]:
    """The rows of a run but for what it took of the time of day."""
    header, *found = ((directory / "metrics.csv").read_text()).splitlines()
    gone = header.split(",").index("wall_s")
    return [[x for k, x in enumerate(row.split(",")) if k != gone] for row in found]


def test_the_command_line_goes_on_with_the_target_of_a_run(
    simulate: Simulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate()
    (tmp_path / "it.py").write_text(FILE)
    whole, half = tmp_path / "whole", tmp_path / "half"
    usual = RunOptions(place=str(tmp_path / "it.py"), show_progress=False, checkpoint_every=2)
    console, part = Console(quiet=True), SimulatedMemory.run

    def interrupting(self: SimulatedMemory, given: Arguments) -> Wait:
        if self.module.parts == 3:
            signal.raise_signal(signal.SIGINT)
        return part(self, given)

    assert run_experiment(replace(usual, out=whole, target="cuda"), console) == 0
    monkeypatch.setattr(SimulatedMemory, "run", interrupting)
    assert run_experiment(replace(usual, out=half, target="cuda"), console) == INTERRUPTED
    monkeypatch.setattr(SimulatedMemory, "run", part)
    assert len(rows(half)) == 3
    assert run_experiment(replace(usual, resume=half), console) == 0
    assert rows(half) == rows(whole)


@pytest.mark.parametrize("make", CASES, ids=lambda f: f.__name__)
def test_a_form_for_streams_has_states(make: Make, simulate: Simulate) -> None:
    program, given = make()
    simulate()
    run, over = program.compile(target="cuda"), (program.outputs[0],)
    records = list(run.stream("t", **given))
    found = [np.asarray(getattr(record, over[0])) for record in records]
    np.testing.assert_allclose(found, program.interpret(**given)[over[0]], rtol=1e-4, atol=1e-5)
    begun = run.stream("t", every=2, **given)
    first = [next(begun) for _ in range(5)]
    rest = list(run.stream("t", resume=begun.state, **given))
    for again, wanted in zip((*first, *rest), records, strict=True):
        assert values(again, over) == values(wanted, over)


def test_what_is_not_computed_in_one_loop_comes_late_and_has_no_states(simulate: Simulate) -> None:
    program, given = recurrence()
    simulate()
    run = program.compile(target="cuda", exact=True)
    with pytest.raises(ArgumentError, match="do not come out of one outermost loop"):
        run.stream("b", every=2, **given)
    with pytest.warns(UserWarning, match="their records come after the run has ended"):
        found = [record.h for record in run.stream("b", **given)]
    np.testing.assert_array_equal(found, program.compile(exact=True)(**given)["h"])


@FORMS
@pytest.mark.parametrize("name", ["network", "windows"])
def test_a_profile_says_what_each_phase_took(
    name: str, can_cooperate: bool, simulate: Simulate, tmp_path: Path
) -> None:
    simulate(can_cooperate)
    run, (_, _, given) = compiled(name), case(name)
    found = run.profile(**given)
    assert_profile(found, dict(run(**given).items()))
    assert {"waiting", "starting", "arguments", "results"} <= {
        x.operation for x in found.operations
    }
    assert found.data()["note"] == found.note
    assert any(record.measured_ns for record in run.explain().records)
    found.to_perfetto(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    names = {event["name"] for event in trace["traceEvents"] if event.get("tid") == 1}
    assert any(name.startswith(found.kernels[0].name) for name in names)
    assert trace["otherData"]["note"] == found.note


def test_the_command_line_says_what_a_profile_is_of(simulate: Simulate, tmp_path: Path) -> None:
    simulate()
    (tmp_path / "it.py").write_text(FILE)
    said, place = io.StringIO(), str(tmp_path / "it.py")
    options = RunOptions(place=place, show_progress=False, target="cuda", profile=True)
    assert run_experiment(replace(options, out=tmp_path / "run"), Console(file=said)) == 0
    assert "Each phase was launched by itself and waited for" in said.getvalue()
    kept = json.loads((tmp_path / "run" / "profile.json").read_text())
    assert "launched by itself" in kept["note"]


def test_a_profile_names_what_all_blocks_do_in_other_runs(simulate: Simulate) -> None:
    program, given = orders_of_many()
    simulate(threads=64)
    found = program.compile(target="cuda", threads=2, exact=True).profile(**given)
    (told,) = re.findall(r"One block runs what all may run otherwise: (.*)\.", found.note)
    assert set(told.split(", ")) < {each.name for each in found.kernels}


def test_a_stream_can_be_measured(simulate: Simulate) -> None:
    simulate()
    over, _, given = case("network")
    records, profile = compiled("network").profiled_stream(over, **given)
    assert bits(next(records)) == expected("network")[0]
    with pytest.raises(ArgumentError, match="a run that is not over"):
        profile()
    assert [bits(record) for record in records] == expected("network")[1:]
    assert_profile(profile(), {})

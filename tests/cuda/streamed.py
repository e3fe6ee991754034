"""Programs whose loop is left and entered again, and what their streams must be like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import numpy.typing as npt

import ostinato as ot
from ostinato.compiler.compiled import Compiled
from ostinato.report.measured_run import RunProfile
from ostinato.runtime.run.state import State
from ostinato.runtime.run.stream import Stream
from tests.cuda.programs import network
from tests.pipeline.test_resumed import bits, example, replay
from tests.pipeline.test_resumed import windows as updates
from tests.pipeline.test_stream_memory import X, actor, windows

Arguments = Mapping[str, object]
Case = tuple[str, ot.Program, Arguments]  # the dimension of the stream, the program, arguments
SEED = 3


def trained(made: ot.Experiment) -> Case:
    return str(made.over), made.program, {**made.arguments, "seed": SEED}


SMALL: Mapping[str, Callable[[], Case]] = {
    "network": lambda: ("i", network()[0], {"B": 35, "I": 6, "seed": SEED}),
    "updates": lambda: ("i", updates(), {"B": 5, "I": 9, "seed": SEED}),
    "replay": lambda: ("i", replay(), {"B": 5, "I": 9, "seed": SEED}),
    "windows": lambda: ("t", windows(), {"B": 5, "T": 11, "seed": SEED}),
}
LARGE: Mapping[str, Callable[[], Case]] = {
    "actor": lambda: ("i", actor(), {"x": X, "I": 40}),
    "ppo": lambda: trained(example("ppo_cartpole", games=5, steps=16, epochs=2)),
    "reinforce": lambda: trained(example("reinforce_cartpole", episodes=5, steps=16)),
    "ragged": lambda: trained(example("reinforce_ragged", episodes=5, steps=16)),
}


@cache
def case(name: str) -> Case:
    return {**SMALL, **LARGE}[name]()


@cache
def expected(name: str) -> list[dict[str, bytes]]:
    """The records of a run on the CPU that never waits."""
    over, program, given = case(name)
    run = program.compile(threads=2, exact=True)
    return [bits(record) for record in run.stream(over, **given)]


def opened(run: Compiled, name: str, **how: object) -> Stream:
    over, _, given = case(name)
    return run.stream(over, **{**given, **how})


def states_of(run: Compiled, name: str, every: int) -> dict[int, State]:
    """The state after each record of a stream, whose records are those of the CPU."""
    found: dict[int, State] = {}
    with opened(run, name, every=every) as records:
        for k, record in enumerate(records):
            assert bits(record) == expected(name)[k], f"record {k} of {name}"
            found[k + 1] = records.state
    assert len(found) == len(expected(name))
    return found


def assert_resumed(run: Compiled, name: str, states: Mapping[int, State]) -> None:
    """Runs that go on from states have the records of one that never stopped."""
    for step, state in states.items():
        assert [bits(r) for r in opened(run, name, resume=state)] == expected(name)[step:], step


def assert_profile(found: RunProfile, whole: Mapping[str, npt.NDArray[np.generic]]) -> None:
    """The parts of a profile add up, and measuring changes no result."""
    for name, value in whole.items():
        np.testing.assert_array_equal(np.asarray(found.results[name]), value, err_msg=name)
    assert round(sum(part.ns for part in found.operations)) == found.total_ns
    (track,) = found.tracks
    assert sum(track.kernels) + sum(track.waits) == track.end_ns - track.start_ns > 0
    assert sum(track.calls) >= sum(ns > 0 for ns in track.kernels) > 0
    assert "was launched by itself" in found.table()

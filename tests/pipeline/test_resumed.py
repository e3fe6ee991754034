"""A run that goes on from a state has the bits of one that never stopped."""

import importlib
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import ostinato as ot
from ostinato.compiler.compiled import Compiled
from ostinato.pdg.errors import ArgumentError, CheckpointError
from ostinato.runtime.run.state import State
from ostinato.runtime.run.stream import Record, Stream
from tests.pipeline.programs import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:rewriting left a part")
STEPS = 9
Case = tuple[Callable[[], ot.Program], Mapping[str, object]]


def windows() -> ot.Program:
    """A weight that looks four updates back, and draws."""
    b, i = ot.dims("b i")
    w = ot.recurrent("w", (3,), over=i)
    x = ot.random.normal((3,), over=(b, i))
    loss = ot.square((w * x).sum() - 1.0)[:, i].mean()
    for k in range(4):
        w[k] = 0.1 * k
    w[i + 4] = 0.5 * w[i + 3] + 0.5 * w[i] - 0.1 * ot.grad(loss, w)[i + 3]
    return ot.Program(loss=loss)


def replay() -> ot.Program:
    """A weight that learns from any of the samples so far: they all belong to the state."""
    b, i = ot.dims("b i")
    w, sample = ot.recurrent("w", (4,), over=i), ot.recurrent("sample", (4,), over=i)
    w[0], sample[0] = ot.zeros(4), ot.ones(4)
    chosen = (ot.random.uniform(over=(b, i)) * (i + 1)).cast("int32")
    past = sample[: i + 1].take(chosen, axis=0)
    loss = ot.square(w - past)[:, i].mean()
    w[i + 1] = w - 0.1 * ot.grad(loss, w)
    sample[i + 1] = ot.sin(sample + w)
    return ot.Program(loss=loss)


def example(name: str, **sizes: int) -> ot.Experiment:
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        made: ot.Experiment = importlib.import_module(name).main(iterations=STEPS, **sizes)
        return made
    finally:
        sys.path.pop(0)


EXPERIMENTS = {
    "ppo": lambda: example("ppo_cartpole", games=5, steps=16, epochs=2),
    "reinforce": lambda: example("reinforce_cartpole", episodes=5, steps=16),
    "ragged": lambda: example("reinforce_ragged", episodes=5, steps=16),
}
PROGRAMS: Mapping[str, Case] = {
    "windows": (windows, {"B": 5, "I": STEPS}),
    "replay": (replay, {"B": 5, "I": STEPS}),
}
NAMES = (*PROGRAMS, *EXPERIMENTS)


@cache
def compiled(name: str) -> tuple[Compiled, Mapping[str, object]]:
    if name in EXPERIMENTS:
        found = EXPERIMENTS[name]()
        return found.program.compile(), {**found.arguments, "seed": 3}
    program, arguments = PROGRAMS[name]
    return program().compile(), {**arguments, "seed": 3}


def stream(name: str, every: int | None = None, resume: State | None = None) -> Stream:
    run, arguments = compiled(name)
    return run.stream("i", every=every, resume=resume, **arguments)


def bits(record: Record) -> dict[str, bytes]:
    values = {k: v for k, v in vars(record).items() if k != "lengths"}
    return {name: np.asarray(value).tobytes() for name, value in values.items()}


def content(state: State) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in state.items()}


@cache
def whole(name: str) -> tuple[list[dict[str, bytes]], dict[int, State]]:
    """The records of a run that never waits, and the states of one that does."""
    states: dict[int, State] = {}
    with stream(name, every=4) as records:
        for record in records:
            states[record.i + 1] = records.state
    return [bits(record) for record in stream(name)], states


@pytest.mark.parametrize("name", NAMES)
def test_a_resumed_run_has_the_bits_of_a_whole_one(name: str) -> None:
    records, states = whole(name)
    assert sorted(states) == [*range(1, STEPS + 1)] and len(states[1]) > 0
    for step, state in states.items():
        again = stream(name, every=3, resume=state)
        assert [bits(record) for record in again] == records[step:]
        assert content(again.state) == content(states[STEPS])


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_that_waits_has_the_bits_of_one_that_does_not(name: str) -> None:
    assert [bits(record) for record in stream(name, every=1)] == whole(name)[0]


def test_the_state_after_a_break_is_that_of_the_last_record() -> None:
    records = stream("ppo", every=4)
    for record in records:
        if record.i == 5:
            break
    records.close()
    assert records.state.step == 6
    assert content(records.state) == content(whole("ppo")[1][6])


def test_a_state_is_names_and_arrays_of_what_later_steps_read() -> None:
    state = whole("ppo")[1][4]
    assert state["actor_0_weight"].shape == (4, 64) and state["state_steps"].shape == (5,)
    assert {"actor_0_weight_mean", "critic_2_bias", "state_motion"} <= state.keys()
    assert "advantage" not in state and "action" not in state
    assert (state.step, state.seed, state.over) == (4, 3, "i")
    assert repr(state) == f"<state after 4 steps of i: {len(state)} arrays>"


def test_windows_keep_the_last_steps_and_histories_all() -> None:
    assert whole("windows")[1][7]["w"].shape == (4, 3)
    shapes = [whole("replay")[1][step]["sample"].shape for step in (2, 7)]
    assert shapes == [(2, 4), (7, 4)]


def test_the_arrays_of_a_window_are_the_last_steps_in_order() -> None:
    b, i = ot.dims("b i")
    w = ot.recurrent("w", over=i)
    w[0] = w[1] = w[2] = 1.0
    w[i + 3] = w[i] + w[i + 2] + 0.0 * ot.random.uniform(over=(b, i))[:, i].sum()
    run = ot.Program(w=w).compile()
    records = run.stream(i, every=5, I=8, B=2)
    found = {record.i + 1: (record.w, records.state) for record in records}
    values = [found[k][0] for k in range(1, 6)]
    assert found[5][1]["w"].tolist() == values[-len(found[5][1]["w"]) :]


def test_a_file_has_the_state(tmp_path: Path) -> None:
    state = whole("replay")[1][5]
    ot.save(tmp_path / "state.safetensors", state)
    found = ot.load(tmp_path / "state.safetensors")
    assert content(found) == content(state)
    assert [bits(r) for r in stream("replay", resume=found)] == whole("replay")[0][5:]


def test_every_bit_of_a_file_counts(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    ot.save(path, whole("windows")[1][5])
    body = path.read_bytes()
    for at in range(0, len(body), 7):
        path.write_bytes(body[:at] + bytes([body[at] ^ 4]) + body[at + 1 :])
        with pytest.raises(CheckpointError):
            ot.load(path)
        path.write_bytes(body[:at])
        with pytest.raises(CheckpointError):
            ot.load(path)


def test_states_of_other_runs_are_refused() -> None:
    run, arguments = compiled("windows")
    state = whole("windows")[1][5]
    with pytest.raises(CheckpointError, match=r"seed 3, not 4\n  Pass seed=3"):
        run.stream("i", resume=state, **{**arguments, "seed": 4})
    with pytest.raises(CheckpointError, match="a run with other arguments"):
        run.stream("i", resume=state, **{**arguments, "B": 6})
    with pytest.raises(CheckpointError, match="another program, compiler or kind of machine"):
        stream("replay", resume=state)


def test_what_has_no_states_is_refused() -> None:
    b, i = ot.dims("b i")
    x = ot.recurrent("x", over=i)
    x[-1], x[i] = 1.0, x[i + 1] / 2
    with pytest.raises(ArgumentError, match="do not come out of one outermost loop"):
        ot.Program(x=x).compile().stream("i", every=2, I=4)
    with pytest.raises(ArgumentError, match=r"none was asked for\n  Open it with every=100"):
        _ = stream("windows").state
    asked = ot.host(abs, ot.random.uniform(over=(b, i))[:, i].mean())
    with pytest.raises(ArgumentError, match="keeps in Python is not known"):
        ot.Program(asked=asked).compile().stream("i", every=2, I=4, B=2)

"""A stream has room for some records only, and gives the bits of one that keeps all."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.compiler.compiled import Compiled
from ostinato.pdg.errors import ArgumentError
from tests.errors.refusal import refusal
from tests.pipeline.programs import ROOT

WIDTH = 64
X = np.random.default_rng(0).normal(size=(16, WIDTH)).astype(np.float32)


def actor() -> ot.Program:
    """A layer of 64 by 64 in training, whose weights are in every record."""
    b, i = ot.dims("b i")
    x = ot.input("x", (WIDTH,), over=b)
    w = ot.recurrent("w", (WIDTH, WIDTH), over=i)
    loss = ot.square(ot.tanh(x @ w)).sum()[:, i].mean()
    w[0] = ot.random.normal((WIDTH, WIDTH)) * 0.1
    w[i + 1] = w - 0.01 * ot.grad(loss, w)
    return ot.Program(loss=loss, w=w)


def windows() -> ot.Program:
    """A value that looks four steps back, and its sum over rows."""
    t, b = ot.dims("t b")
    x = ot.recurrent("x", over=(t, b))
    for k in range(4):
        x[k, b] = ot.random.uniform(over=b)
    x[t + 4, b] = 0.5 * x[t + 3, b] - 0.25 * x[t, b] + x[t + 1, :].mean()
    return ot.Program(x=x, total=x[t, :].sum())


@cache
def compiled(checks: str = "") -> Compiled:
    return actor().compile(checks=checks) if checks else actor().compile()


@pytest.mark.parametrize("checks", ["", "addresses"])
@pytest.mark.parametrize("keep", [1, 3, "all"])
def test_records_are_those_of_a_call_whatever_is_kept(keep: object, checks: str) -> None:
    run = compiled(checks)
    whole = run(x=X, I=8)
    found = list(run.stream("i", x=X, I=8, keep=keep))
    np.testing.assert_array_equal([record.w for record in found], whole["w"])
    np.testing.assert_array_equal([record.loss for record in found], whole["loss"])


@pytest.mark.parametrize("keep", [1, 2, 5])
def test_steps_that_are_read_again_stay(keep: int) -> None:
    run = windows().compile(checks="addresses")
    sizes = {"B": 5, "T": 17, "seed": 3}
    found = [record.x for record in run.stream("t", keep=keep, **sizes)]
    np.testing.assert_array_equal(found, run(**sizes)["x"])
    assert {w[0]: w[1] for w in run.executable.layout(sizes, keep).windows} == {
        "x": keep + 3, "total": keep
    }  # fmt: skip


def test_states_do_not_depend_on_what_is_kept() -> None:
    def states(keep: object) -> list[npt.NDArray[np.float32]]:
        with compiled().stream("i", every=4, x=X, I=11, keep=keep) as records:
            return [records.state["w"] for record in records if record.i % 3]

    np.testing.assert_array_equal(states(1), states("all"))


def test_a_run_goes_on_from_a_state_with_few_records_kept() -> None:
    whole = compiled()(x=X, I=9)["loss"]
    with compiled().stream("i", every=5, x=X, I=9) as records:
        state = next(records.state for record in records if record.i == 4)
    rest = [r.loss for r in compiled().stream("i", resume=state, x=X, I=9, keep=1)]
    np.testing.assert_array_equal(rest, whole[5:])


def halved(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return x * np.float32(0.5)


def test_a_python_function_may_be_called_between_pauses() -> None:
    t, b = ot.dims("t b")
    x = ot.recurrent("x", over=(t, b))
    x[0, b] = ot.random.uniform(over=b)
    x[t + 1, b] = ot.host(halved, x, over=b)
    run, sizes = ot.Program(x=x, mean=x[t, :].mean()).compile(), {"T": 9, "B": 5}
    found = [record.x for record in run.stream("t", keep=2, **sizes)]
    np.testing.assert_array_equal(found, run(**sizes)["x"])
    assert run.executable.layout(sizes, 2).windows


MEASURED = """
import os
from tests.pipeline.test_stream_memory import X, actor

run, (few, many) = actor().compile(), (50, 12_000)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grown(keep):
    run.executable.release()
    before = resident()
    with run.stream("i", x=X, I=many, keep=keep) as records:
        assert sum(1 for record in records) == many
    return resident() - before  # the memory of the run is kept for the next one


list(run.stream("i", x=X, I=few, keep=1))
use = run.explain(I=many, B=16).memory
print(use.predicted_peak_bytes, use.streamed_bytes, grown(None), grown("all"))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no count of resident pages")
def test_a_long_stream_takes_what_is_predicted() -> None:
    command = [sys.executable, "-c", MEASURED]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    predicted, streamed, grown, grown_by_all = map(int, out.split())
    assert predicted > 190_000_000 and 30_000_000 < streamed < 36_000_000
    assert grown < streamed + 8_000_000
    assert grown_by_all > predicted - 8_000_000


def test_a_limit_of_memory_holds_fewer_records() -> None:
    most = 1_000_000
    run = actor().compile(memory_limit=most, hints={"I": 40, "B": 16})
    assert sum(1 for _ in run.stream("i", x=X, I=500)) == 500
    assert run.explain(I=500, B=16).memory.streamed_bytes <= most


def test_what_is_kept_is_a_number_or_all() -> None:
    text = refusal(ArgumentError, lambda: compiled().stream("i", x=X, I=2, keep=-1))
    assert text.endswith('`keep` is -1\n  Pass a number of records from 1 on, or "all".')

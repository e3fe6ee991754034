"""Host calls in compiled programs: threads, streams, failures, other processes."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import HostError
from ostinato.pdg.functions import Array
from ostinato.pdg.index import Dim, Expr, Extent, evaluate
from tests.pipeline.programs import ROOT

i, b, t = ot.dims("i b t")


def one(made: object) -> ot.Tensor:
    assert isinstance(made, ot.Tensor)
    return made


class Walk:
    """An environment of many walkers that breaks after some steps."""

    def __init__(self, last: int = 10**9) -> None:
        self.steps, self.last = 0, last
        self.calling, self.calls_at_once = threading.Lock(), 1

    def step(self, states: Array, noise: Array) -> Array:
        if not self.calling.acquire(blocking=False):
            self.calls_at_once += 1
            self.calling.acquire()
        try:
            return self._stepped(states, noise)
        finally:
            self.calling.release()

    def _stepped(self, states: Array, noise: Array) -> Array:
        self.steps += 1
        time.sleep(0.001)  # lets another thread run Python
        if self.steps > self.last:
            raise RuntimeError("the walk is over")
        return np.asarray(0.5 * states + noise)


def program(walk: Walk) -> ot.Program:
    s = ot.recurrent("s", over=(i, b, t))
    s[0, b, 0] = 0.0
    s[i + 1, b, 0] = s[i, b, -1]
    noise = ot.random.uniform(over=(i, b, t))
    s[i, b, t + 1] = one(ot.host(walk.step, s, noise, over=b, effects="walk"))
    return ot.Program(mean=s[i, :, :].mean(), last=s[-1, b, -1])


SIZES = {"I": 3, "B": 70, "T": 5}


def test_many_workers_call_one_at_a_time_and_equal_the_interpreter() -> None:
    walk = Walk()
    found = program(walk).compile(threads=2)(**SIZES)
    assert walk.steps == 15 and walk.calls_at_once == 1
    expected = program(Walk()).interpret(**SIZES)
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5)


def test_records_before_a_failure_arrive() -> None:
    compiled = program(Walk(last=7)).compile(threads=2)
    seen: list[int] = []
    with pytest.raises(HostError, match="failed at i = 1, t = 2: RuntimeError"):
        seen.extend(record.i for record in compiled.stream(i, **SIZES))
    assert seen == [0]


def test_a_program_runs_again_after_a_failure() -> None:
    walk = Walk(last=2)
    compiled = program(walk).compile(threads=2)
    with pytest.raises(HostError):
        compiled(**SIZES)
    walk.last = 10**9
    assert np.isfinite(compiled(**SIZES)["mean"]).all()


def test_nothing_is_called_after_a_failure() -> None:
    walk = Walk(last=2)
    with pytest.raises(HostError):
        program(walk).compile(threads=2)(**SIZES)
    assert walk.steps == 3


def test_outputs_that_keep_calls_alive_are_not_shown() -> None:
    compiled = program(Walk()).compile(threads=2)
    assert set(compiled(**SIZES)) == {"mean", "last"}
    record = next(compiled.stream(i, **SIZES))
    assert set(vars(record)) == {"i", "index", "mean"}


SCRIPT = """
import time, ostinato as ot
i = ot.dims("i")
s = ot.recurrent("s", over=i)
s[0] = 0.0
s[i + 1] = ot.host(lambda v: (print("called", flush=True), time.sleep(0.05), v + 1)[2], s,
                   effects="slow", name="slow")
run = ot.Program(s=s).compile()
print(run(I=2)["s"].tolist(), flush=True)
{more}
"""


def start(more: str, cache: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "OSTINATO_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", SCRIPT.format(more=more)]
    return subprocess.Popen(command, env=env, text=True, stdout=-1, stderr=-1)


def test_a_second_process_takes_the_code_from_the_cache(tmp_path: Path) -> None:
    for _ in range(2):
        out, _ = start("", tmp_path).communicate(timeout=120)
        assert out.splitlines()[-1] == "[0.0, 1.0]"
    assert len(list(tmp_path.glob("*/*/artifact.pickle"))) == 1


def test_an_interrupt_ends_a_run_that_calls_python(tmp_path: Path) -> None:
    process = start("print('long', flush=True); run(I=100_000)", tmp_path)
    assert process.stdout is not None
    for line in process.stdout:
        if line == "long\n":
            break
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, problem = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in problem


def test_sizes_that_no_point_decides_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Expr] = []

    def counted(size: Expr, point: Mapping[Dim | Extent, int]) -> int:
        asked.append(size)
        return evaluate(size, point)

    monkeypatch.setattr("ostinato.runtime.run.callbacks.evaluate", counted)
    run = program(Walk()).compile(threads=1)
    counts: list[int] = []
    for steps in (2, 20):
        asked.clear()
        run(I=2, B=3, T=steps)
        counts.append(len(asked))
    assert counts[0] == counts[1] > 0

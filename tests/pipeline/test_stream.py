"""Records arrive while the compiled loop runs; closing and Ctrl-C end it early."""

import csv
import os
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ostinato.compiler.compiled import Compiled
from ostinato.runtime.run.blocking_pool import working
from tests.pipeline.programs import ROOT, shared_weight
from tests.returned import all_returned

LONG = {"B": 64, "T": 50, "I": 500_000}  # minutes of work


@cache
def training() -> Compiled:
    return shared_weight().compile(threads=2)


def test_records_arrive_while_the_loop_runs() -> None:
    run = training()
    assert all_returned()  # also those of earlier runs
    with run.stream("i", **LONG) as records:
        assert [next(records).i for _ in range(5)] == [0, 1, 2, 3, 4]
        assert working() == 2


def test_records_equal_the_result_of_a_call() -> None:
    sizes = {"B": 40, "T": 3, "I": 6, "seed": 2}
    result = training()(**sizes)
    for name in ("loss", "weight"):
        streamed = [getattr(record, name) for record in training().stream("i", **sizes)]
        np.testing.assert_array_equal(streamed, result[name])


def test_closing_a_stream_stops_the_loop() -> None:
    run = training()
    records = run.stream("i", **LONG)
    next(records)
    started = time.perf_counter()
    records.close()
    assert time.perf_counter() - started < 5
    assert all_returned()
    assert list(records) == []


def test_an_error_in_the_loop_over_records_stops_the_run() -> None:
    with pytest.raises(KeyboardInterrupt), training().stream("i", **LONG) as records:
        next(records)
        raise KeyboardInterrupt
    assert all_returned()


FILE = """
from ostinato.runtime.run.blocking_pool import working
import ostinato as ot
from ostinato.runtime.run.blocking_pool import working
from tests.pipeline.programs import shared_weight


def main() -> ot.Experiment:
    arguments = {"B": 64, "T": 50, "I": 500_000}
    return ot.Experiment(
        program=shared_weight(), over="i", arguments=arguments, steps_per_record=3200,
        metric="loss",
    )
"""


def rows_of(path: Path) -> list[list[str]]:
    return list(csv.reader(path.open())) if path.exists() else []


def test_ctrl_c_ends_a_run_of_the_command_line_and_keeps_its_rows(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(FILE)
    code = "from ostinato.cli import main; main()"
    running = subprocess.Popen(
        [sys.executable, "-c", code, "run", "long.py", "--out", "out"], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "NO_COLOR": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    metrics, deadline = tmp_path / "out" / "metrics.csv", time.monotonic() + 120
    while len(rows_of(metrics)) < 20 and time.monotonic() < deadline and running.poll() is None:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "interrupted at iteration" in out and "everything recorded so far is kept" in out
    header, *rows = rows_of(metrics)
    assert len(rows) >= 19 and all(len(row) == len(header) for row in rows)
    assert [int(row[0]) for row in rows] == list(range(len(rows)))
    assert (tmp_path / "out" / "learning_curve.png").stat().st_size > 1000

"""What a forked process does with the runs and the locks of the one that it comes from."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from types import ModuleType

import numpy as np
import pytest

import ostinato as ot
from ostinato.compiler.compiled import Compiled
from ostinato.pdg import node
from ostinato.pdg.errors import ArgumentError
from ostinato.pdg.forked import Guard
from ostinato.rewrite.engine import egglog_session, remembered
from ostinato.runtime.machine_code.compiling import turns
from tests.pipeline.programs import shared_weight

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
LONG = {"B": 64, "T": 50, "I": 500_000}  # minutes of work
PATIENCE_S = 20.0
DONE = 7


@cache
def training() -> Compiled:
    return shared_weight().compile(threads=2)


def in_fork(do: Callable[[], bool]) -> bool:
    """Whether a function is true in a forked process, which ends before patience does."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(DONE if do() else 1)
        finally:
            os._exit(2)
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == DONE
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@pytest.mark.parametrize("options", [{}, {"every": 2}], ids=["plain", "with states"])
def test_a_stream_is_refused_in_a_forked_process_and_goes_on_in_its_own(
    options: dict[str, int],
) -> None:
    sizes = {"B": 40, "T": 3, "I": 6}
    expected = training()(**sizes)["loss"]
    records = training().stream("i", **options, **sizes)
    found = [next(records).loss]

    def read() -> bool:
        with pytest.raises(ArgumentError) as refused:
            next(records)
        return str(refused.value) == (
            "the stream belongs to the process that this one was forked from\n"
            "  Read it there, or open another one here."
        )

    assert in_fork(read)
    np.testing.assert_array_equal(found + [each.loss for each in records], expected)


def test_a_forked_process_leaves_a_stream_and_runs_the_program() -> None:
    sizes = {"B": 40, "T": 3, "I": 6}
    expected = training()(**sizes)["loss"]

    def leave() -> bool:
        records.close()
        return np.array_equal(training()(**sizes)["loss"], expected)

    with training().stream("i", **LONG) as records:
        next(records)
        assert in_fork(leave)
        next(records)


@pytest.mark.parametrize(
    ("module", "name"),
    [(node, "_GUARD"), (remembered, "_GUARD"), (egglog_session, "_LOADING")],
    ids=["nodes", "graphs", "engine"],
)
def test_a_lock_that_another_thread_holds_is_open_in_a_forked_process(
    module: ModuleType, name: str
) -> None:
    guard: Guard = getattr(module, name)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with guard.lock:
            held.set()
            done.wait(PATIENCE_S)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(PATIENCE_S)
    try:
        assert in_fork(lambda: guard.lock.acquire(timeout=1))
        assert guard.lock.locked()
    finally:
        done.set()
        thread.join()


def test_a_forked_process_writes_programs_while_another_thread_did() -> None:
    x, done = ot.input("x"), threading.Event()

    def write() -> None:
        for k in range(10**6):
            if done.is_set():
                break
            _ = x * float(k)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert all(in_fork(lambda: (x + 1.0).dtype == "float32") for _ in range(5))
    finally:
        done.set()
        thread.join()


def test_turns_are_as_before_in_a_process_that_is_forked_while_a_program_is_compiled() -> None:
    usual = sys.getswitchinterval()

    def as_before() -> bool:
        found = sys.getswitchinterval() == usual
        turns.shorten()
        turns.restore()
        return found and sys.getswitchinterval() == usual

    turns.shorten()
    try:
        assert in_fork(as_before)
    finally:
        turns.restore()
    assert sys.getswitchinterval() == usual

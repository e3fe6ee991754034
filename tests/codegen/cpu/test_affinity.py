"""Threads that are moved between processors, and keep the affinity that they had."""

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.cpu.flags import DRIVER
from ostinato.codegen.cpu.numba_door import njit
from ostinato.codegen.cpu.phase_workers import bring, core, leave, own_thread, ran_ns

Array = npt.NDArray[Any]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has what moves them")


@njit(**DRIVER)
def where(found: Array) -> None:
    found[0] = own_thread()
    found[1] = core()


@njit(**DRIVER)
def ran(found: Array, thread: int) -> None:
    found[0] = ran_ns(thread)


@njit(**DRIVER)
def go(found: Array) -> None:
    here = core()
    leave(here)
    found[0] = here
    found[1] = core()


@njit(**DRIVER)
def fetch(thread: int) -> None:
    bring(thread, core())


def found_by(function: Any, *arguments: int) -> list[int]:
    words = np.zeros(2, np.int64)
    function(words, *arguments)
    return words.tolist()


def test_a_thread_knows_its_number_and_its_processor() -> None:
    thread, processor = found_by(where)
    assert thread == threading.get_native_id() and processor in os.sched_getaffinity(0)


def test_the_clock_of_a_thread_stands_still_while_it_waits() -> None:
    gate, waits = threading.Event(), threading.Event()

    def wait() -> None:
        waits.set()
        gate.wait()

    other = threading.Thread(target=wait)
    other.start()
    waits.wait()
    time.sleep(0.05)  # until it sleeps
    assert other.native_id is not None
    first, own = found_by(ran, other.native_id)[0], found_by(ran, threading.get_native_id())[0]
    sum(range(200_000))
    assert found_by(ran, other.native_id)[0] == first > 0
    assert found_by(ran, threading.get_native_id())[0] > own
    before = os.sched_getaffinity(other.native_id)
    fetch(other.native_id)
    assert os.sched_getaffinity(other.native_id) == before
    gate.set()
    other.join()


def test_who_leaves_a_processor_is_on_another_one_if_there_is_one() -> None:
    before = os.sched_getaffinity(0)
    was, now = found_by(go)
    assert os.sched_getaffinity(0) == before
    assert (was != now) == (len(before) > 1)
    only = {min(before)}
    os.sched_setaffinity(0, only)
    try:
        assert found_by(go) == [*only, *only] and os.sched_getaffinity(0) == only
    finally:
        os.sched_setaffinity(0, before)


def test_a_thread_that_is_gone_is_nobody() -> None:
    other = threading.Thread(target=sum, args=((),))
    other.start()
    other.join()
    assert other.native_id is not None
    while Path(f"/proc/self/task/{other.native_id}").exists():  # join does not wait for the kernel
        time.sleep(0.001)
    assert found_by(ran, other.native_id)[0] == 0
    fetch(other.native_id)

import os
import threading
from collections.abc import Callable

import pytest

from ostinato.runtime.run.blocking_pool import Workers


def run(count: int, work: Callable[[int], None]) -> None:
    def entry(tid: int, *_: object) -> None:
        work(tid)

    Workers(entry, count, ()).wait()


def rest(tid: int) -> None:
    """Nothing to do."""


def test_every_worker_runs_once_and_at_the_same_time() -> None:
    meeting, seen = threading.Barrier(3, timeout=10), list[int]()

    def work(tid: int) -> None:
        seen.append(tid)
        meeting.wait()

    run(3, work)
    assert sorted(seen) == [0, 1, 2]


def test_later_runs_start_no_threads() -> None:
    """But for those in whose place one returns late: a run is over when the first one returns."""
    run(2, rest)
    before = threading.active_count()
    for _ in range(100):
        run(2, rest)
    assert threading.active_count() - before < 4


def test_runs_beside_each_other_have_threads_of_their_own() -> None:
    go = threading.Event()

    def await_go(*_: object) -> None:
        go.wait(10)

    def give_go(*_: object) -> None:
        go.set()

    first, second = Workers(await_go, 2, ()), Workers(give_go, 2, ())
    second.wait()
    first.wait()
    assert not first.is_running() and not second.is_running()


def test_what_a_worker_raises_reaches_the_caller_and_the_thread_lives() -> None:
    def fail(tid: int) -> None:
        raise ValueError(f"worker {tid}")

    with pytest.raises(ValueError, match="worker 0"):
        run(1, fail)
    before = threading.active_count()
    run(1, rest)
    assert threading.active_count() == before


def test_waiting_may_end_before_the_work_does() -> None:
    go = threading.Event()

    def await_go(*_: object) -> None:
        go.wait(10)

    workers = Workers(await_go, 1, ())
    workers.wait(0.01)
    assert workers.is_running()
    go.set()
    workers.wait()
    assert not workers.is_running()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_has_workers_of_its_own() -> None:
    run(2, rest)
    child = os.fork()
    if child == 0:
        run(2, rest)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_the_caller_is_a_worker_of_a_brief_run() -> None:
    found: dict[int, int] = {}
    meeting = threading.Barrier(2, timeout=10)

    def entry(tid: int, nt: int) -> None:
        found[tid] = threading.get_ident()
        meeting.wait()

    Workers(entry, 2, (), is_brief=True).wait()
    assert found[0] == threading.get_ident() != found[1]


def test_what_the_caller_raises_as_a_worker_reaches_it() -> None:
    def entry(tid: int, nt: int) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Workers(entry, 1, (), is_brief=True).wait()

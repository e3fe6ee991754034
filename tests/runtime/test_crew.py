"""Brief runs: who looks for work is given some, who sleeps is woken, and nothing is mixed up."""

import os
import threading
import time
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.compiler.compiled import Compiled
from ostinato.runtime.run import spinning_pool

Array = npt.NDArray[Any]
X = np.arange(6 * 96, dtype="float32").reshape(6, 96)


def sums(threads: int) -> Compiled:
    t, b = ot.dims("t b")
    x = ot.input("x", over=(t, b))
    return ot.Program(s=x[: t + 1, b].sum(0)).compile(threads=threads, widths={"b": 32})


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> Compiled:
    """A program on three threads whose runs count as brief, after the first one."""
    monkeypatch.setattr("ostinato.runtime.run.executor.BRIEF_S", 60.0)
    run = sums(3)
    run(x=X)
    return run


def test_every_number_of_threads_gives_the_same_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostinato.runtime.run.executor.BRIEF_S", 60.0)
    for threads in (1, 2, 3, 4):
        run = sums(threads)
        for k in range(3):
            np.testing.assert_array_equal(run(x=X + k)["s"], np.cumsum(X + k, 0))


@pytest.mark.parametrize("looks", [1, 1_000_000])
def test_later_runs_find_the_threads_of_earlier_ones_awake_or_asleep(
    looks: int, brief: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spinning_pool, "LOOKS", looks)
    monkeypatch.setattr(spinning_pool, "available_cores", lambda: 2)
    brief(x=X)
    before = threading.active_count()
    for k in range(40):
        np.testing.assert_array_equal(brief(x=k * X)["s"][-1], k * X.sum(0))
        time.sleep(0.002 * (k % 10 == 0))
    assert threading.active_count() <= before + 2  # one of each may be about to be idle


@pytest.mark.parametrize("is_shared", [True, False])
def test_brief_runs_beside_each_other_are_not_mixed_up(is_shared: bool, brief: Compiled) -> None:
    right = list[bool]()

    def work(number: int) -> None:
        run = brief if is_shared else sums(2)
        for k in range(60):
            x = np.tile(X + number * k, (1 + (number + k) % 2, 1))
            right.append(np.array_equal(run(x=x)["s"], np.cumsum(x, 0)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 180


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_machine_code_is_there_while_it_runs_when_two_callers_made_it_at_once(
    brief: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the two has a library that nobody else has, as here every caller."""
    made_for: Any = spinning_pool.made_for
    monkeypatch.setattr(spinning_pool, "made_for", made_for.__wrapped__)
    child = os.fork()
    if child == 0:
        os._exit(7 if np.array_equal(brief(x=X)["s"], np.cumsum(X, 0)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_looks_for_nobody_who_is_not_there(brief: Compiled) -> None:
    brief(x=X)
    child = os.fork()
    if child == 0:
        os._exit(7 if np.array_equal(brief(x=X)["s"], np.cumsum(X, 0)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_caller_that_is_interrupted_lets_everybody_go_and_begins_nothing_again(
    brief: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = list[object]()

    class Interrupted:
        def function(self, *job: object) -> int:
            begun.append(job)
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(spinning_pool, "lead_of", Interrupted)
        brief(x=X)
    assert len(begun) == 1
    np.testing.assert_array_equal(brief(x=X)["s"], np.cumsum(X, 0))


def test_seeds_differ_from_one_brief_run_to_the_next(brief: Compiled) -> None:
    t = ot.dims("t")
    run = ot.Program(u=ot.random.uniform(over=t)).compile(threads=1)
    wanted = [run(T=4, seed=k)["u"].tolist() for k in (0, 2**63 - 1, 2**64 - 1)]
    again = [run(T=4, seed=k)["u"].tolist() for k in (0, 2**63 - 1, 2**64 - 1)]
    assert wanted == again and wanted[0] != wanted[1] != wanted[2]

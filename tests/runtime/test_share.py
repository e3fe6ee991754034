"""Workers that wait for a processor: one does all for a while, then all are tried again."""

import os
import threading

import pytest

from ostinato.runtime.share import FIRST_S, LONGEST_S, WINDOW_NS, Share, times_of


class Machine:
    """A clock, and threads of which every one loses a part of what it wants."""

    def __init__(self, *lost: float) -> None:
        self.now, self.lost = 100.0, list(lost)
        self.times = {k: (0, 0) for k in range(len(lost))}
        self.share = Share(lambda: self.now, self.times.get)

    def work(self, seconds: float) -> None:
        """All threads want to run all the time; who runs is looked at every 5 ms."""
        end = self.now + seconds
        while self.now < end:
            self.now += 5e-3
            if self.share.workers(2) == 2:
                for k, lost in enumerate(self.lost):
                    running, waiting = self.times[k]
                    wait = int(5e6 * lost)
                    self.times[k] = running + 5_000_000 - wait, waiting + wait
                if self.share.is_due:
                    self.share.note(self.times)


def test_workers_that_run_at_once_all_work() -> None:
    machine = Machine(0.0, 0.05)
    machine.work(1.0)
    assert machine.share.workers(2) == 2


def test_one_works_while_another_one_waits_for_a_processor() -> None:
    machine = Machine(0.0, 0.5)
    machine.work(0.016)
    assert machine.share.workers(2) == machine.share.workers(1) == 1
    machine.now += FIRST_S
    assert machine.share.workers(2) == 2  # they are tried again


def test_a_busy_machine_is_tried_less_and_less_often() -> None:
    machine, tried = Machine(0.4, 0.4), 0
    machine.work(1.0)
    for _ in range(1000):
        tried += machine.share.workers(2) == 2
        machine.work(0.005)
    assert 0 < tried * 5e-3 < 5 * 0.25
    machine.lost = [0.0, 0.0]
    machine.work(LONGEST_S + 0.1)
    assert machine.share.workers(2) == 2
    machine.lost = [0.4, 0.4]
    machine.work(0.02)
    machine.now += FIRST_S
    assert machine.share.workers(2) == 2  # a quiet time in between makes the next pause short


def test_little_is_no_reason_to_judge() -> None:
    machine = Machine(0.0, 0.0)
    for waited in range(0, WINDOW_NS, WINDOW_NS // 8):
        machine.times = {0: (0, waited)}
        machine.share.note([0])
        machine.now += 4e-3
    assert machine.share.workers(2) == 2


def test_threads_that_the_system_does_not_know_say_nothing() -> None:
    share = Share()
    share.note([0, -1])
    assert share.workers(3) == 3


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="the kernel counts nothing")
def test_the_kernel_counts_the_time_of_a_thread() -> None:
    before = times_of(threading.get_native_id())
    sum(range(10**6))
    after = times_of(threading.get_native_id())
    assert before is not None and after is not None and after[1] >= before[1] >= 0
    assert sum(after) > sum(before)

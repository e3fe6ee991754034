"""Compiling kernels on all cores: this process and workers take them from one queue.

LLVM compiles on one thread of a process at a time, so each further core is a process. They are
started before the first kernel exists, because starting takes as long as a kernel.

The engine of the rules and the threads that pass kernels on need Python briefly and often. By
default they would wait 5 ms each time while another thread uses it: while a program is compiled,
turns are shorter.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, PriorityQueue

from ostinato.pdg.forked import in_forked_processes
from ostinato.runtime.machine_code import optimise

TURN_S = 1e-4  # shorter ones gain nothing (measured)


class _Turns:
    """Shortened while somebody asks for it."""

    def __init__(self) -> None:
        self._asking, self._before = 0, 0.0
        self._lock = threading.Lock()

    def shorten(self) -> None:
        with self._lock:
            if not self._asking:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(min(self._before, TURN_S))
            self._asking += 1

    def restore(self) -> None:
        with self._lock:
            self._asking -= 1
            if not self._asking:
                sys.setswitchinterval(self._before)

    def forget(self) -> None:
        """In a forked process: no thread that asked for short turns exists."""
        if self._asking:
            sys.setswitchinterval(self._before)
        self._asking, self._lock = 0, threading.Lock()


turns = _Turns()
in_forked_processes(turns.forget)


@contextmanager
def short_turns() -> Generator[None]:
    """Threads take turns with Python more often than usual."""
    turns.shorten()
    try:
        yield
    finally:
        turns.restore()


MOST = 8  # processes: kernels are few


class Worker:
    """A process that compiles one module after the other."""

    def __init__(self) -> None:
        path = os.pathsep.join(p for p in sys.path if p)
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-P", str(Path(optimise.__file__))],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            close_fds=False,
        )

    def machine_code(self, text: str) -> bytes:
        """The object file of a module.

        Errors: OSError if the process has ended.
        """
        requests, answers = self.process.stdin, self.process.stdout
        assert requests is not None, "a worker has a pipe"
        assert answers is not None, "a worker has a pipe"
        body = text.encode()
        requests.write(b"%d\n" % len(body) + body)
        requests.flush()
        line = answers.readline()
        if not line:
            raise OSError("a compiling process has ended")
        return answers.read(int(line))

    def close(self) -> None:
        """End the process; it may be in the middle of a module."""
        self.process.kill()
        self.process.communicate()


class Team:
    """The processes that compile for one program."""

    def __init__(self, cores: int) -> None:
        """Start a process for each core but this one's: they are ready a moment later."""
        count = min(cores, MOST) - 1 if sys.executable else 0
        self.workers = [Worker() for _ in range(count)]
        self._jobs: PriorityQueue[Job] = PriorityQueue()
        self._made: dict[str, bytes] = {}
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *_: object) -> None:
        threads = self._dismiss()
        for worker in self.workers:
            worker.process.kill()
        _join(threads)  # before the pipes are closed on which they wait
        for worker in self.workers:
            worker.close()

    def put(self, key: str, text: str) -> None:
        """Let a module be compiled, from now on, unless a longer one is waiting."""
        self._jobs.put(Job(-len(text), key, text))
        if self.workers and not self._threads:
            turns.shorten()
            self._threads = [
                threading.Thread(target=_work, args=(worker, self._jobs, self._made), daemon=True)
                for worker in self.workers
            ]
            for thread in self._threads:
                thread.start()

    def finish(self) -> dict[str, bytes]:
        """The machine code of all modules by key: this process compiles what nobody has begun."""
        _finish(self._jobs, self._made)
        _join(self._dismiss())
        _finish(self._jobs, self._made)
        return self._made

    def _dismiss(self) -> list[threading.Thread]:
        """Let the threads end after what they are doing."""
        threads, self._threads = self._threads, []
        if threads:
            turns.restore()
        for _ in threads:
            self._jobs.put(END)
        return threads


def _join(threads: list[threading.Thread]) -> None:
    """Wait for the end of those that have begun: an interrupt may have come before the others."""
    for thread in threads:
        if thread.is_alive():
            thread.join()


@dataclass(frozen=True, order=True)
class Job:
    """A module to compile; what takes longest comes first."""

    order: int
    key: str
    text: str = field(compare=False)


END = Job(0, "", "")  # after all others


def _work(worker: Worker, jobs: PriorityQueue[Job], made: dict[str, bytes]) -> None:
    """Let a process do jobs; one that it does not finish is left to this process."""
    while (job := jobs.get()) is not END:
        try:
            made[job.key] = worker.machine_code(job.text)
        except OSError:
            jobs.put(job)
            return


def _finish(jobs: PriorityQueue[Job], made: dict[str, bytes]) -> None:
    """Do the jobs that nobody has taken."""
    while True:
        try:
            job = jobs.get_nowait()
        except Empty:
            return
        if job is not END:
            made[job.key] = optimise.machine_code(job.text)

"""Compiling kernels on all cores: this process and workers take them from one queue.

LLVM compiles on one thread of a process at a time, so each further core is a process. They are
started before the first kernel exists, because starting takes as long as a kernel.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from queue import Empty, SimpleQueue

from ostinato.runtime import optimise

MOST = 8  # processes: kernels are few


class Worker:
    """A process that compiles one module after the other."""

    def __init__(self) -> None:
        """Start the process."""
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

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.close()

    def compile(self, modules: Iterable[tuple[str, str]]) -> dict[str, bytes]:
        """The machine code of modules by key; each is begun as soon as the iterable gives it."""
        jobs: SimpleQueue[tuple[str, str] | None] = SimpleQueue()
        made: dict[str, bytes] = {}
        threads = [
            threading.Thread(target=_work, args=(worker, jobs, made), daemon=True)
            for worker in self.workers
        ]
        for thread in threads:
            thread.start()
        try:
            for job in modules:
                jobs.put(job)
            _finish(jobs, made)
        finally:
            for _ in threads:
                jobs.put(None)
        for thread in threads:
            thread.join()
        _finish(jobs, made)
        return made


def _work(
    worker: Worker, jobs: SimpleQueue[tuple[str, str] | None], made: dict[str, bytes]
) -> None:
    """Let a process do jobs; one that it does not finish is left to this process."""
    while (job := jobs.get()) is not None:
        try:
            made[job[0]] = worker.machine_code(job[1])
        except OSError:
            jobs.put(job)
            return


def _finish(jobs: SimpleQueue[tuple[str, str] | None], made: dict[str, bytes]) -> None:
    """Do the jobs that nobody has taken."""
    while True:
        try:
            job = jobs.get_nowait()
        except Empty:
            return
        if job is not None:
            made[job[0]] = optimise.machine_code(job[1])

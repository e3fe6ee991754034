"""Programs measured in processes of their own: no threads wait beside another program's.

``python -m bench.harness.served MODULE:FUNCTION SIZES`` makes a sampler, and answers every line of
its standard input with one sample and how many processors it had on average, as JSON. If the
sampler fails, it answers with the reason and ends. It uses the standard library only, so that it
runs in the environment of any peer.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parents[2]

Sample = float | dict[str, float]
CORES = "cores"  # a unit: processor seconds per second


def sampler(factory: str, size: Mapping[str, object]) -> Callable[[], Sample]:
    """Return what ``module:function`` makes for these sizes."""
    module, _, function = factory.partition(":")
    made: Callable[[], Sample] = getattr(importlib.import_module(module), function)(**size)
    return made


def main() -> None:
    # What a library prints must not stand among the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        sample = sampler(sys.argv[1], json.loads(sys.argv[2]))
        for _ in sys.stdin:
            start, ran = time.perf_counter(), time.process_time()
            made = sample()
            cores = (time.process_time() - ran) / (time.perf_counter() - start)
            print(json.dumps([made, cores]), file=answers, flush=True)
    except Exception as error:
        traceback.print_exc()
        print(json.dumps(reason(error)), file=answers, flush=True)
        sys.exit(1)


def reason(error: Exception) -> str:
    """Return what an error says, on one line."""
    return " ".join([f"{type(error).__name__}:", *str(error).split()])


class Served:
    """A sampler in another process."""

    def __init__(self, python: str, factory: str, size: Mapping[str, object]) -> None:
        """Start the process; it prepares its program before the first answer."""
        path = f"{ROOT}{os.pathsep}{ROOT / 'src'}"
        self._process = subprocess.Popen(
            [python, "-m", "bench.harness.served", factory, json.dumps(dict(size))],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._name = factory
        self._failed = ""  # why there is no further sample
        self.cores = 0.0  # that the last sample had on average

    def __call__(self) -> Sample:
        """Return one sample; ChildProcessError if it failed, or the process has ended."""
        assert self._process.stdin is not None and self._process.stdout is not None, "pipes are set"
        if self._failed:
            raise ChildProcessError(self._failed)
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended: the answer below is empty
        answer = self._process.stdout.readline()
        how = "" if answer else ending(self._process.wait())
        ended = f"the process that runs {self._name} has ended {how}"
        found: str | tuple[Sample, float] = json.loads(answer) if answer else ended
        if isinstance(found, str):
            self._failed = found
            raise ChildProcessError(found)
        sample, self.cores = found
        return sample

    def with_cores(self, unit: str) -> dict[str, float]:
        """Return one sample by unit, with the processors that it had on average as one of them."""
        sample = self()
        return {**(sample if isinstance(sample, dict) else {unit: sample}), CORES: self.cores}

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()  # it holds nothing that is worth an orderly end
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None, "pipes are set"
            try:
                pipe.close()
            except BrokenPipeError:
                pass  # what it did not read any more


def ending(status: int) -> str:
    """Return how a process ended, in words.

    >>> ending(3), ending(-9)
    ('with status 3', 'by SIGKILL')
    """
    return f"with status {status}" if status >= 0 else f"by {signal.Signals(-status).name}"


if __name__ == "__main__":
    main()

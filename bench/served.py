"""Programs measured in processes of their own: no threads wait beside another program's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parent.parent


def serve(sampler: Callable[[], float]) -> None:
    """Answer every line of standard input with one sample."""
    for _ in sys.stdin:
        print(sampler(), flush=True)


class Served:
    """A sampler in another process: ``python -m MODULE NAME``, which calls `serve`."""

    def __init__(self, module: str, name: str) -> None:
        """Start the process; it prepares its program before the first answer."""
        path = f"{ROOT}{os.pathsep}{ROOT / 'src'}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, name],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._name = name

    def __call__(self) -> float:
        """Return one sample."""
        assert self._process.stdin is not None and self._process.stdout is not None, "pipes are set"
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process that runs {self._name} has ended: see above")
        return float(answer)

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None, "pipes are set"
        self._process.stdin.close()
        self._process.wait()

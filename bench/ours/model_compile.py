"""Compiling a transformer in training, in a fresh process with an empty cache.

As a command it is that process, and prints one JSON object. Its argument is the number of layers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]


def cold(layers: int) -> Callable[[], dict[str, float]]:
    """Return a sampler whose processes find an empty cache each."""

    def sample() -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            finished = subprocess.run(
                [sys.executable, "-m", "bench.ours.model_compile", str(layers)],
                env={
                    **os.environ,
                    "OSTINATO_CACHE_DIR": folder,
                    "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
                },
                stdout=subprocess.PIPE,
                check=True,
            )
        found: dict[str, float] = json.loads(finished.stdout)
        return found

    return sample


def processor_s() -> float:
    """Return what this process and those it has waited for took of the processors."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main(layers: int) -> dict[str, float]:
    from bench.ours.models import transformer

    start, taken = time.perf_counter(), processor_s()
    compiled = transformer(layers).compile()
    assert compiled.executable is not None
    return {"compile_s": time.perf_counter() - start, "processor_s": processor_s() - taken}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))

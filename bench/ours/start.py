"""Start of a program in a fresh process: from nothing to the first finished iteration, timed.

As a command it is that process, and prints one JSON object. Its arguments are FILE[:FUNCTION] and
a JSON object of extents.
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
KIB = 1024


def cold(envs: int, steps: int) -> Callable[[], dict[str, float]]:
    """Return a sampler whose processes find an empty cache each."""

    def sample() -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            return fresh_process(Path(folder), {"B": envs, "T": steps, "I": 1})

    return sample


def warm(envs: int, steps: int) -> Callable[[], dict[str, float]]:
    """Return a sampler whose processes find what one before them has compiled."""
    folder = tempfile.TemporaryDirectory()
    extents = {"B": envs, "T": steps, "I": 1}
    return lambda: fresh_process(Path(folder.name), extents)


def fresh_process(cache: Path, extents: dict[str, int]) -> dict[str, float]:
    """Return what `main` measures in a new process that uses this cache directory."""
    place = str(ROOT / "examples" / "ppo_cartpole.py")
    finished = subprocess.run(
        [sys.executable, __file__, place, json.dumps(extents)],
        env={
            **os.environ,
            "OSTINATO_CACHE_DIR": str(cache),
            "PYTHONPATH": str(ROOT / "src"),  # installed or not, this checkout is measured
        },
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(finished.stdout)
    return found


def peak_bytes() -> int:
    """Return the peak of this program alone: ``ru_maxrss`` would remember the parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(row for row in status.splitlines() if row.startswith("VmHWM:"))
    return int(line.split()[1]) * KIB


def main(place: str, extents: dict[str, int]) -> dict[str, float]:
    start = time.perf_counter()
    from ostinato.cli.program_file import load_experiment

    imported = time.perf_counter()
    experiment = load_experiment(place, ["cut_is_over=true"])  # see `PPO` in compiled.py
    traced = time.perf_counter()
    compiled = experiment.program.compile()
    compiled_at = time.perf_counter()
    compiled(check_finite=False, **{**experiment.arguments, **extents})
    finished = time.perf_counter()
    return {
        "import_s": imported - start,
        "trace_s": traced - imported,
        "compile_s": compiled_at - traced,
        "start_s": finished - start,
        "peak_bytes": peak_bytes(),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], json.loads(sys.argv[2]))))

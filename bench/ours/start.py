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
EXAMPLE = str(ROOT / "examples" / "ppo_cartpole.py")
KIB = 1024


def cold(envs: int, steps: int) -> Callable[[], dict[str, float]]:
    """Return a sampler whose processes find an empty cache each."""

    def sample() -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            return fresh_process(Path(folder), {"B": envs, "T": steps, "E": 4, "I": 1})

    return sample


def warm(envs: int, steps: int) -> Callable[[], dict[str, float]]:
    """Return a sampler whose processes find what one before them has compiled."""
    folder = tempfile.TemporaryDirectory()
    extents = {"B": envs, "T": steps, "E": 4, "I": 1}
    return lambda: fresh_process(Path(folder.name), extents)


def fresh_process(cache: Path, extents: dict[str, int]) -> dict[str, float]:
    """Return what `main` measures in a new process that uses this cache directory."""
    finished = subprocess.run(
        [sys.executable, __file__, EXAMPLE, json.dumps(extents)],
        env=_environment(cache),
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(finished.stdout)
    return found


def solved_cold(envs: int, steps: int) -> Callable[[], dict[str, float]]:
    """Return a sampler of `solved` whose processes find an empty cache each."""

    def sample() -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            return solved(Path(folder), envs, steps)

    return sample


def solved_warm(envs: int, steps: int) -> Callable[[], dict[str, float]]:
    """Return a sampler of `solved` whose processes find what one before them has compiled."""
    folder = tempfile.TemporaryDirectory()
    return lambda: solved(Path(folder.name), envs, steps)


def solved(cache: Path, envs: int, steps: int) -> dict[str, float]:
    """Return when the command line says that CartPole is solved, and when it ends."""
    settings = ["--set", f"games={envs}", "--set", f"steps={steps}"]
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-c", "from ostinato.cli import main; main()", "run", EXAMPLE,
             *settings, "--out", Path(folder) / "run", "--no-progress"],
            env=_environment(cache),
            stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        assert process.stdout is not None
        line = next(line for line in process.stdout if line.startswith("solved at iteration"))
        found = time.perf_counter()
        assert "475" in line and process.wait() == 0
        process.stdout.close()
    return {"solved_s": found - start, "command_s": time.perf_counter() - start}


def _environment(cache: Path) -> dict[str, str]:
    """What a fresh process is given; installed or not, this checkout is measured."""
    return {**os.environ, "OSTINATO_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT / "src")}


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

"""Start of JAX's PPO in a fresh process. As a command it is that process; its argument is sizes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[3]


def cold(envs: int, steps: int) -> Callable[[], dict[str, float]]:
    """Return a sampler whose processes compile."""
    return lambda: fresh_process([envs, steps], {})


def warm(envs: int, steps: int) -> Callable[[], dict[str, float]]:
    """Return a sampler whose processes find what one before them has compiled."""
    folder = tempfile.TemporaryDirectory()
    options = {"COMPILATION_CACHE_DIR": folder.name, "PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    return lambda: fresh_process(
        [envs, steps], {f"JAX_{name}": value for name, value in options.items()}, folder
    )


def fresh_process(
    sizes: list[int], options: dict[str, str], _kept: object = None
) -> dict[str, float]:
    """Return what `main` measures in a new process; ``_kept`` lives as long as the sampler."""
    plain = {name: text for name, text in os.environ.items() if not name.startswith("JAX_")}
    finished = subprocess.run(
        [sys.executable, __file__, json.dumps(sizes)],
        env={**plain, **options, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(finished.stdout)
    return found


def main(envs: int, steps: int) -> dict[str, float]:
    start = time.perf_counter()
    from bench.peers.in_jax import ppo

    imported = time.perf_counter()
    setup = ppo.Setup(envs, steps)
    training = ppo.start(setup)
    made = time.perf_counter()
    compiled = ppo.repeat.lower(training, setup, 1).compile()
    compiled_at = time.perf_counter()
    compiled(training, 1).count.block_until_ready()
    finished = time.perf_counter()
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = next(row for row in status.splitlines() if row.startswith("VmHWM:"))
    return {
        "import_s": imported - start,
        "trace_s": made - imported,
        "compile_s": compiled_at - made,
        "start_s": finished - start,
        "peak_bytes": int(peak.split()[1]) * 1024,
    }


if __name__ == "__main__":
    print(json.dumps(main(*json.loads(sys.argv[1]))))

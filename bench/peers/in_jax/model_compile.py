"""Compiling JAX's transformer in training, in a fresh process. As a command it is that process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[3]
BATCH, STEPS = 8, 64


def cold(layers: int) -> Callable[[], dict[str, float]]:
    """Return a sampler whose processes compile."""
    plain = {name: text for name, text in os.environ.items() if not name.startswith("JAX_")}

    def sample() -> dict[str, float]:
        finished = subprocess.run(
            [sys.executable, "-m", "bench.peers.in_jax.model_compile", str(layers)],
            env={**plain, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            check=True,
        )
        found: dict[str, float] = json.loads(finished.stdout)
        return found

    return sample


def main(layers: int) -> dict[str, float]:
    from bench.peers.in_jax import models

    p, batch = models.transformer(layers, STEPS), models.tokens(BATCH, STEPS)
    start, taken = time.perf_counter(), time.process_time()
    models.loop_of(models.transformer_loss).lower(1, p, batch).compile()
    return {
        "compile_s": time.perf_counter() - start,
        "processor_s": time.process_time() - taken,
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))

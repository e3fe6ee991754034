"""REINFORCE on CartPole, learning included, beside plain NumPy and, when installed, plain JAX."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.peers import numpy_reinforce
from bench.peers.numpy_reinforce import Setup
from bench.report import Quantity, Report, machine
from bench.sampling import alternate, ratios, spread
from bench.served import Served, serve
from ostinato.cli.load import load_experiment

ROOT = Path(__file__).parent.parent
PLACE = str(ROOT / "examples" / "reinforce_cartpole.py")
SETUP = Setup()
# Iterations per sample: some tenths of a second each.
OURS, NUMPY, JAX = 100, 10, 20
STARTS = 3  # fresh processes per cold and per warm figure

Sampler = Callable[[], float]


def measure(rounds: int) -> Report:
    """Return env-steps/s of each program, our start times cold and warm, and peak memory."""
    found = machine()
    names = [name for name in SAMPLERS if name != "JAX" or importlib.util.find_spec("jax")]
    with ExitStack() as processes:
        programs = {n: processes.enter_context(Served("bench.reinforce", n)) for n in names}
        samples = alternate(programs, rounds)
    speeds = [
        Quantity(
            name,
            "speed, learning included",
            "env-steps/s",
            spread(values),
            None if name == "ostinato" else ratios(samples["ostinato"], values),
        )
        for name, values in samples.items()
    ]
    setting = f"{SETUP.episodes} episodes x {SETUP.steps} steps, MLP {SETUP.hidden}x{SETUP.hidden}"
    return Report("reinforce", setting, (*speeds, *starts()), found)


def timed(iterations: int, run: Callable[[], object]) -> float:
    """Return environment steps per second of a run of so many iterations."""
    start = time.perf_counter()
    run()
    return iterations * SETUP.episodes * SETUP.steps / (time.perf_counter() - start)


def extents(iterations: int) -> dict[str, int]:
    return {"B": SETUP.episodes, "T": SETUP.steps, "I": iterations}


def ostinato_speed() -> Sampler:
    experiment = load_experiment(PLACE, [])
    compiled = experiment.program.compile()
    arguments = {**experiment.arguments, **extents(OURS)}

    def run() -> None:
        require_possible(compiled(check_finite=False, **arguments)["episode_return"])

    return lambda: timed(OURS, run)


def require_possible(returns: npt.NDArray[np.floating]) -> None:
    """Raise if no agent can have earned these returns: the speed of a wrong result is no figure."""
    if not bool(((returns >= 1) & (returns <= SETUP.steps)).all()):
        raise ValueError(f"mean episode returns outside 1 .. {SETUP.steps}: {returns}")


def numpy_speed() -> Sampler:
    training = numpy_reinforce.Reinforce(SETUP)
    return lambda: timed(NUMPY, lambda: training.run(NUMPY))


def jax_speed() -> Sampler:
    from bench.peers import jax_reinforce

    training = jax_reinforce.Reinforce(SETUP)
    return lambda: timed(JAX, lambda: training.run(JAX))


SAMPLERS: dict[str, Callable[[], Sampler]] = {
    "ostinato": ostinato_speed,
    "NumPy": numpy_speed,
    "JAX": jax_speed,
}


def starts() -> list[Quantity]:
    """Return the times from process start to the first iteration, without and with a cache."""
    quantities: list[Quantity] = []
    with tempfile.TemporaryDirectory() as folder:
        caches = [Path(folder, str(number)) for number in range(STARTS)]
        cold = [fresh_process(cache) for cache in caches]
        warm = [fresh_process(caches[0]) for _ in range(STARTS)]
    for state, found in (("cold", cold), ("warm", warm)):
        for key in ("start_s", "import_s", "trace_s", "compile_s", "first_run_s"):
            what = f"{state} {key.removesuffix('_s').replace('_', ' ')}"
            values = spread([sample[key] for sample in found])
            quantities.append(Quantity("ostinato", what, "s", values))
        memory = spread([sample["peak_rss_mib"] for sample in found])
        quantities.append(Quantity("ostinato", f"{state} peak RSS", "MiB", memory))
    return quantities


def fresh_process(cache: Path) -> Mapping[str, float]:
    """Return what bench/start.py measures in a new process that uses this cache directory."""
    finished = subprocess.run(
        [sys.executable, ROOT / "bench" / "start.py", PLACE, json.dumps(extents(1))],
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


if __name__ == "__main__":
    serve(SAMPLERS[sys.argv[1]]())

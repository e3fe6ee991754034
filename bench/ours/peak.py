"""How much of a core's peak a program's update reaches, by the profile of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bench.handwritten.multiply_adds import peak_flops
from bench.ours.compiled import EXAMPLES, PPO
from ostinato.cli.program_file import load_experiment
from ostinato.pdg.origin import GRADIENT, OPTIMIZER
from ostinato.report.kernels import KernelRecord

UPDATE = (GRADIENT, OPTIMIZER)


def ppo(envs: int, steps: int, iterations: int) -> Callable[[], dict[str, float]]:
    """Return a sampler of one thread: the fraction of the peak that is measured beside the run."""
    experiment = load_experiment(str(EXAMPLES / "ppo_cartpole.py"), PPO)
    compiled = experiment.program.compile(threads=1)
    extents = {"B": envs, "T": steps, "E": 4, "I": iterations}
    arguments = {**experiment.arguments, **extents}

    def sample() -> dict[str, float]:
        before = peak_flops()
        found = compiled.profile(**arguments)
        peak = max(before, peak_flops())
        products, seconds = update(found.kernels)
        return {"of_peak": products / seconds / peak, "peak_flop/s": peak}

    return sample


def update(kernels: Iterable[KernelRecord]) -> tuple[float, float]:
    """Return the arithmetic of the products of an update, and its seconds.

    A kernel belongs to the update that serves it more than anything else.
    """
    products = taken_ns = 0.0
    for kernel in kernels:
        share = sum(each for (name, _), each in kernel.shares.items() if name in UPDATE)
        if share > 0.5:
            products += kernel.operations.get("products", 0.0)
            taken_ns += kernel.measured_ns or 0.0
    return products, taken_ns / 1e9

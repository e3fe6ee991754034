"""Our own side of the suites: experiments of the examples folder, compiled for this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.harness.learning import samples
from bench.harness.timing import rates
from ostinato.cli.program_file import load_experiment
from ostinato.compiler.results import Results

EXAMPLES = Path(__file__).parents[2] / "examples"
PPO = ("cut_is_over=true",)  # as in the programs beside it, of which all but SB3's do so

Run = Callable[[int], Results]


def compiled_run(
    example: str,
    threads: int = 0,
    settings: tuple[str, ...] = (),
    target: str = "cpu",
    **extents: int,
) -> Run:
    """Return a function that runs so many iterations of an example, from a fresh start."""
    experiment = load_experiment(str(EXAMPLES / example), settings)
    compiled = experiment.program.compile(threads=threads, target=target)
    arguments = {**experiment.arguments, **extents}

    def run(iterations: int) -> Results:
        return compiled(check_finite=False, **{**arguments, "I": iterations})

    return run


def ppo(envs: int, steps: int, threads: int = 0, target: str = "cpu") -> Callable[[], float]:
    run = compiled_run("ppo_cartpole.py", threads, PPO, target, B=envs, T=steps, E=4)
    return rates(possible(run, 500), envs * steps)


def reinforce(
    episodes: int, steps: int, threads: int = 0, target: str = "cpu"
) -> Callable[[], float]:
    run = compiled_run("reinforce_cartpole.py", threads, target=target, B=episodes, T=steps)
    return rates(possible(run, steps), episodes * steps)


def possible(run: Run, most: int) -> Callable[[int], None]:
    """Return the same run, which raises if no agent can have earned what it reports."""

    def checked(iterations: int) -> None:
        returns = run(iterations)["episode_return"]
        if not bool(((returns >= 0) & (returns <= most)).all()):
            raise ValueError(f"mean episode returns outside 0 .. {most}: {returns}")

    return checked


def ppo_learning(envs: int, steps: int, updates: int) -> Callable[[], float]:
    experiment = load_experiment(str(EXAMPLES / "ppo_cartpole.py"), PPO)
    compiled = experiment.program.compile()
    extents = {"B": envs, "T": steps, "I": updates, "E": 4}

    def train(seed: int) -> list[float]:
        returns = compiled(**{**experiment.arguments, **extents, "seed": seed})["episode_return"]
        return [float(value) for value in returns]

    return samples(train)

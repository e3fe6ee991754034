"""The examples solve what they say, with their defaults."""

from pathlib import Path

import pytest

from ostinato.cli.program_file import load_experiment
from ostinato.cli.training import train

EXAMPLES = Path(__file__).parents[2] / "examples"
SEEDS = range(5)


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*_*.py")))
def test_an_example_is_solved_with_its_defaults_by_every_seed(name: str) -> None:
    experiment = load_experiment(str(EXAMPLES / f"{name}.py"), [])
    run = experiment.program.compile()
    for seed in SEEDS:
        with run.stream(experiment.over, seed=seed, **experiment.arguments) as records:
            assert train(experiment, records, []).end == "solved", f"seed {seed}"


def test_memory_grows_with_the_games_and_no_faster() -> None:
    """A tile of a group of tiles once had room for a whole row of groups: memory was quadratic."""
    experiment = load_experiment(str(EXAMPLES / "ppo_cartpole.py"), [])
    run = experiment.program.compile(threads=2)
    few, many = (
        run.executable.layout({"B": games, "T": 128, "E": 4, "I": 1}).total_bytes
        for games in (4096, 65536)
    )
    assert many < 16.5 * few

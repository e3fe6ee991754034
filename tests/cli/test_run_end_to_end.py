"""The command line on the real program: compile, train a little, and look at what it left."""

import csv
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ostinato as ot

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "examples" / "reinforce_cartpole.py"


def ostinato(*arguments: object) -> subprocess.CompletedProcess[str]:
    code = "from ostinato.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "", "NO_COLOR": "1", "COLUMNS": "100"},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run")
    settings = ["--set", "iterations=3", "--set", "episodes=8", "--set", "steps=32"]
    paths = ["--out", out, "--certificate", out / "certificate.json"]
    finished = ostinato("run", PROGRAM, *settings, *paths, "--seed", 7)
    assert finished.returncode == 0, finished.stderr
    assert f"run directory: {out}" in finished.stdout
    return out


def test_the_metrics_have_the_fixed_columns_and_one_row_per_iteration(directory: Path) -> None:
    with (directory / "metrics.csv").open() as file:
        header, *rows = csv.reader(file)
    assert header[:4] == ["iteration", "env_steps", "wall_s", "episode_return"]
    assert [row[:2] for row in rows] == [["0", "256"], ["1", "512"], ["2", "768"]]


def test_the_kernels_are_kept_as_python_a_person_can_read(directory: Path) -> None:
    texts = [path.read_text() for path in (directory / "kernels").glob("*.py")]
    assert texts
    for text in texts:
        compile(text, "kernel", "exec")


def test_the_configuration_says_how_to_run_again(directory: Path) -> None:
    config = json.loads((directory / "config.json").read_text())
    assert config["settings"] == {"iterations": "3", "episodes": "8", "steps": "32"}
    assert config["seed"] == 7


def test_the_certificate_names_the_rules(directory: Path) -> None:
    found = json.loads((directory / "certificate.json").read_text())
    assert found["format"] == "ostinato certificate"
    assert "vectorize/recurrence" in [rule["name"] for rule in found["rules"]]


def test_the_learning_curve_is_drawn(directory: Path) -> None:
    assert (directory / "learning_curve.png").read_bytes().startswith(b"\x89PNG")


def test_an_error_is_its_text_without_a_traceback() -> None:
    finished = ostinato("run", PROGRAM, "--set", "episode=8")
    assert finished.returncode == 1 and finished.stdout == ""
    assert finished.stderr.startswith("`episode` is no setting of")


def test_help_loads_no_compiler() -> None:
    heavy = "{'numba', 'egglog', 'islpy', 'sympy', 'matplotlib'}"
    code = (
        "import sys; sys.argv = ['ostinato', '--help']\n"
        "from ostinato.cli import main\n"
        "try: main()\n"
        f"except SystemExit: print('loaded:', sorted({heavy} & sys.modules.keys()))\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True, text=True,
    )  # fmt: skip
    assert "loaded: []" in finished.stdout


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("profiled")
    settings = ["--set", "iterations=3", "--set", "episodes=64", "--set", "steps=50"]
    finished = ostinato("run", PROGRAM, *settings, "--out", out, "--profile")
    assert finished.returncode == 0, finished.stderr
    return out, finished.stdout


def test_a_profile_is_printed_by_operation(profiled: tuple[Path, str]) -> None:
    _, text = profiled
    for name in ("environment", "policy", "gradient", "optimizer", "returns", "waiting"):
        assert name in text
    assert "roofline" in text and "ui.perfetto.dev" in text


def test_the_parts_of_a_profile_add_up(profiled: tuple[Path, str]) -> None:
    found = json.loads((profiled[0] / "profile.json").read_text())
    total = sum(part["ns"] for part in found["operations"])
    assert total == pytest.approx(found["total_ns"], rel=1e-6)
    assert sum(part["ns"] for part in found["lines"]) == pytest.approx(total)


def test_the_trace_nests_on_every_track(profiled: tuple[Path, str]) -> None:
    events = json.loads((profiled[0] / "trace.json").read_text())["traceEvents"]
    for tid in {e["tid"] for e in events if e["ph"] == "X"}:
        opened: list[float] = []
        mine = [e for e in events if e["ph"] == "X" and e["tid"] == tid]
        for event in sorted(mine, key=lambda e: (e["ts"], -e["dur"])):
            end = event["ts"] + event["dur"]
            while opened and opened[-1] <= event["ts"] + 1e-3:
                opened.pop()
            assert not opened or end <= opened[-1] + 1e-3, event
            opened.append(end)


def test_the_bars_are_a_picture(profiled: tuple[Path, str]) -> None:
    assert (profiled[0] / "profile.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    "start", [["-m", "ostinato"], ["-c", "from ostinato.cli import main; main()"]]
)
def test_the_command_tells_its_version_however_it_is_started(start: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    env = {"PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    command = [sys.executable, *start, "--version"]
    told = subprocess.run(command, env=env, capture_output=True, text=True)
    assert told.stdout == f"ostinato {project['version']}\n"
    assert ot.__version__ == project["version"]

"""`ostinato run --resume` goes on with the bits of a run that never stopped."""

import json
import random
import shutil
import signal
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ostinato as ot
from ostinato.cli.app import app
from tests.cli.killed import EVERY, await_rows, finished, kept, killed, rows_of, started

ITERATIONS = 500
SET = ("--set", f"iterations={ITERATIONS}")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a run that nothing stops."""
    folder = tmp_path_factory.mktemp("whole")
    assert "finished at iteration" in finished(folder, "--out", "run", *SET)
    return folder / "run"


def said(folder: Path, *arguments: object) -> str:
    """What the command says in this process, where only that is asked for."""
    with chdir(folder):
        found = CliRunner().invoke(app, ["run", "long.py", *map(str, arguments)])
    return found.output + str(found.exception or "")


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that Ctrl-C ended."""
    folder = tmp_path_factory.mktemp("interrupted")
    running = started(folder, "--out", "run", "--checkpoint-every", EVERY, *SET)
    await_rows(running, folder / "run", 2 * EVERY)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "go on with: ostinato run long.py --resume run" in out
    return folder


def test_after_ctrl_c_nothing_is_lost_and_a_run_goes_on(interrupted: Path, whole: Path) -> None:
    folder = Path(shutil.copytree(interrupted, interrupted.parent / "going on"))
    assert kept(folder / "run") == len(rows_of(folder / "run")) >= 2 * EVERY
    assert "finished at iteration" in finished(folder, "--resume", "run")
    assert rows_of(folder / "run") == rows_of(whole)
    for same in ((), SET, ("--seed", "0")):
        assert "nothing to run: finished after 500" in said(folder, "--resume", "run", *same)
    for other in ("--set=iterations=7", "--set=games=3", "--seed=9"):
        text = said(folder, "--resume", "run", other)
        assert "`run` is over, finished after 500 iterations, and was one without" in text
        assert "--out instead of --resume" in text and "nothing to run" not in text


def test_a_killed_run_loses_at_most_the_work_since_its_last_checkpoint(
    tmp_path: Path, whole: Path
) -> None:
    assert killed(tmp_path, 3, ITERATIONS, random.Random(2)) >= 1
    finished(tmp_path, "--resume", "run")
    assert rows_of(tmp_path / "run") == rows_of(whole)


def test_a_second_run_in_a_directory_is_refused_while_the_first_one_runs(tmp_path: Path) -> None:
    running = started(
        tmp_path, "--out", "run", "--checkpoint-every", EVERY, "--set=iterations=99999"
    )
    await_rows(running, tmp_path / "run", EVERY)
    for other in (("--out", "run", "--seed", "1"), ("--resume", "run")):
        text = said(tmp_path, *other)
        assert "Another run writes to the run directory `run`.\n  Wait for its end" in text, text
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert "go on with: ostinato run long.py --resume run" in out, err
    assert kept(tmp_path / "run") == len(rows_of(tmp_path / "run"))


REFUSED: dict[str, tuple[Callable[[bytes], bytes], tuple[str, ...], str]] = {
    "cut off": (lambda b: b[: len(b) // 2], (), "is damaged or cut off"),
    "corrupted": (lambda b: b[:-9] + bytes([b[-9] ^ 1]) + b[-8:], (), "its checksum does not fit"),
    "no checkpoint": (lambda b: b"", (), "is damaged or cut off"),
    "of other settings": (lambda b: b, ("--set", "iterations=7"), "with other arguments"),
    "of another seed": (lambda b: b, ("--seed", "9"), "a run with seed 0, not 9"),
    "into another directory": (lambda b: b, ("--out", "x"), "--out is given, and --resume"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_run_cannot_go_on_from_is_refused(name: str, interrupted: Path) -> None:
    change, arguments, text = REFUSED[name]
    folder = Path(shutil.copytree(interrupted, interrupted.parent / name))
    path = folder / "run" / "checkpoint.safetensors"
    path.write_bytes(change(path.read_bytes()))
    before = (folder / "run" / "metrics.csv").read_bytes()
    assert text in said(folder, "--resume", "run", *arguments)
    assert (folder / "run" / "metrics.csv").read_bytes() == before


def test_lost_rows_and_missing_checkpoints_are_told(interrupted: Path) -> None:
    folder = Path(shutil.copytree(interrupted, interrupted.parent / "lost"))
    metrics = folder / "run" / "metrics.csv"
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[:5]))
    assert "does not have the" in said(folder, "--resume", "run")
    text = finished(folder, "--resume", "elsewhere")
    assert "`elsewhere` is no directory of a run that kept a checkpoint\n  Give one whose" in text
    assert "Traceback" not in text


def test_the_checkpoint_is_a_state_that_python_reads(interrupted: Path) -> None:
    state = ot.load(interrupted / "run" / "checkpoint.safetensors")
    assert state["actor_0_weight"].shape == (4, 64) and state.over == "i"
    config = json.loads((interrupted / "run" / "config.json").read_text())
    assert config["checkpoint_every"] == EVERY

"""A run that is killed at random moments and goes on each time.

``python -m tests.cli.killed 50 200000`` kills one fifty times; the suite does so a few times.
"""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ostinato as ot

ROOT = Path(__file__).parents[2]
EVERY = 20
FILE = """
import sys
from dataclasses import replace

import ostinato as ot

sys.path.insert(0, {examples!r})
import ppo_cartpole


def main(iterations: int = 100) -> ot.Experiment:
    return replace(ppo_cartpole.main(games=4, steps=32, iterations=iterations), stop=None)
"""


def started(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    """The command, which runs the program of the folder."""
    (folder / "long.py").write_text(FILE.format(examples=str(ROOT / "examples")))
    code = "from ostinato.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", "long.py", *map(str, arguments)], cwd=folder, text=True,
        env={**os.environ, "NO_COLOR": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def rows_of(run: Path) -> list[list[str]]:
    """The rows of metrics.csv that are complete, without the seconds."""
    path = run / "metrics.csv"
    text = path.read_text() if path.exists() else ""
    lines = list(csv.reader(text[: text.rfind("\n") + 1].splitlines()))[1:]
    return [[*line[:2], *line[3:]] for line in lines]


def await_rows(running: subprocess.Popen[str], run: Path, count: int) -> None:
    """Wait until metrics.csv has more rows than so many, or the run has ended."""
    deadline = time.monotonic() + 120
    while len(rows_of(run)) <= count and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)


def kept(run: Path) -> int:
    """The step of the last checkpoint, 0 without one; the file is whole whenever it is there."""
    path = run / "checkpoint.safetensors"
    return ot.load(path).step if path.exists() else 0


def killed(folder: Path, kills: int, iterations: int, chance: random.Random) -> int:
    """Kill the run in ``folder / "run"``, and say how often; each loses less than ``EVERY`` steps.

    Some are killed at any moment, and others after their first new row that a checkpoint precedes:
    what is killed before there is any cannot go on.
    """
    run, begun = folder / "run", ("--checkpoint-every", EVERY, "--set", f"iterations={iterations}")
    for done in range(kills):
        step, rows = kept(run), len(rows_of(run))
        running = started(folder, *(("--resume", "run") if step else ("--out", "run", *begun)))
        if chance.random() < 0.3:
            time.sleep(chance.random() * 2.0)
        else:
            await_rows(running, run, max(rows, EVERY))
            time.sleep(chance.random() * 0.15)
        running.send_signal(signal.SIGKILL)
        _, err = running.communicate(timeout=60)
        if running.returncode != -signal.SIGKILL:
            assert running.returncode == 0, err
            return done
        assert len(rows_of(run)) - kept(run) <= EVERY and kept(run) >= step
    return kills


def finished(folder: Path, *arguments: object) -> str:
    """What the command says that is not killed."""
    out, err = started(folder, *arguments).communicate(timeout=600)
    return out + err


if __name__ == "__main__":
    count, length = map(int, sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        times = killed(place, count, length, random.Random(0))
        at = kept(place / "run")
        print(f"killed {times} times; step {at}")
        print(finished(place, "--resume", "run"))
        print(finished(place, "--out", "whole", "--set", f"iterations={length}"))
        pairs = zip(rows_of(place / "run"), rows_of(place / "whole"), strict=True)
        assert not [pair for pair in pairs if pair[0] != pair[1]]
        print(f"{len(rows_of(place / 'whole'))} equal rows")

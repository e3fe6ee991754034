"""The same program is rewritten to the same text in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SCRIPT = """
from ostinato.pdg.text.printer import show
from ostinato.rewrite.optimize import optimize
from tests.rewrite import programs
for build in programs.ALL.values():
    print(show(optimize(build()).pdg))
"""


def text(hash_seed: int) -> str:
    paths = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": paths}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_order_of_sets_leaves_no_trace() -> None:
    first = text(1)
    assert "matmul" in first or "@" in first
    assert text(2) == first

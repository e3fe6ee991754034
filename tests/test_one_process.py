"""``make test`` runs each file in one process, which makes what its tests share once.

Found where pytest 9.2 no longer read the groups of pytest-xdist 3.8: every test stood alone, and
both processes compiled what each file compiles once.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILE = """
import os
from pathlib import Path
import pytest

@pytest.mark.parametrize("k", range(8))
def test_of_a_file(k):
    with Path(__file__ + ".processes").open("a") as out:
        out.write(f"{os.getpid()}\\n")
"""


def test_the_tests_of_a_file_run_in_one_process(tmp_path: Path) -> None:
    for place in ("Makefile", ".ci/pythons"):
        (found,) = re.findall(r"-m pytest (.*)", (ROOT / place).read_text())[:1]
        words = found.replace('"$@"', "").split()
        assert words[-2:] == ["--dist", "loadfile"], place
    for name in ("test_one.py", "test_two.py"):
        (tmp_path / name).write_text(FILE)
    run = [sys.executable, "-m", "pytest", *words, "--rootdir", str(tmp_path), str(tmp_path)]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    told = [each.read_text().split() for each in tmp_path.glob("*.processes")]
    assert [len(each) for each in told] == [8, 8]
    assert all(len(set(each)) == 1 for each in told) and told[0][0] != told[1][0]

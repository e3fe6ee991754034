"""Threads that rewrite their first programs at once load egglog once."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
from threading import Barrier, Thread

from ostinato.rewrite.engine.egglog_session import Engine

begin, made = Barrier(8), []


def work():
    begin.wait()
    made.append(Engine(()))


threads = [Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(made))
"""


def test_the_first_engines_of_several_threads_are_all_made() -> None:
    for _ in range(3):  # one of three processes was lucky before
        command = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "8\n", done.stderr

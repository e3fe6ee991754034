"""What a thread imports while the rules run, and what compiling leaves as it was."""

import gc
import importlib
import sys

import pytest

import ostinato as ot
from ostinato.compiler.pipeline import STAGES


@pytest.mark.parametrize("name", STAGES)
def test_every_stage_can_be_imported(name: str) -> None:
    assert importlib.import_module(name).__name__ == name


def test_compiling_leaves_the_collector_and_the_turns_of_threads_as_they_were() -> None:
    before = gc.get_threshold(), gc.get_freeze_count(), sys.getswitchinterval()
    ot.Program(y=ot.input("x", over=ot.dims("t")) + 17.25).compile()
    assert (gc.get_threshold(), gc.get_freeze_count(), sys.getswitchinterval()) == before

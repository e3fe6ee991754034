"""What a thread imports while the rules run."""

import importlib

import pytest

from ostinato.runtime.module import READER
from ostinato.stages import STAGES


@pytest.mark.parametrize("name", (*STAGES, READER))
def test_every_stage_can_be_imported(name: str) -> None:
    assert importlib.import_module(name).__name__ == name

"""What other processes find: compiled programs in the cache, and the same text every time."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.programs import ROOT

RUN = """
import hashlib, json, sys
from tests.pipeline.programs import shared_weight
run = shared_weight().compile()
found = run(B=70, T=5, I=4, seed=3)
heavy = {"egglog", "egglog.bindings", "sympy", "ostinato.rewrite.engine.egglog_session"}
heavy |= {"ostinato.codegen.emit.generated_module"}
print(json.dumps({
    "loaded": sorted(heavy & sys.modules.keys()),
    "weight": found["weight"].tobytes().hex(),
    "source": hashlib.sha256(run.explain().source.encode()).hexdigest(),
}))
"""
SOURCE = """
import hashlib
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import build
from tests.pipeline.programs import reinforce
print(hashlib.sha256(build(reinforce().pdg, None, Options()).source.encode()).hexdigest())
"""


def python(code: str, cache: Path, hash_seed: int) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "PYTHONHASHSEED": str(hash_seed),
        "OSTINATO_CACHE_DIR": str(cache),
    }
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return what a process with an empty cache prints, and one after it."""
    cache = tmp_path_factory.mktemp("cache")
    return [json.loads(python(RUN, cache, seed)) for seed in (1, 2)]


def test_a_cold_process_runs_the_whole_compiler(processes: list[dict[str, Any]]) -> None:
    cold, _ = processes
    assert {
        "ostinato.codegen.emit.generated_module",
        "ostinato.rewrite.engine.egglog_session",
    } <= set(cold["loaded"])


def test_a_warm_process_loads_no_stage_of_the_compiler(processes: list[dict[str, Any]]) -> None:
    _, warm = processes
    assert warm["loaded"] == []


def test_a_warm_process_computes_the_same_bits(processes: list[dict[str, Any]]) -> None:
    cold, warm = processes
    assert (warm["weight"], warm["source"]) == (cold["weight"], cold["source"])


def test_the_same_program_gives_the_same_text_in_every_process(tmp_path: Path) -> None:
    assert python(SOURCE, tmp_path, 1) == python(SOURCE, tmp_path, 2)

"""What generated modules import, its digest, and Numba's cache across processes."""

import os
import subprocess
import sys
from pathlib import Path

import ostinato.codegen.cpu.prelude as prelude

GENERATED = """
import sys
import numpy as np
from ostinato.codegen.cpu.prelude import DRIVER, KERNEL, Matmul, Operand, Step, access, matmul
from ostinato.codegen.cpu.prelude import njit, tanh_f32, load_acquire

load_x, store_x = access(0, 1, "float32")
product = matmul(Matmul("float32", 2, 2, 2, (2, 1), (2, 1), (Operand("c", 2, 1),),
                        (Step("c", ("tanh", ("name", "acc")), "c"),)))

@njit(cache=True, **KERNEL)
def kernel(arena, words):
    product(arena, (0, 4, 8), ())
    load_acquire(words, 0)
    for i in range(4):
        store_x(arena, 8 + i, tanh_f32(load_x(arena, 8 + i)))

@njit(cache=True, **DRIVER)
def main(arena, words):
    kernel(arena, words)

arena = np.ones(12, np.float32)
main(arena, np.zeros(32, np.int64))
print(arena[8], sum(main.stats.cache_hits.values()))
"""


def run(path: Path, cache: Path, **settings: str) -> list[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **settings}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_second_process_takes_the_kernels_from_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "generated.py"
    path.write_text(GENERATED)
    first, second = (run(path, tmp_path / "cache") for _ in range(2))
    assert first[0] == second[0]
    assert (first[1], second[1]) == ("0", "1")


def test_the_digest_is_the_same_in_every_process(tmp_path: Path) -> None:
    path = tmp_path / "digest.py"
    path.write_text("from ostinato.codegen.cpu.prelude import digest; print(digest())")
    first, second = (run(path, tmp_path, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first == second
    assert len(first[0]) == len(prelude.digest()) == 16


def test_every_exported_name_exists() -> None:
    assert [name for name in prelude.__all__ if not hasattr(prelude, name)] == []

"""Results are the same bits for any number of threads: sums are combined in a fixed order."""

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.compiler.compiled import Compiled
from tests.pipeline.programs import SMALL, grid, reinforce

Outputs = dict[str, npt.NDArray[np.float32]]


@cache
def tiled(name: str, width: int) -> Compiled:
    """Return a small program with tiles of a width; 70 rows leave a ragged last one."""
    make, _ = SMALL[name]
    return make().compile(widths={"b": width}, threads=2)


@cache
def training() -> Compiled:
    return reinforce().compile()


def run_with(program: Compiled, threads: int, **arguments: int) -> Outputs:
    program.executable.threads = threads
    return program(**arguments)


def assert_same_bits(a: Outputs, b: Outputs) -> None:
    assert a.keys() == b.keys()
    for name, value in a.items():
        assert value.tobytes() == b[name].tobytes(), name


@pytest.mark.parametrize("name", SMALL)
def test_folds_over_tiles_do_not_depend_on_threads(name: str) -> None:
    program, extents = tiled(name, 32), SMALL[name][1]
    first, *others = (run_with(program, n, seed=3, **extents) for n in (1, 2, 3, 7, 1))
    for other in others:
        assert_same_bits(first, other)


def test_work_that_one_worker_does_alone_or_all_share_gives_the_same_bits() -> None:
    program = tiled("crowd", 32)
    assert f"<= {CPU.alone_elements}:" in program.executable.artifact.source
    for rows in (CPU.alone_elements // 32, CPU.alone_elements // 4):  # ten numbers a row
        first, *others = (run_with(program, n, seed=3, B=rows, T=4) for n in (1, 2, 3))
        for other in others:
            assert_same_bits(first, other)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("width", [32, 7])
def test_folds_over_tiles_equal_the_interpreter(name: str, width: int) -> None:
    make, extents = SMALL[name]
    expected = make().interpret(seed=3, **extents)
    found = run_with(tiled(name, width), 2, seed=3, **extents)
    for output, value in expected.items():
        np.testing.assert_allclose(found[output], value, rtol=1e-4, atol=1e-5, err_msg=output)


@pytest.mark.parametrize("name", SMALL)
def test_the_threads_of_a_compilation_do_not_change_results(name: str) -> None:
    make, extents = SMALL[name]
    alone = make().compile(widths={"b": 32}, threads=1)(seed=3, **extents)
    assert_same_bits(alone, run_with(tiled(name, 32), 2, seed=3, **extents))


def test_rows_of_a_grid_are_shared_out_at_every_step() -> None:
    program = grid()
    run, sizes = program.compile(threads=2), {"T": 7, "seed": 1}
    shared = [x for x in run.explain(T=7).schedule.splitlines() if x.startswith("    k")]
    assert len(shared) == 2 and all("in slices" in x for x in shared)
    first, *others = (run_with(run, n, **sizes) for n in (1, 2, 3, 5, 2))
    for other in others:
        assert_same_bits(first, other)
    small, expected = grid(96), grid(96).interpret(**sizes)["last"]
    np.testing.assert_allclose(small.compile(threads=2)(**sizes)["last"], expected, 1e-4, 1e-5)


def test_training_does_not_depend_on_threads() -> None:
    sizes = {"B": 70, "T": 40, "I": 3, "seed": 1}
    assert "every worker a slice" in training().executable.artifact.source
    first, *others = (run_with(training(), n, **sizes) for n in (1, 2, 3, 5, 2))
    for other in others:
        assert_same_bits(first, other)

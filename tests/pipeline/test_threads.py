"""Results are the same bits for any number of threads: sums are combined in a fixed order."""

import numpy as np
import pytest

import ostinato as ot
from ostinato.compiler import Compiled
from tests.pipeline.programs import SMALL, reinforce

TILES = {"widths": {"b": 32}}  # 70 rows: two whole tiles and one of six


def assert_same_bits(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    assert a.keys() == b.keys()
    for name, value in a.items():
        assert value.tobytes() == b[name].tobytes(), name


@pytest.mark.parametrize("name", SMALL)
def test_folds_over_tiles_do_not_depend_on_threads(name: str) -> None:
    make, extents = SMALL[name]
    runs = [make().compile(threads=n, **TILES) for n in (1, 2, 3)]
    first, *others = (run(seed=3, **extents) for run in runs)
    for other in others:
        assert_same_bits(first, other)


@pytest.mark.parametrize("name", SMALL)
def test_folds_over_tiles_equal_the_interpreter(name: str) -> None:
    make, extents = SMALL[name]
    program = make()
    expected = program.interpret(seed=3, **extents)
    for width in (32, 7):
        found = program.compile(threads=2, widths={"b": width})(seed=3, **extents)
        for output, value in expected.items():
            np.testing.assert_allclose(found[output], value, rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def training() -> Compiled:
    return reinforce().compile()


@pytest.mark.xdist_group("reinforce")
def test_training_does_not_depend_on_threads(training: Compiled) -> None:
    sizes = {"B": 70, "T": 40, "I": 3}
    found = []
    for threads in (1, 2, 3, 2):
        training._executable.threads = threads
        found.append(training(seed=1, **sizes))
    for other in found[1:]:
        assert_same_bits(found[0], other)


@pytest.mark.xdist_group("reinforce")
def test_the_generated_source_does_not_depend_on_threads(training: Compiled) -> None:
    other = ot.Program
    assert other is not None

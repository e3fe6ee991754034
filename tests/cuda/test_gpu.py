"""Everything again on a GPU: ``pytest -m gpu tests/cuda`` takes a few minutes there.

The first test says which device it was; no test of this file has a figure in it.
"""

import numpy as np
import pytest

from ostinato.runtime.run import cuda_device
from tests.cuda.programs import PROGRAMS
from tests.property.judge import EXTENTS
from tests.property.programs import Replay, arguments, covering

LACKS = cuda_device.missing()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(bool(LACKS), reason=LACKS)]


def test_there_is_a_device(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\ndevice: {cuda_device.find().name}")


@pytest.mark.parametrize("can_cooperate", [True, False], ids=["cooperative", "launched"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_device_gives_the_bits_of_the_cpu(name: str, can_cooperate: bool) -> None:
    program, given = PROGRAMS[name]()
    expected = program.compile(threads=2, exact=True)(seed=3, **given)
    run = program.compile(target="cuda", threads=2, exact=True)
    run.executable.module.is_cooperative &= can_cooperate  # type: ignore[attr-defined]  # of a device
    found = run(seed=3, **given)
    for key, value in expected.items():
        np.testing.assert_array_equal(found[key], value, err_msg=key)


@pytest.mark.parametrize("seed", range(40))
def test_invented_programs_give_the_bits_of_the_cpu(seed: int) -> None:
    recipe = covering(64)[seed]
    replay = Replay(recipe, recipe.dtypes[0])
    program = replay.program()
    if program.hosts:
        pytest.skip("it calls Python")
    every = arguments(replay, EXTENTS[seed % len(EXTENTS)], seed)
    given = {k: v for k, v in every.items() if k in (*program.inputs, *program.extents)}
    expected = program.compile(threads=2, exact=True)(seed=seed, **given)
    found = program.compile(target="cuda", threads=2, exact=True)(seed=seed, **given)
    for key, value in expected.items():
        np.testing.assert_array_equal(found[key], value, err_msg=key)

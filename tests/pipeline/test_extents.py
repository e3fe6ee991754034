"""One build serves all extents."""

from typing import Any, cast

import numpy as np
import pytest
from numba.core import event

from ostinato.runtime.machine_code import source_module
from tests.pipeline.programs import SMALL

SIZES = ({"B": 1, "T": 1, "I": 1}, {"B": 33, "T": 2, "I": 3}, {"B": 129, "T": 7, "I": 2})


def no_module(*_: object) -> None:
    raise AssertionError("a call loaded a module")


@pytest.mark.parametrize("name", SMALL)
def test_no_call_compiles_anything(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, extents = SMALL[name]
    program = make()
    run = program.compile()
    monkeypatch.setattr(source_module, "load_module", no_module)
    with cast(Any, event).install_recorder("numba:compile") as compilations:
        for sizes in SIZES:
            known = {n: sizes[n] for n in extents}
            found, expected = run(**known), program.interpret(**known)
            for output, value in expected.items():
                assert found[output].shape == value.shape
                np.testing.assert_allclose(found[output], value, rtol=1e-4, atol=1e-5)
    assert not compilations.buffer

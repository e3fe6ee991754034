"""Full-size iterations agree, however the program is tiled and rewritten.

The first three iterations of 64 episodes of 500 steps: the interpreter would take hours.
"""

from typing import Any

import numpy as np
import pytest

import ostinato as ot
from tests.pipeline.programs import reinforce
from tests.pipeline.test_reinforce import compiled

SIZES = {"B": 64, "T": 500, "I": 3}
WAYS: dict[str, dict[str, Any]] = {
    "one thread, one tile": {"threads": 1, "widths": {"b": 64}},
    "by equations alone": {"rules": ot.rules.without("vectorize", "incremental")},
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_compile_gives_the_same_training(way: str) -> None:
    expected = compiled()(**SIZES)
    found = reinforce().compile(**WAYS[way])(**SIZES)
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-3)
    np.testing.assert_array_equal(found["episode_return"], expected["episode_return"])


def test_a_run_leaves_nothing_behind_for_the_next() -> None:
    first = compiled()(**SIZES)
    compiled()(B=7, T=30, I=5, seed=9)
    again = compiled()(**SIZES)
    assert first["loss"].tobytes() == again["loss"].tobytes()

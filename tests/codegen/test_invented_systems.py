"""Random systems: schedule, storage, barriers and arena against the definition."""

import random

import pytest

from tests.codegen.compare import assert_computes
from tests.codegen.invented import invent
from tests.codegen.on_cpu import plan
from tests.property.today import of_today


@pytest.mark.parametrize("seed", of_today(range(40)))
def test_a_plan_computes_what_the_system_defines(seed: int) -> None:
    system, arrays = invent(seed)
    chance = random.Random(seed)
    sizes = {"B": 5, "I": chance.choice([1, 3]), "T": chance.choice([1, 4, 7])}
    widths = {"b": chance.choice([1, 2, 3, 8]), "t": chance.choice([2, 3])}
    planned = plan(system, widths)
    assert_computes(system, sizes, arrays, planned, seed)

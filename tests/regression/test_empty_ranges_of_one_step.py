"""A range that is empty at every step reads nothing, and is no dependence."""

import numpy as np
import pytest

import ostinato as ot


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_recurrence_over_its_own_past_has_an_order_for_any_number_of_steps(size: int) -> None:
    t = ot.dims("t")
    k = ot.dim("k", size=size)
    a = ot.input("a", over=t)
    x = ot.recurrent("x", over=(t, k))
    x[True] = a - x[t, :k].sum(0)
    found = ot.Program(x=x[t, :]).compile(rules=None)(a=np.ones(2))["x"]
    assert found.tolist() == [[1.0, *[0.0] * (size - 1)]] * 2


@pytest.mark.filterwarnings("ignore:rewriting left a part")
@pytest.mark.parametrize("size", [1, 2, 5])
def test_what_a_range_reads_at_each_element_is_read_where_it_has_one(size: int) -> None:
    t = ot.dims("t")
    k = ot.dim("k", size=size)
    a = ot.input("a", over=t)
    x = ot.recurrent("x", over=(t, k))
    x[True] = a + (ot.ones((k,)) * x[t, 0]).sum(0)  # at k = 0 of nothing
    found = ot.Program(x=x[t, :]).compile()(a=np.array([1.0, 2.0]))["x"]
    assert found.tolist() == [[1.0 + n for n in range(size)], [2.0 + 2 * n for n in range(size)]]

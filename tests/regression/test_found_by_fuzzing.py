"""Programs that the fuzzer found to fail, as small as they could be made."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ostinato as ot
from tests.property.judge import Trial, judge
from tests.property.programs import Recipe, Step

t = ot.dims("t")
LINE = (((0,), ()),)

FOUND = {
    # its adjoint reads the last step under a condition on the point: the step seemed to need itself
    "gradient of overlapping cases": Recipe(
        LINE, (Step("overlapping", c=3), Step("gradient_of_all", a=1)), 1, 1
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_it_is_right_now(name: str) -> None:
    judge(Trial(FOUND[name]))


def test_a_step_may_read_the_last_one_where_a_condition_says_that_it_is_another() -> None:
    x = ot.input("x", dtype="int64", over=t)
    r = ot.recurrent("r", dtype="int64", over=t)
    r[t] = ot.where(t == t.size - 4, 2 * r[-1], 0) + x
    found = ot.Program(r=r).compile()(x=np.arange(8))["r"]
    assert found.tolist() == [0, 1, 2, 3, 18, 5, 6, 7]


def test_a_gradient_prints_the_same_whatever_was_written_before() -> None:
    """Its recurrences were called after a counter of the process."""

    def text() -> str:
        r = ot.recurrent("r", over=t)
        r[0] = 1.0
        r[t + 1] = 0.5 * r * ot.input("rate")
        loss = (r[:] ** 2).sum().named("loss")
        return str(ot.Program(gradient=ot.grad(loss, ot.input("rate"))))

    assert text() == text()
    assert "d_loss/d_r[" in text()
    assert not re.search(r"#\d", text())

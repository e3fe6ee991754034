"""A case that reads other cases of its recurrence may not be computed from the whole of it."""

import numpy as np
import pytest

import ostinato as ot


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_gradient_through_few_steps_has_an_order(size: int) -> None:
    x, n = ot.input("x", (3,)), ot.dim("n", size=size)
    r = ot.recurrent("r", (3,), over=n)
    r[0] = x
    r[n + 1] = r * 0.5 + x
    y = (r * 0.25 + 0.125 * n)[:].sum(0) + r[-1]
    program = ot.Program(slope=ot.grad((y**2).sum(), x))
    given = np.array([1.0, -2.0, 0.5])
    found, meant = program.compile()(x=given), program.interpret(x=given)
    np.testing.assert_allclose(found["slope"], meant["slope"], rtol=1e-6)


def test_what_follows_the_first_step_alone_is_not_read_from_all_steps() -> None:
    t = ot.dims("t")
    x, r = ot.input("x", over=t), ot.recurrent("r", over=t)
    r[t == 0] = x
    r[t > 0] = ot.tanh(r * 0.5)[0] + x
    program = ot.Program(r=r, every=ot.tanh(r * 0.5))
    given = np.linspace(-1.0, 1.0, 7)
    found, meant = program.compile()(x=given), program.interpret(x=given)
    for name, values in meant.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-6)

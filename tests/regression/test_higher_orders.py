"""Recurrences of order two and three: what they compute between steps reads ahead of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot

b, t = ot.dims("b t")


def fibonacci() -> ot.Program:
    x = ot.recurrent("x", over=t)
    x[0] = 1.0
    x[1] = 1.0
    x[t + 2] = x[t + 1] + x
    return ot.Program(x=x)


def through_a_product() -> ot.Program:
    w = 0.4 * ot.random.normal((3, 3))
    x = ot.recurrent("x", (3,), over=(b, t))
    x[b, 0] = ot.random.normal((3,), over=b)
    x[b, 1] = 0.5
    x[b, t + 2] = ot.tanh(x[b, t + 1] @ w) + 0.1 * x
    return ot.Program(last=x[b, -1], total=x[:, t].sum())


def backwards() -> ot.Program:
    x = ot.recurrent("x", over=(b, t))
    x[b, -1] = ot.random.normal(over=b)
    x[b, -2] = 0.5
    x[b, t - 2] = ot.tanh(x[b, t - 1]) + 0.1 * x
    return ot.Program(x=x)


def through_a_fold() -> ot.Program:
    x = ot.recurrent("x", (2,), over=(b, t))
    x[b, 0] = ot.random.normal((2,), over=b)
    x[b, 1] = 0.5
    x[b, 2] = 0.25
    x[b, t + 3] = 0.5 * ot.tanh(x[b, t + 2]) + x.sum() + x[:, t + 1].mean(0)
    return ot.Program(x=x)


def its_gradient() -> ot.Program:
    rate = ot.random.uniform()
    x = ot.recurrent("x", over=t)
    x[0] = 1.0
    x[1] = rate
    x[t + 2] = ot.tanh(x[t + 1] * rate) + 0.5 * x
    loss = (x[:] ** 2).sum()
    return ot.Program(loss=loss, gradient=ot.grad(loss, rate))


@pytest.mark.parametrize(
    "make", [fibonacci, through_a_product, backwards, through_a_fold, its_gradient]
)
def test_it_equals_the_interpreter(make: Callable[[], ot.Program]) -> None:
    program = make()
    run = program.compile(threads=2)
    for sizes in ({"B": 40, "T": 9}, {"B": 2, "T": 4}, {"B": 1, "T": 3}):
        known = {name: sizes[name] for name in program.extents}
        expected, found = program.interpret(seed=1, **known), run(seed=1, **known)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5, err_msg=name)

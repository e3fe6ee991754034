"""Updates at some steps: the others change nothing, and are not counted."""

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn, optim
from ostinato.optim.optimizer import Optimizer

START = np.array([1.0, -2.0], "float32")
OPTIMIZERS: dict[str, Callable[[], Optimizer]] = {
    "sgd": lambda: optim.SGD(0.1, momentum=0.9),
    "adam": lambda: optim.Adam(0.1),
    "scheduled": lambda: optim.Adam(optim.schedule.linear(0.1, 0.0, 6)),
    "clipped": lambda: optim.Clipped(optim.Adam(0.1), norm=0.5),
}


def learned(over: tuple[ot.Dimension, ...], optimizer: Optimizer) -> ot.Tensor:
    w = nn.parameter("w", (2,), lambda shape, dims: ot.constant(START), over)
    optimizer.minimize((ot.sin(3.0 * w) + w * w).sum(), [w])
    return w


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_steps_without_an_update_are_as_if_they_were_not_there(
    make: Callable[[], Optimizer],
) -> None:
    i, e, m = ot.dims("i e m")
    when = (ot.index(e) + ot.index(m)) % 2 == 1
    program = ot.Program(w=learned(ot.carried(i, e, m), optim.Masked(make(), when)))
    every = ot.Program(w=learned((i,), make())).interpret(I=6)["w"]
    sizes = {"I": 2, "E": 2, "M": 3}
    for found in (program.interpret(**sizes), program.compile()(**sizes)):
        masked = found["w"].reshape(12, 2)
        happens = np.tile([False, True, False, True, False, True], 2)
        np.testing.assert_allclose(masked[happens], every, rtol=1e-5)


def test_two_conditions_must_both_hold() -> None:
    i = ot.dims("i")
    one, other = ot.index(i) % 2 == 1, ot.index(i) % 3 == 1
    optimizer = optim.Masked(optim.Masked(optim.SGD(0.1), one), other)
    found = ot.Program(w=learned((i,), optimizer)).interpret(I=9)["w"]
    assert np.flatnonzero(np.diff(found[:, 0])).tolist() == [1, 7]

"""Updates in nested loops: the same as as many updates in one loop."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn, optim
from ostinato.optim.optimizer import Optimizer

i, e, m, k, seed = ot.dims("i e m k seed")
Make = Callable[[], Optimizer]
OPTIMIZERS: dict[str, Make] = {
    "sgd": lambda: optim.SGD(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: optim.Adam(0.1),
    "adamw": lambda: optim.AdamW(0.1),
    "adagrad": lambda: optim.Adagrad(0.1, rate_decay=0.5),
    "rmsprop": lambda: optim.RMSProp(0.1, momentum=0.5, centered=True),
    "lamb": lambda: optim.LAMB(0.1),
    "lion": lambda: optim.Lion(0.1),
    "scheduled": lambda: optim.Adam(optim.schedule.linear(0.1, 0.0, 12)),
    "clipped": lambda: optim.Clipped(optim.Adam(0.1), norm=0.5),
}
SIZES = {"I": 2, "E": 2, "M": 3}
START = np.array([1.0, -2.0], "float32")


def learned(optimizer: Optimizer, over: Sequence[ot.Dimension]) -> ot.Tensor:
    w = nn.parameter("w", (2,), lambda shape, dims: ot.constant(START), over)
    loss = (ot.sin(3.0 * w) + w * w).sum()
    optimizer.minimize(loss, [w])
    return w


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_an_update_per_step_of_nested_loops_counts_all_of_them(make: Make) -> None:
    nested = ot.Program(w=learned(make(), ot.carried(i, e, m))).interpret(**SIZES)["w"]
    flat = ot.Program(w=learned(make(), (k,))).interpret(K=12)["w"]
    np.testing.assert_allclose(nested.reshape(12, 2), flat, rtol=1e-6)


AVERAGES: dict[str, Callable[[ot.Tensor], ot.Tensor]] = {
    "running": lambda w: optim.running_average(w, 2),
    "exponential": lambda w: optim.exponential_average(w, 0.5),
}


@pytest.mark.parametrize("average", AVERAGES.values(), ids=AVERAGES)
def test_averages_run_over_all_steps(average: Callable[[ot.Tensor], ot.Tensor]) -> None:
    nested, flat = (average(learned(optim.SGD(0.1), over)) for over in (ot.carried(i, e, m), (k,)))
    found = ot.Program(a=nested).interpret(**SIZES)["a"].reshape(12, 2)
    np.testing.assert_allclose(found, ot.Program(a=flat[:-1]).interpret(K=13)["a"], rtol=1e-6)


def test_a_model_acts_with_the_parameters_of_the_start_of_an_iteration() -> None:
    model = nn.MLP(2, [3], 1, over=ot.carried(i, e, m))
    x = ot.input("x", (2,))
    model.update(optim.SGD(0.1), model(x).sum())
    acting = model.at(e=0, m=0)(x).sum()
    found = ot.Program(each=model(x).sum(), acting=acting).interpret(x=[1.0, 2.0], **SIZES)
    assert acting.over == (i.dim,)
    np.testing.assert_array_equal(found["acting"], found["each"][:, 0, 0])


def test_seeds_learn_on_their_own() -> None:
    model = nn.Linear(2, 1, over=ot.carried(i, m, each=seed))
    model.update(optim.Adam(0.1), model(ot.ones((2,))).sum())
    weight = model.parameters[0]
    found = ot.Program(w=weight).interpret(SEED=3, I=2, M=2)["w"]
    by_dim = found.transpose(2, 0, 1, 3, 4).reshape(3, 4, 2)  # seed was declared last
    assert len({row.tobytes() for row in by_dim[:, 0]}) == 3
    np.testing.assert_allclose(by_dim[:, 1] - by_dim[:, 0], -0.1, rtol=1e-5)

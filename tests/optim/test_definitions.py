"""Every optimizer computes what its source says, in float64."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import optim
from ostinato.pdg.errors import OptionError

Array = npt.NDArray[np.float64]
State = dict[str, Any]
Step = Callable[[Array, Array, State, int], Array]
START, SLOPE, UPDATES = np.array([1.0, -2.0, 0.5]), np.array([0.5, 4.0, 1.0]), 10


def path(optimizer: optim.Optimizer) -> Array:
    """The iterates on the loss ``sum(slope * w**2)``."""
    i = ot.dims("i")
    w = ot.recurrent("w", (3,), "float64", over=i)
    w[0] = ot.constant(START)
    optimizer.minimize((ot.constant(SLOPE) * w * w).sum(), [w])
    return ot.Program(w=w).interpret(I=UPDATES + 1)["w"]


def defined(step: Step) -> Array:
    w, state = START, {"m": np.zeros(3), "v": np.zeros(3)}
    out = [w]
    for k in range(1, UPDATES + 1):
        w = step(w, 2 * SLOPE * w, state, k)
        out.append(w)
    return np.stack(out)


def length(x: Array) -> float:
    return math.sqrt(float((x * x).sum()))


def array(of: object) -> Array:
    return np.asarray(of)


def nesterov(w: Array, g: Array, s: State, k: int) -> Array:
    g = g + 0.1 * w
    s["v"] = 0.9 * s["v"] + g
    return array(w - 0.01 * (g + 0.9 * s["v"]))


def direction(g: Array, s: State, k: int) -> Array:
    s["m"], s["v"] = 0.9 * s["m"] + 0.1 * g, 0.99 * s["v"] + 0.01 * g * g
    mean, variance = s["m"] / (1 - 0.9**k), s["v"] / (1 - 0.99**k)
    return array(mean / (np.sqrt(variance) + 1e-6))


def adam(w: Array, g: Array, s: State, k: int) -> Array:
    return w - 0.1 * direction(g + 0.1 * w, s, k)


def adamw(w: Array, g: Array, s: State, k: int) -> Array:
    return w * (1 - 0.1 * 0.2) - 0.1 * direction(g, s, k)


def lamb(w: Array, g: Array, s: State, k: int) -> Array:
    d = direction(g, s, k) + 0.1 * w
    return w - 0.1 * length(w) / length(d) * d


def rmsprop(w: Array, g: Array, s: State, k: int) -> Array:
    s["v"] = 0.9 * s["v"] + 0.1 * g * g
    return array(w - 0.1 * g / (np.sqrt(s["v"]) + 1e-3))


def centered(w: Array, g: Array, s: State, k: int) -> Array:
    s["v"], s["m"] = 0.9 * s["v"] + 0.1 * g * g, 0.9 * s["m"] + 0.1 * g
    s["u"] = 0.5 * s.get("u", 0) + g / (np.sqrt(s["v"] - s["m"] ** 2) + 1e-3)
    return array(w - 0.1 * s["u"])


def adagrad(w: Array, g: Array, s: State, k: int) -> Array:
    s["v"] = s["v"] + g * g
    return array(w - 0.5 / (1 + (k - 1) * 0.1) * g / (np.sqrt(0.5 + s["v"]) + 1e-3))


def lion(w: Array, g: Array, s: State, k: int) -> Array:
    moved = np.sign(0.9 * s["m"] + 0.1 * g)
    s["m"] = 0.99 * s["m"] + 0.01 * g
    return array(w * (1 - 0.1 * 0.2) - 0.1 * moved)


BETAS = (0.9, 0.99)
PAIRS: list[tuple[optim.Optimizer, Step]] = [
    (optim.SGD(0.01, momentum=0.9, nesterov=True, weight_decay=0.1), nesterov),
    (optim.Adam(0.1, BETAS, 1e-6, weight_decay=0.1), adam),
    (optim.AdamW(0.1, BETAS, 1e-6, weight_decay=0.2), adamw),
    (optim.LAMB(0.1, BETAS, 1e-6, weight_decay=0.1), lamb),
    (optim.RMSProp(0.1, 0.9, 1e-3), rmsprop),
    (optim.RMSProp(0.1, 0.9, 1e-3, momentum=0.5, centered=True), centered),
    (optim.Adagrad(0.5, 1e-3, rate_decay=0.1, start=0.5), adagrad),
    (optim.Lion(0.1, weight_decay=0.2), lion),
]


@pytest.mark.parametrize(("optimizer", "step"), PAIRS)
def test_ten_updates_are_as_defined(optimizer: optim.Optimizer, step: Step) -> None:
    np.testing.assert_allclose(path(optimizer), defined(step), rtol=1e-6)


def test_lamb_leaves_a_parameter_of_length_zero_unscaled() -> None:
    i = ot.dims("i")
    w = ot.recurrent("w", over=i)
    w[0] = 0.0
    optim.LAMB(0.5).minimize(3.0 * w, [w])
    np.testing.assert_allclose(ot.Program(w=w).interpret(I=2)["w"], [0.0, -0.5], rtol=1e-5)


def test_weight_decay_may_be_an_argument() -> None:
    i = ot.dims("i")
    w = ot.recurrent("w", over=i)
    w[0] = 8.0
    optim.SGD(1.0, weight_decay=ot.input("decay")).update([w], [0.0 * w])
    out = ot.Program(w=w).interpret(I=3, decay=0.5)["w"]
    assert out.tolist() == [8, 4, 2]


def test_optimizers_share_the_parameters_of_a_model() -> None:
    i = ot.dims("i")
    v, w = (ot.recurrent(name, over=i) for name in "vw")
    v[0], w[0] = 1.0, 1.0
    slopes = ot.grad(v * w, [v, w])
    optim.SGD(1.0).update([v], slopes[:1])
    optim.SGD(0.5).update([w], slopes[1:])
    out = ot.Program(v=v, w=w).interpret(I=2)
    assert (out["v"].tolist(), out["w"].tolist()) == ([1, 0], [1, 0.5])


def test_looking_ahead_needs_momentum() -> None:
    with pytest.raises(OptionError, match="Give a momentum, such as 0.9"):
        optim.SGD(0.1, nesterov=True)

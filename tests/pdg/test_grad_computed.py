"""Gradients of reads at computed steps, first and second, equal central differences."""

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg import build
from ostinato.pdg.condition import at_least, equal
from ostinato.pdg.grad.reverse import gradient
from ostinato.pdg.index import Expr, Slice, expr, maximum, minimum
from ostinato.pdg.node import Equation, Node
from tests.pdg.gradients import B, T, at, b, check, f, mul, n, source, t, total, weighed

y, z = source("y", over=(T,)), source("z", over=(T,))
WINDOWS = [
    Slice(expr(0), n), Slice(maximum(t - 2, 0), t + 1), Slice(t, minimum(t + 2, n)),
    Slice(expr(0), t + 1), Slice(t // 2, t + 1),
]  # fmt: skip


def computed(x: Node, window: Slice, offset: Node) -> Node:
    """``x`` at ``window.lo + offset``, kept inside the window; ``offset`` is a vector."""
    size = build.affine(window.size - 1)
    inside = build.map_node("minimum", [offset, size])
    held = build.read(x, [(T, window)])
    return build.gather(held, inside, -1, "", (T, window))


def steps(*values: int) -> Node:
    return build.const(values, "int32", (expr(len(values)),))


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_gradient_through_a_computed_read(window: Slice) -> None:
    read = computed(y, window, steps(0, 1, 1, 3))
    check(weighed(mul(mul(read, read), z)), [y, z])


@pytest.mark.parametrize("window", WINDOWS[:2], ids=str)
def test_second_derivative_through_a_computed_read(window: Slice) -> None:
    read = computed(mul(y, y), window, steps(1, 0, 1))
    loss = total(f("sin", read))
    (slope,) = gradient(loss, [y], {}).nodes
    check(weighed(mul(slope, z)), [y, z])


def past(offset: Expr) -> tuple[Node, Equation]:
    """A recurrence over (b, t) that reads computed steps of its last two."""
    x = build.rec("x", (), "float64", (B, T))
    window = Slice(maximum(t - 2, 0), t)
    drawn = build.map_node("minimum", [build.affine(offset), build.affine(window.size - 1)])
    held = build.gather(
        build.read(x, [(T, window)]), build.reshape(drawn, (expr(1),)), -1, "", (T, window)
    )
    step = f("sin", f("add", build.reduce_node("sum", held, (-1,)), mul(y, y)))
    return x, Equation(x, ((equal(t, 0), at(y, 0)), (at_least(t, 1), step)))


@pytest.mark.parametrize("offset", [expr(0), expr(1), (t + b) % 2], ids=str)
def test_gradient_through_computed_steps_of_the_past(offset: Expr) -> None:
    x, equation = past(offset)
    check(weighed(x), [y], equation)


@pytest.mark.filterwarnings("ignore:rewriting left")
def test_machine_code_has_the_same_gradients() -> None:
    rows, steps_ = ot.dims("rows steps")
    noise = ot.input("noise", (2,), over=(rows, steps_))
    drawn = ot.input("drawn", dtype="int32", over=(rows, steps_))
    gain, x = ot.input("gain"), ot.recurrent("x", (2,), over=(rows, steps_))
    x[rows, 0] = noise[rows, 0] * gain
    window = ot.maximum(steps_ - 3, 0), steps_
    x[rows, steps_] = ot.tanh(gain * x.at(steps=drawn, within=window) + noise)
    loss = (x[:, :] ** 2).mean()
    slope = ot.grad(loss, gain)
    program = ot.Program(slope=slope, bend=ot.grad(slope, gain), by_noise=ot.grad(loss, noise))
    chance = np.random.default_rng(1)
    lo = np.maximum(np.arange(6) - 3, 0)
    picks = lo + (chance.random((3, 6)) * (np.arange(6) - lo)).astype("int64")
    arguments = {"noise": chance.normal(size=(3, 6, 2)), "drawn": picks, "gain": 0.7}
    expected, results = program.interpret(**arguments), program.compile(threads=2)(**arguments)
    for name, value in expected.items():
        np.testing.assert_allclose(results[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.filterwarnings("ignore:rewriting left")
def test_machine_code_weighs_a_window_of_the_past() -> None:
    """Its adjoint sums over a second index of the steps, which lies in the loop over them."""
    rows, steps_ = ot.dims("rows steps")
    w, x = ot.input("w", (3,)), ot.recurrent("x", over=(rows, steps_))
    x[steps_ < 3] = ot.input("start", over=rows)
    x[True] = ot.tanh((w * x[rows, steps_ - 3 : steps_]).sum(0))
    loss = (x[:, :] ** 2).mean()
    program = ot.Program(slope=ot.grad(loss, w))
    arguments = {"w": [0.5, -1.0, 1.5], "start": np.linspace(-1, 1, 35), "STEPS": 9}
    expected, results = program.interpret(**arguments), program.compile(threads=2)(**arguments)
    np.testing.assert_allclose(results["slope"], expected["slope"], rtol=1e-4)


def test_what_no_window_reaches_needs_no_value() -> None:
    """Second derivatives ask for no step before the first, where windows are empty."""
    t_ = ot.dims("t")
    gain, x = ot.input("gain"), ot.recurrent("x", over=t_)
    x[0] = 1.0
    x[t_] = ot.tanh(gain * x[t_ - 1] * x[ot.maximum(t_ - 3, 0) : t_].sum(0))
    slope = ot.grad((x[:] ** 2).sum(), gain)
    program = ot.Program(bend=ot.grad(slope, gain))
    near = [ot.Program(s=slope).interpret(gain=0.3 + h, T=5)["s"] for h in (1e-2, -1e-2)]
    bend = program.interpret(gain=0.3, T=5)["bend"]
    np.testing.assert_allclose(bend, (near[0] - near[1]) / 2e-2, rtol=1e-2)

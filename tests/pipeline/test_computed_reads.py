"""Programs that read at computed steps: machine code is the interpreter, storage the window."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.codegen.planning.plan import Plan
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import optimize_pdg, plan_of
from ostinato.language.recurrent import Recurrent

WINDOW = 3
CHANCE = np.random.default_rng(7)


def same(program: ot.Program, **arguments: object) -> None:
    """Machine code of one and two threads agrees with the interpreter."""
    expected = program.interpret(**arguments)
    for threads in (1, 2):
        results = program.compile(threads=threads, verify=True)(**arguments)
        for name, value in expected.items():
            np.testing.assert_allclose(results[name], value, rtol=2e-5, atol=1e-6, err_msg=name)


def planned(program: ot.Program) -> Plan:
    options = Options(threads=2)
    return plan_of(optimize_pdg(program.pdg, None, options), options)[0]


def slots(program: ot.Program, tensor: str, dim: str) -> str:
    """How many steps of a tensor are stored."""
    (slot,) = (s for s in planned(program).storage[tensor].slots if s.dim.name == dim)
    return slot.kind if slot.kind != "circular" else str(slot.extent)


def floats(*shape: int) -> npt.NDArray[Any]:
    return CHANCE.normal(size=shape).astype("float32")


def sampled(t: ot.Dimension, shape: tuple[int, ...], over: Any) -> ot.Tensor:
    """Uniform steps of the last `WINDOW` ones before ``t``, from counter-based integers."""
    held = ot.maximum(ot.minimum(ot.index(t), WINDOW), 1)
    drawn = (ot.random.uniform(shape, over=over) * held).cast("int32")
    return ot.index(t) - 1 - ot.minimum(drawn, held - 1)


def replay(carried: bool) -> ot.Program:
    """A buffer of the last transitions, from which every step draws a batch."""
    b, t = ot.dims("b t")
    noise = ot.input("noise", (4,), over=(b, t))
    state = ot.recurrent("state", (4,), over=(b, t)) if carried else ot.tanh(noise).named("state")
    window = ot.maximum(t - WINDOW, 0), t
    batch = state.at(t=sampled(t, (5,), (b, t)), within=window).mean(0)
    mean = ot.where(t > 0, batch, 0.0)
    if isinstance(state, Recurrent):
        state[b, 0] = noise[b, 0]
        state[b, t] = ot.tanh(0.5 * state[b, t - 1] + mean + noise)
    return ot.Program(last=mean[b, -1], total=mean[:, :].sum((0, 1)))


@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize(("B", "T"), [(1, 1), (2, 3), (40, 9)])
def test_a_replay_buffer(carried: bool, B: int, T: int) -> None:
    same(replay(carried), noise=floats(B, T, 4), seed=5)


def test_memory_holds_the_window_of_a_replay_buffer() -> None:
    assert slots(replay(carried=True), "state", "t") == str(WINDOW)


def test_a_replay_buffer_over_learning_iterations() -> None:
    i, b = ot.dims("i b")
    data, weight = ot.input("data", (3,), over=(i, b)), ot.recurrent("weight", (3,), over=i)
    seen = ot.where(i == 0, data, data + 0.1 * weight)
    drawn = ot.input("drawn", (4,), "int32", over=i)
    old = seen.at(i=drawn, within=(ot.maximum(i - 2, 0), i + 1))
    loss = ((old[i, :] * weight).sum(-1) - 1.0) ** 2
    weight[0] = 0.1
    weight[i + 1] = weight - 0.05 * ot.grad(loss.mean(), weight)
    program = ot.Program(weight=weight, loss=loss.mean())
    steps = np.array([np.arange(k - 3, k + 1).clip(max(k - 2, 0), k) for k in range(6)])
    same(program, data=floats(6, 37, 3), drawn=steps.astype("int32"))


def test_minibatches_of_flattened_rollouts() -> None:
    i, b, t, k = ot.dims("i b t k")
    x, weight = ot.input("x", (4,), over=(b, t)), ot.recurrent("weight", (4,), over=i)
    index = ot.input("index", (5,), "int32", over=(i, k))
    rows = ot.tanh(x)[:, :].reshape(-1, 4)[index]
    loss = (((rows * weight).sum(1) - 1.0) ** 2).mean()[i, :].mean()
    weight[0] = 0.1
    weight[i + 1] = weight - 0.1 * ot.grad(loss, weight)
    picks = CHANCE.integers(0, 37 * 4, size=(3, 2, 5))
    same(ot.Program(weight=weight, loss=loss), x=floats(37, 4, 4), index=picks.astype("int32"))


def test_flattened_rollouts_are_read_where_they_lie() -> None:
    b, t, k = ot.dims("b t k")
    x = ot.tanh(ot.input("x", (4,), over=(b, t))).named("acted")
    index = ot.input("index", (5,), "int32", over=k)
    plan = planned(ot.Program(y=x[:, :].reshape(-1, 4)[index]))
    copies = [s for s in plan.storage.values() if {d.dim.name for d in s.slots} & {"b", "b_o"}]
    assert sorted(s.tensor for s in copies) == ["acted", "x"]


def test_a_pointer_is_chased_through_a_table() -> None:
    b, t, s = ot.dims("b t s")
    table = ot.input("table", dtype="int32", over=s)
    at = ot.recurrent("at", dtype="int32", over=(b, t))
    at[b, 0] = ot.index(b)
    at[b, t + 1] = table.at(s=at, within=(0, s.size))
    same(ot.Program(at=at), table=CHANCE.permutation(40).astype("int32"), B=40, T=9)


def test_a_recurrence_reads_any_step_of_its_past() -> None:
    b, t = ot.dims("b t")
    x, link = ot.recurrent("x", over=(b, t)), ot.input("link", dtype="int32", over=(b, t))
    x[b, 0] = 1.0
    x[b, t] = 0.9 * x.at(t=link, within=(0, t)) + 0.1
    links = (CHANCE.random((35, 9)) * np.arange(9)).astype("int32")
    same(ot.Program(x=x), link=links)
    same(ot.Program(x=x[b, -1]), link=links)


def test_a_backward_recurrence_reads_its_window_ahead() -> None:
    t = ot.dims("t")
    x, ahead = ot.recurrent("x", (2,), over=t), ot.input("ahead", (3,), "int32", over=t)
    x[-1] = 1.0
    window = t + 1, ot.minimum(t + 1 + WINDOW, t.size)
    x[t] = 0.5 * x.at(t=ahead, within=window).sum(0) + 0.1
    T = 8
    steps = [[min(k + 1 + j, T - 1) for j in (0, 2, 1)] for k in range(T)]
    program = ot.Program(first=x[0])
    same(program, ahead=np.array(steps, "int32"))
    assert slots(program, "x", "t") == str(WINDOW)


def test_two_computed_positions_copy_nothing() -> None:
    b, t, k = ot.dims("b t k")
    x = ot.tanh(ot.input("x", (2,), over=(b, t))).named("acted")
    rows, steps = (ot.input(n, (5,), "int32", over=k) for n in ("rows", "steps"))
    program = ot.Program(y=x.at(b=rows, t=steps))
    picks = {"rows": CHANCE.integers(0, 33, (3, 5)), "steps": CHANCE.integers(0, 4, (3, 5))}
    same(program, x=floats(33, 4, 2), **{n: v.astype("int32") for n, v in picks.items()})
    gathers = [n for n in planned(program).storage if n.startswith(("gather", "acted_"))]
    assert len(gathers) <= 1


def test_a_computed_read_of_a_computed_read() -> None:
    t, k = ot.dims("t k")
    x, link = ot.input("x", over=t), ot.input("link", dtype="int32", over=t)
    start = ot.input("start", (3,), "int32", over=k)
    hop = ot.tanh(x).at(t=link)
    links, starts = CHANCE.integers(0, 6, 6), CHANCE.integers(0, 6, (2, 3))
    same(ot.Program(y=hop.at(t=start)), x=floats(6), link=links.astype("int32"),
         start=starts.astype("int32"))  # fmt: skip


def test_steps_may_be_unsigned_or_long() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    for dtype in ("uint32", "int64"):
        index = ot.input("index", (4,), dtype, over=t)
        read = x.at(t=index, within=(t // 2, t + 1))
        steps = [[k // 2, k, k // 2, k] for k in range(7)]
        same(ot.Program(y=read), x=floats(7), index=np.array(steps, dtype))

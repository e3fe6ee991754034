"""A stream has records while it runs wherever a loop over its dim can stand around all others."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato.runtime.run.stream import Record

Arguments = dict[str, Any]
RNG = np.random.default_rng(0)


def walk() -> tuple[ot.Program, Arguments]:
    """A loop with no loop inside."""
    t = ot.dims("t")
    w = ot.recurrent("w", over=t)
    w[0], w[t + 1] = 1.0, 0.9 * w + ot.random.normal(over=t)
    return ot.Program(w=w), {"T": 9}


def table() -> tuple[ot.Program, Arguments]:
    """Errors that tiles of steps would compute after the loop that makes the table."""
    t = ot.dims("t")
    place, reward = ot.input("place", dtype="int32", over=t), ot.input("reward", over=t)
    q = ot.recurrent("q", (4,), over=t)
    error = reward - ot.take(q, place, axis=0)
    q[0] = ot.zeros(4)
    q[t + 1] = ot.where(ot.arange(4) == place, q + 0.5 * error[..., None], q)
    given = {"place": RNG.integers(0, 4, 9), "reward": RNG.normal(size=9)}
    return ot.Program(error=error, last=q[-1]), given


def batch() -> tuple[ot.Program, Arguments]:
    """Rows that tiles would take through all steps one after the other."""
    b, t = ot.dims("b t")
    x = ot.input("x", (2,), over=(b, t))
    mean = ot.recurrent("mean", (2,), over=t)
    mean[0] = x[:, 0].mean(0)
    mean[t + 1] = 0.9 * mean + 0.1 * x[:, t + 1].mean(0)
    spread = ((x - mean) ** 2)[:, t].sum(0)
    return ot.Program(mean=mean, spread=spread), {"x": RNG.normal(size=(40, 9, 2))}


def heat() -> tuple[ot.Program, Arguments]:
    """A loop with records, and the one of a gradient that goes back through its steps."""
    t, x = ot.dims("t x")
    start, rate = ot.input("start", over=x), ot.input("rate")
    u = ot.recurrent("u", over=(t, x))
    u[0, x] = start
    u[t + 1, x] = u + rate * (u[t, ot.minimum(x + 1, x.size - 1)] - ot.sin(u))
    slope = ot.grad((u[-1, :] ** 2).sum(0), [start, rate])
    return ot.Program(u=u, start=slope[0], rate=slope[1]), {
        "start": RNG.normal(size=5),
        "T": 9,
        "rate": 0.1,
    }


CASES = (walk, table, batch, heat)
Make = Callable[[], tuple[ot.Program, Arguments]]


def values(record: Record, names: tuple[str, ...]) -> list[bytes]:
    return [np.asarray(getattr(record, name)).tobytes() for name in names]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("make", CASES, ids=lambda f: f.__name__)
def test_records_come_while_it_runs_and_states_are_left(make: Make, exact: bool) -> None:
    program, given = make()
    run = program.compile(exact=exact, threads=2)
    meant = program.interpret(**given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        records = list(run.stream("t", **given))
    over = tuple(name for name in meant if hasattr(records[0], name))
    for name in over:
        found = np.stack([np.asarray(getattr(record, name)) for record in records])
        np.testing.assert_allclose(found, meant[name], rtol=1e-4, atol=1e-5)
    begun = run.stream("t", every=2, **given)
    first = [next(begun) for _ in range(5)]
    rest = list(run.stream("t", resume=begun.state, **given))
    for again, wanted in zip((*first, *rest), records, strict=True):
        assert values(again, over) == values(wanted, over)


def test_a_stream_of_a_loop_without_loops_inside_takes_little_memory() -> None:
    program, _ = walk()
    run = program.compile()
    assert next(run.stream("t", T=10**8)).w == 1.0
    explained = run.explain()
    assert explained.memory.predicted_peak_bytes >= 4 * 10**8
    assert explained.memory.streamed_bytes < 40_000_000
    assert explained.variant == "one for streams over `t`: each of its steps completes a record"


def test_a_call_takes_the_form_that_it_took_before() -> None:
    program, given = table()
    run = program.compile()
    before = run.explain(T=9).schedule
    list(run.stream("t", **given))
    assert run.explain().schedule != before == run.explain(T=9).schedule
    np.testing.assert_allclose(run(**given)["error"], program.interpret(**given)["error"], 1e-5)


def elementwise() -> tuple[ot.Program, Arguments]:
    """Points that do not wait for each other."""
    t = ot.dims("t")
    x = ot.input("x", over=t)
    return ot.Program(y=ot.exp(x)), {"x": RNG.normal(size=40)}


def backward() -> tuple[ot.Program, Arguments]:
    t = ot.dims("t")
    total = ot.recurrent("total", over=t)
    total[-1], total[t] = 1.0, 0.5 * total[t + 1]
    return ot.Program(total=total), {"T": 3}


@pytest.mark.parametrize("make", [elementwise, backward], ids=lambda f: f.__name__)
def test_what_no_loop_carries_forwards_has_its_records_late(make: Make) -> None:
    program, given = make()
    ((name, meant),) = program.interpret(**given).items()
    with pytest.warns(UserWarning, match="come after the run"):
        records = list(program.compile().stream("t", **given))
    np.testing.assert_allclose([getattr(record, name) for record in records], meant, 1e-5)

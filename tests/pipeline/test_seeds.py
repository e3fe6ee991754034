"""Trainings side by side: a dimension in front changes neither the tiles nor the memory of one."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato import rl
from ostinato.compiler.compiled import Compiled
from ostinato.language.dims import Dimension

SIZES = {"B": 5, "I": 3, "T": 4}
ORDERS = ("k b i t", "k i b t", "b k i t", "i k b t")


def at(dims: list[Dimension], **moved: object) -> tuple[object, ...]:
    return tuple(moved.get(d.name, d) for d in dims)


def training(order: str) -> ot.Program:
    """Descent on the states that rows reach in a few steps, with or without seeds ``k``."""
    names = order.split()
    rows = [*ot.dims(order)]
    outer = [d for d in rows if d.name in ("k", "i")]
    i, t = rows[names.index("i")], rows[names.index("t")]
    w = ot.recurrent("w", (64, 64), over=outer)
    state = ot.recurrent("state", (64,), over=rows)
    first = [d for d in rows if d.name != "t"]
    state[at(rows, t=0)] = ot.random.normal((64,), over=first)
    state[at(rows, t=t + 1)] = ot.tanh((state[..., None, :] @ w)[..., 0, :])
    loss = (state[at(rows, b=slice(None), t=slice(None))] ** 2).mean()
    w[at(outer, i=0)] = 0.1 * ot.random.normal((64, 64), over=[d for d in outer if d.name != "i"])
    w[at(outer, i=i + 1)] = w - ot.grad(loss, w)
    return ot.Program(loss=loss)


@cache
def a2c() -> ot.Program:
    return rl.a2c(rl.CartPole()).program


@cache
def beside() -> ot.Program:
    """Trainings of several seeds."""
    return rl.a2c(rl.CartPole(), over=ot.dims("k")).program


@cache
def alone_and_beside() -> tuple[Compiled, Compiled]:
    return a2c().compile(threads=1), beside().compile(threads=1)


@pytest.mark.parametrize("order", ORDERS)
def test_the_rows_of_all_seeds_run_in_tiles_inside_the_iterations(order: str) -> None:
    lines = training(order).compile().explain().schedule.splitlines()
    outermost = [line for line in lines if line.startswith("for")]
    assert [line.split(":")[0] for line in outermost] == ["for i = 0 .. I-1"]
    assert any("b_o = 0 .." in line and "and the steps of k:" in line for line in lines)
    assert not any("k_o" in line for line in lines)


@pytest.mark.parametrize("order", ORDERS)
def test_seeds_equal_the_interpreter(order: str) -> None:
    program = training(order)
    expected, found = program.interpret(**SIZES, K=2), program.compile(threads=3)(**SIZES, K=2)
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-4)


@pytest.mark.parametrize("seeds", [1, 8])
def test_seeds_take_the_memory_of_as_many_trainings(seeds: int) -> None:
    sizes = {"B": 16, "T": 16, "I": 200}
    one, several = alone_and_beside()
    one_bytes = one.explain(**sizes).memory.predicted_peak_bytes
    assert several.explain(**sizes, K=seeds).memory.predicted_peak_bytes < 2 * seeds * one_bytes


def test_records_come_while_seeds_learn() -> None:
    assert "for i = 0 .. I-1:    # published" in beside().compile().explain().schedule


def test_of_many_seeds_each_is_done_by_one_worker() -> None:
    schedule = beside().compile(hints={"K": 64}).explain().schedule
    kernels = [line.strip() for line in schedule.splitlines() if re.match(r" *k\d+ parallel", line)]
    assert kernels and all("parallel k = 0 .. K-1" in line for line in kernels)


@pytest.mark.parametrize("hints", [{"B": 1}, {"B": 4}, {"B": 4, "K": 8}])
def test_rows_stay_in_tiles_where_they_are_known_to_be_few(hints: dict[str, int]) -> None:
    sizes = {"B": hints["B"], "T": 16, "I": 200}
    run = beside().compile(threads=1, hints=hints)
    assert "k_o" not in run.explain().schedule
    assert run.explain(**sizes, K=1).memory.predicted_peak_bytes < 400_000


@pytest.mark.parametrize("order", ORDERS)
def test_one_seed_leaves_all_workers_to_its_rows(order: str) -> None:
    found = training(order).compile(threads=2).explain(B=64, I=50, T=16, K=1)
    assert found.variant.startswith("one for B <= 64, K <= 1: ")
    lines = found.schedule.splitlines()
    assert [x.split(":")[0] for x in lines if x.startswith("for")] == ["for i = 0 .. I-1"]
    assert not any("parallel k" in x or "steps of k" in x for x in lines)
    assert any(re.match(r" *k\d+ parallel b_o", x) for x in lines)


def test_one_seed_learns_from_minibatches_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)  # a variant is made for the cores of a machine
    run = rl.ppo(rl.CartPole(), over=ot.dims("k")).program.compile(threads=2)
    schedule = run.explain(B=8, I=50, T=128, E=4, K=1).schedule
    assert "parallel row_g" in schedule and "in slices" in schedule and "parallel k" not in schedule


def sweep() -> ot.Program:
    """Trainings for three learning rates, two prices of entropy and two seeds."""
    swept: dict[str, Any] = {
        name: ot.input(name, over=ot.dim(f"{name}_choice", size=size))
        for name, size in (("learning_rate", 3), ("entropy", 2))
    }
    return rl.a2c(rl.CartPole(), hidden=[16], over=ot.dim("seed", size=2), **swept).program


SWEPT = {"learning_rate": [0.0, 1e-3, 1e-2], "entropy": [0.0, 0.1]}


def test_every_training_of_a_sweep_is_work_for_one_worker_whose_records_come_live() -> None:
    run = sweep().compile(threads=2)
    schedule = run.explain().schedule
    together = r"parallel learning_rate_choice = 0 .. 2:\n +parallel entropy_choice = 0 .. 1:"
    assert re.search(rf"{together}\n +parallel seed = 0 .. 1:\n", schedule)
    assert [line for line in schedule.splitlines() if line.startswith("for")] == [
        "for i = 0 .. I-1:    # published"
    ]


def test_a_sweep_equals_the_interpreter() -> None:
    program, sizes = sweep(), {"B": 3, "T": 4, "I": 3}
    expected = program.interpret(**sizes, **SWEPT)
    found = program.compile(threads=3)(**sizes, **SWEPT)
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-5)

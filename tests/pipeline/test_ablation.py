"""The e-graph decides: without a family of rules the same programs run, right but slower."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn
from ostinato.language.tensor import Tensor
from tests.pipeline.work import work

b, t = ot.dims("b t")
FAMILIES = ((), ("vectorize",), ("incremental",), ("algebra",), ("vectorize", "incremental"))


def prefix_sum() -> ot.Program:
    x = ot.input("x", dtype="float64", over=(t,))
    return ot.Program(y=x[: t + 1].sum(0))


def sums() -> dict[str, Tensor]:
    x = ot.input("x", dtype="float64", over=(t,))
    return {
        "prefix": x[: t + 1].sum(0),
        "suffix": x[t:].sum(0),
        "discounted": ot.discounted_sum(x[t:], 0.9),
        "window": x[ot.maximum(t - 20, 0) : t + 1].sum(0),
        "running_max": x[: t + 1].max(0),
    }


def layer() -> ot.Program:
    """One dense layer over episodes and steps, and the gradient of its weight."""
    x = ot.input("x", shape=(8,), dtype="float64", over=(b, t))
    w = ot.input("w", shape=(8, 16), dtype="float64")
    loss = ot.tanh(x @ w).sum(-1)[:, :].mean()
    return ot.Program(loss=loss, gradient=ot.grad(loss, w))


def rollout() -> ot.Program:
    """A recurrence over steps that is parallel over episodes."""
    policy = nn.MLP(3, [8], 3, over=(), name="policy")
    h = ot.recurrent("h", shape=(3,), over=(b, t))
    h[b, 0] = ot.random.uniform((3,), over=(b,))
    h[b, t + 1] = ot.tanh(policy(h))
    return ot.Program(h=h, total=(h * h).sum(-1)[b, t:].sum(0))


@pytest.mark.parametrize("without", FAMILIES, ids="-".join)
@pytest.mark.parametrize("build", [prefix_sum, layer, rollout])
def test_every_choice_of_rules_gives_the_same_answer(
    build: Callable[[], ot.Program], without: tuple[str, ...]
) -> None:
    program = build()
    rng = np.random.default_rng(0)
    sizes = {"x": (5,) if build is prefix_sum else (5, 7, 8), "w": (8, 16)}
    given: dict[str, object] = {name: rng.normal(size=sizes[name]) for name in program.inputs}
    if build is rollout:
        given = {"B": 5, "T": 7}
    expected = program.interpret(**given)
    result = program.compile(rules=ot.rules.without(*without))(**given)
    for name, value in expected.items():
        np.testing.assert_allclose(result[name], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", sorted(sums()))
def test_growing_sums_are_linear_with_incremental_rules(name: str) -> None:
    program = ot.Program(y=sums()[name])
    short, long = work(program, T=200).elements, work(program, T=400).elements
    assert long < 2.2 * short


@pytest.mark.parametrize("name", ["prefix", "suffix", "discounted", "running_max"])
def test_growing_sums_are_quadratic_without_incremental_rules(name: str) -> None:
    program = ot.Program(y=sums()[name])
    off = ("incremental",)
    short, long = (work(program, off, T=n).elements for n in (200, 400))
    assert long > 3.5 * short


@pytest.mark.parametrize("ahead", [False, True], ids=["past", "future"])
def test_window_sums_cost_little_more_for_long_windows(ahead: bool) -> None:
    x = ot.input("x", dtype="float64", over=(t,))

    def window(steps: int) -> ot.Program:
        past = slice(ot.maximum(t - steps, 0), t + 1)
        return ot.Program(y=x[slice(t, ot.minimum(t + steps, t.size)) if ahead else past].sum(0))

    def long(*off: str) -> float:
        few, many = (work(window(n), off, T=2000).elements for n in (300, 1200))
        return many / few

    assert long() < 1.4
    assert long("incremental") > 2


def test_a_layer_runs_once_per_step_without_vectorize() -> None:
    program = layer()
    fused = work(program, B=32, T=16).leaves
    single = work(program, ("vectorize",), B=32, T=16).leaves
    assert single >= 32 * 16 and fused <= single / 8


def test_a_rollout_steps_all_episodes_together_with_vectorize() -> None:
    program = rollout()
    together = work(program, B=32, T=16).leaves
    single = work(program, ("vectorize",), B=32, T=16).leaves
    assert together <= single / 16


def test_the_gradient_of_a_layer_is_one_product_with_matmul_rules() -> None:
    schedule = layer().compile().explain().schedule
    products = [line for line in schedule.splitlines() if "+=" in line and "@" in line]
    assert len(products) == 1, schedule

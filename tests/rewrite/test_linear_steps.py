"""Recurrences with random affine steps: rewritten, and compiled, they keep their meaning."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ostinato as ot
from ostinato.pdg.demand.check import check
from ostinato.pdg.interpret import interpret
from ostinato.pdg.invariants import verify
from ostinato.pdg.text.printer import show
from ostinato.rewrite.optimize import optimize

COMPILED = int(os.environ.get("OSTINATO_COMPILED_STEPS", "4"))
QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large)
Step = Callable[[ot.Tensor, dict[str, Any]], Any]


@dataclass(frozen=True)
class Recipe:
    """A step as nested operators on the step before, a direction, starts, and a second dim."""

    operators: tuple[str, ...]
    backwards: bool
    starts: int
    wide: bool
    steps: int

    def program(self) -> ot.Program:
        b, t = ot.dims("b t")
        over = (b, t) if self.wide else (t,)
        free = {name: ot.input(name, dtype="float64", over=over) for name in ("a", "c")}
        free["m"] = ot.input("m", dtype="bool", over=over)
        y = ot.recurrent("y", dtype="float64", over=over)
        lead = (b,) if self.wide else ()
        begins = t >= t.size - self.starts if self.backwards else t < self.starts
        y[begins] = free["c"] * 2.0
        before = y[(*lead, t + 1 if self.backwards else t - 1)]
        value = before
        for k, name in enumerate(self.operators):
            value = OPERATORS[name](value, {**free, "before": before, "t": t, "k": k})
        y[True] = value
        return ot.Program(y=y, sum=y + 1.0)

    def given(self, program: ot.Program) -> dict[str, Any]:
        """Random arguments for the inputs that the step uses."""
        rng = np.random.default_rng(self.steps)
        shape = (2, self.steps) if self.wide else (self.steps,)
        found = {
            "a": rng.normal(size=shape),
            "c": rng.normal(size=shape),
            "m": rng.random(shape) < 0.5,
        }
        return {name: found[name] for name in program.signature.inputs}


OPERATORS: dict[str, Step] = {
    "plus": lambda y, free: y + free["a"],
    "from": lambda y, free: free["a"] - y,
    "times": lambda y, free: y * free["c"],
    "scaled": lambda y, free: 0.5 * y,
    "over": lambda y, free: y / 2.0,
    "less": lambda y, free: y - 0.25,
    "negated": lambda y, free: -y,
    "where": lambda y, free: ot.where(free["m"], 0.0, y),
    "where else": lambda y, free: ot.where(free["m"], y, free["a"]),
    "both": lambda y, free: y + 0.1 * free["before"],
    "toward": lambda y, free: y + 0.3 * (free["a"] - free["before"]),
    "masked": lambda y, free: y * (1.0 - free["m"].cast("float64")),
    "chosen": lambda y, free: ot.where(free["m"], y, free["before"]),
}

recipes = st.builds(
    Recipe,
    st.lists(st.sampled_from(sorted(OPERATORS)), max_size=5).map(tuple),
    st.booleans(),
    st.integers(1, 2),
    st.booleans(),
    st.integers(2, 6),
)


@settings(max_examples=30, deadline=None, database=None, suppress_health_check=QUIET)
@given(recipes)
def test_random_affine_steps_become_linear_and_keep_their_meaning(recipe: Recipe) -> None:
    program = recipe.program()
    pdg, values = program.pdg, recipe.given(program)
    extents = {"T": recipe.steps, **({"B": 2} if recipe.wide else {})}
    result = optimize(pdg).pdg
    verify(result)
    check(result, pdg.minimum_extents)
    hides = {"where", "where else", "chosen"} & {*recipe.operators} or recipe.starts > 1
    if not hides:  # a choice hides the step before, which a factor does not
        assert "linear(" in show(result)
        assert not result.equations, "no recurrence is left"
    expected, found = (interpret(p, extents, values, 0) for p in (pdg, result))
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-9)


@settings(max_examples=COMPILED, deadline=None, database=None, suppress_health_check=QUIET)
@given(recipes)
def test_compiled_random_affine_steps_agree_with_the_interpreter(recipe: Recipe) -> None:
    program = recipe.program()
    values = recipe.given(program)
    expected, found = program.interpret(**values), program.compile(threads=1)(**values)
    for name in ("y", "sum"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-9)


def _with_step(step: Step) -> ot.Program:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    y = ot.recurrent("y", over=t)
    y[0] = 1.0
    y[t + 1] = step(y, {"x": x})
    return ot.Program(y=y)


CURVED: dict[str, Step] = {
    "square": lambda y, free: y * y,
    "tanh": lambda y, free: ot.tanh(y) + free["x"],
    "divisor": lambda y, free: free["x"] / y,
    "condition": lambda y, free: ot.where(y > 0, y, free["x"]),
    "maximum": lambda y, free: ot.maximum(y, free["x"]),
    "product with itself": lambda y, free: y * (free["x"] + y),
}


@pytest.mark.parametrize("name", CURVED)
def test_a_step_that_is_not_affine_stays_a_recurrence(name: str) -> None:
    result = optimize(_with_step(CURVED[name]).pdg).pdg
    assert "linear(" not in show(result)
    assert result.equations


def test_a_step_that_reads_two_steps_back_stays_a_recurrence() -> None:
    t = ot.dims("t")
    y = ot.recurrent("y", over=t)
    y[t < 2] = 1.0
    y[True] = y[t - 1] + 0.5 * y[t - 2]
    assert optimize(ot.Program(y=y).pdg).pdg.equations


def test_a_recurrence_that_another_one_drives_stays_as_it_is() -> None:
    t = ot.dims("t")
    y, z = ot.recurrent("y", over=t), ot.recurrent("z", over=t)
    y[0], z[0] = 1.0, 1.0
    y[t + 1] = 0.5 * y + z
    z[t + 1] = y - z
    assert set(optimize(ot.Program(y=y, z=z).pdg).pdg.equations) == {"y", "z"}

"""Programs that the fuzzer found to fail, as small as they could be made."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ostinato as ot
from ostinato.certificate.document import read
from ostinato.certificate.verify import checks_of
from ostinato.pdg.demand.check import check
from ostinato.pdg.errors import ArgumentError
from ostinato.pdg.functions import Array
from ostinato.rewrite.optimize import optimize
from tests.property.judge import CHECKS, Bench, Trial, judge
from tests.property.programs import Recipe, Step

t = ot.dims("t")
LINE = (((0,), ()),)

FOUND = {
    # its adjoint reads the last step under a condition on the point: the step seemed to need itself
    "gradient of overlapping cases": Recipe(
        LINE, (Step("overlapping", c=3), Step("gradient_of_all", a=1)), 1, 1
    ),
}


BOTH = (((0, 1), ()), ((0,), ()), ((0, 1), ()))
CERTIFIED = {
    # a loop that may end mentions its mask before what its statements read
    "a mask amid the entries of a kernel": Recipe(
        LINE * 2,
        (Step("stopped", 1, 1, 0, 2, "var"), Step("shuffled", 2, 2, 0, 2)), 1, 1, ("float32",) * 2,
    ),
    # a law was led by tiles of a range, which are in none of the chosen terms
    "a quotient that leaves attention": Recipe(
        BOTH, (Step("attention_over_half_open", 2, 0, 2, 2),), 1, 2, ("float32",) * 3
    ),
    # two terms were one node: a view had the name of one of them, the certificate that of the other
    "a name that a certificate loses": Recipe(
        (((0, 1), (2, 3)), ((0, 1), (3,))),
        (Step("weights_over_half_open", 1, 1, 2, 3), Step("end", 2, 1, 3, 2)), 2, 2,
        ("float32",) * 2,
    ),
    # what is computed a step early, at first for nobody, read in front of a tensor
    "a step before the first one": Recipe(
        (((1,), (3,)),),
        (
            Step("sinh", dim=0, c=1), Step("everything", 1, 0, 1, 3),
            Step("ahead_of_left", 2, 2, 1, 3),
        ), 2, 2, ("float64",),
    ),
    # products were joined at the points, of which the chosen terms have all at once
    "products of one row": Recipe(
        (((0,), ()), ((1,), ()), ((1,), ())),
        (Step("shared_row", 2, 0, 1, 1),), 1, 2, ("float64",) * 3,
    ),
}  # fmt: skip
WITHOUT = {"a name that a certificate loses": ("algebra",)}


@pytest.mark.parametrize("name", CERTIFIED)
def test_its_certificate_holds_now(name: str) -> None:
    CHECKS["certified"](Bench(Trial(CERTIFIED[name], without=WITHOUT.get(name, ()))))


@pytest.mark.parametrize("name", FOUND)
def test_it_is_right_now(name: str) -> None:
    judge(Trial(FOUND[name]))


def test_a_step_may_read_the_last_one_where_a_condition_says_that_it_is_another() -> None:
    x = ot.input("x", dtype="int64", over=t)
    r = ot.recurrent("r", dtype="int64", over=t)
    r[t] = ot.where(t == t.size - 4, 2 * r[-1], 0) + x
    found = ot.Program(r=r).compile()(x=np.arange(8))["r"]
    assert found.tolist() == [0, 1, 2, 3, 18, 5, 6, 7]


def test_a_gradient_prints_the_same_whatever_was_written_before() -> None:
    """Its recurrences were called after a counter of the process."""

    def text() -> str:
        r = ot.recurrent("r", over=t)
        r[0] = 1.0
        r[t + 1] = 0.5 * r * ot.input("rate")
        loss = (r[:] ** 2).sum().named("loss")
        return str(ot.Program(gradient=ot.grad(loss, ot.input("rate"))))

    assert text() == text()
    assert "d_loss/d_r[" in text()
    assert not re.search(r"#\d", text())


def test_a_product_of_a_forward_recurrence_takes_no_part_of_a_backward_one() -> None:
    """One leaf computed both, so that no loop over ``t`` went the right way."""
    b, (v, w) = ot.dims("b"), (ot.input(name, (2, 2)) for name in "vw")
    x, h = ot.input("x", over=(t, b)), ot.recurrent("h", (2,), over=(t, b))
    h[0, b] = ot.ones((2,))
    h[t + 1, b] = (h @ v) * (h @ w) * x
    slope = ot.grad((h[..., 1:] ** 2).sum()[:, :].sum(), x)
    program = ot.Program(bend=ot.grad((slope[:, :] ** 2).sum(), x))
    rng = np.random.default_rng(0)
    given = {"x": rng.normal(size=(3, 4)), "v": rng.normal(size=(2, 2)), "w": np.eye(2)}
    judged, found = (run(**given)["bend"] for run in methods(program))
    assert np.allclose(found, judged, rtol=1e-4, atol=1e-5)


def test_a_fixed_step_needs_an_extent_that_has_it_also_without_a_leaf_there() -> None:
    """A value of the dim alone was read at its third step, which a history did not have."""
    x, s = ot.input("x", over=t), ot.dims("s")
    table = x + 0.5 * s
    program = ot.Program(table=table, third=table[t, 2])
    with pytest.raises(ArgumentError, match="the extent `S` is 2 .S=2., the program reads 3 steps"):
        program.interpret(x=[1.0], S=2)
    assert program.compile()(x=[1.0, 2.0], S=3)["third"].tolist() == [2.0, 3.0]


def test_a_fold_of_nothing_is_the_unit() -> None:
    """A kernel looked for the fold of an axis of size 0 in memory."""
    x = ot.input("x", shape=(3, 1), over=t)
    draws = ot.random.categorical(x)
    judged, found = (run(x=np.ones((4, 3, 1))) for run in methods(ot.Program(d=draws, x=x)))
    assert found["d"].tolist() == judged["d"].tolist() == [[0] * 3] * 4


def test_a_value_of_the_step_before_stays_until_every_loop_inside_has_read_it() -> None:
    """One slot along ``b`` was kept, though it was overwritten before a later ``s`` read it."""
    steps = (Step("diagonal", a=0, b=0, dim=3, c=3), Step("called", a=1, b=1, dim=2, c=2))
    recipe = Recipe((((0, 1), ()),), steps, 1, 2, ("float32",))
    judge(Trial(recipe, extents=(0, 2), threads=2))


def test_the_sizes_of_an_adjoint_are_those_of_the_step_that_is_read() -> None:
    """Sizes that change with the readers kept their parts from being summed."""
    steps = (Step("kept", a=1, b=1, dim=1, c=2), Step("least_of_three", a=2, b=2, dim=1, c=1))
    inputs = (((0, 1, 2), ()), ((0, 1, 2), ()))
    recipe = Recipe(inputs, steps, 1, 3, ("float32", "float32"), "second")
    judge(Trial(recipe, extents=(0,), threads=3))


def methods(program: ot.Program) -> tuple[Callable[..., dict[str, Array]], ...]:
    return program.interpret, program.compile()


def test_a_value_that_another_tile_reads_in_the_next_step_has_two_slots() -> None:
    """The proof of storage took tiles in their order, but workers take them in any order."""
    b, s = ot.dims("b s")
    x, y = ot.input("x", over=(b, s)), ot.recurrent("y", over=(b, s))
    bent = ot.tanh(y).named("bent")
    y[b == 0] = x
    y[True] = ot.where(s < s.size - 1, bent[b - 1, ot.minimum(s + 1, s.size - 1)], 0.0) + x
    run = ot.Program(y=y).compile(widths={"s": 2}, threads=2)
    lines = [line for line in run.explain().schedule.splitlines() if line.startswith("bent ")]
    assert ["b: last 2" in line for line in lines] == [True]


def test_a_fixed_step_that_few_steps_lack_is_not_read_without_its_condition() -> None:
    """A mask computed both branches everywhere, also one that reads step ``B - 3`` of one step."""
    steps = (
        Step("mul", dim=2, c=1),
        Step("arctan", a=1, b=1, dim=3, c=1),
        Step("constant_step", a=2, dim=3, c=3),
        Step("gather_history", dim=1, c=2),
    )
    recipe = Recipe((((0, 1), (3,)),), steps, 2, 3, ("float32",), "second")
    program = Bench(Trial(recipe)).program
    check(optimize(program.pdg).pdg, program.pdg.minimum_extents)


def test_a_second_gradient_keeps_the_condition_under_which_its_factors_exist() -> None:
    """A sum over steps of ``t`` lost what was known of ``s``: a factor left its axis."""
    s, u = ot.dims("s u")
    x = ot.input("x", dtype="float64", over=(s, u))
    whole = ot.logsumexp(x.at(u=slice(None)) * x, 0)
    first = ot.cumprod(whole.at(s=slice(0, ot.minimum(1, s.size))), axis=0).sum(0)
    slope = ot.grad((first[:] ** 2).sum(), x)
    program = ot.Program(bend=ot.grad((slope[:, :] ** 2).sum(), x))
    given = {"x": np.random.default_rng(0).normal(size=(3, 4))}
    judged, found = (run(**given)["bend"] for run in methods(program))
    assert np.allclose(found, judged) and np.any(judged[0]) and not np.any(judged[1:])


def test_a_certificate_knows_that_nothing_is_nothing(tmp_path: Path) -> None:
    """The terms reshape a value over no steps, which is zeros in the program."""
    b = ot.dims("b")
    x, u = ot.input("x", over=b, shape=(2, 3)), ot.input("u", over=b)
    program = ot.Program(y=ot.where(b <= -1, x * 0.5 + u * 0.25, x * 3))
    program.compile(certificate=tmp_path / "it.json")
    checks = dict(checks_of(read(tmp_path / "it.json")))
    assert "terms" in checks["terms"]()

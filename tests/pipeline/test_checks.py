"""``compile(checks=True)``: computed steps and positions are checked as the interpreter does."""

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.claims import Said, failure
from ostinato.pdg.condition import at_least
from ostinato.pdg.demand.checks import Condition, with_claims
from ostinato.pdg.errors import CoverageError, DomainError
from ostinato.pdg.node import UNSEEN
from tests.errors.refusal import here, refusal


def replay() -> ot.Program:
    b, t = ot.dims("b t")
    x, drawn = ot.input("x", (2,), over=(b, t)), ot.input("drawn", (3,), "int32", over=t)
    old = x.at(t=drawn, within=(ot.maximum(t - 2, 0), t))
    return ot.Program(y=ot.where(t > 0, old.sum(0), 0.0))


X = np.arange(16.0).reshape(2, 4, 2)
GOOD = np.array([[9, 9, 9], [0, 0, 0], [0, 1, 0], [1, 2, 1]])


@pytest.mark.parametrize("bad", [0, 3, -1])
def test_a_step_outside_its_window_is_the_interpreters_error(bad: int) -> None:
    program = replay()
    drawn = GOOD.copy()
    drawn[3, 1] = bad
    expected = refusal(DomainError, lambda: program.interpret(x=X, drawn=drawn))
    run = program.compile(checks=True)
    assert refusal(DomainError, lambda: run(x=X, drawn=drawn)) == expected
    assert f"t = {bad} at b = 0, t = 3, where its window is 1 <= t < 3" in expected


def test_steps_that_nobody_demands_are_not_checked() -> None:
    program = replay()
    expected = program.interpret(x=X, drawn=GOOD)  # at t = 0 they are outside
    results = program.compile(checks=True)(x=X, drawn=GOOD)
    assert list(results) == ["y"]
    assert np.array_equal(results["y"], expected["y"])


def test_without_checks_a_step_is_clamped_to_its_window() -> None:
    program = replay()
    far, near = GOOD.copy(), GOOD.copy()
    far[3], near[3] = [-5, 7, 2], [1, 2, 2]
    run = program.compile()
    assert np.array_equal(run(x=X, drawn=far)["y"], run(x=X, drawn=near)["y"])


def test_a_position_outside_its_axis_is_found() -> None:
    t = ot.dims("t")
    x, index = ot.input("x", (3,), over=t), ot.input("index", dtype="int32", over=t)
    taken, where = x.take(index, axis=0), here()
    run = ot.Program(y=taken).compile(checks=True)
    assert run(x=np.ones((2, 3)), index=[2, 0])["y"].tolist() == [1, 1]
    assert refusal(DomainError, lambda: run(x=np.ones((2, 3)), index=[2, 3])) == (
        f"{where}: `x` is taken at position 3 at t = 1, where axis -1 has size 3\n"
        "  Clip the positions to the axis with `ot.clip`."
    )


def test_a_stream_ends_at_the_step_that_fails() -> None:
    i, b, t = ot.dims("i b t")
    x, z = ot.input("x", dtype="int32", over=t), ot.input("z", dtype="int32", over=b)
    total = ot.recurrent("total", dtype="int32", over=i)
    total[0] = 0
    total[i + 1] = total + x.at(t=total) * ot.minimum(total + z, 1)[i, :].max()
    run = ot.Program(total=total).compile(checks=True)
    seen: list[int] = []
    with pytest.raises(DomainError, match="t = 3 at i = 3, where its window is 0 <= t < 3"):
        for record in run.stream(i, x=[1, 1, 1], z=[1, 1], I=6):
            seen.append(record.total)
    assert seen == [0, 1, 2]


def test_records_that_come_late_are_checked_before_they_come() -> None:
    i, t = ot.dims("i t")
    x, index = ot.input("x", over=t), ot.input("index", dtype="int32", over=i)
    total = ot.recurrent("total", over=i)
    total[-1] = 0.0
    total[i] = total[i + 1] + x.at(t=index)
    run = ot.Program(total=total).compile(checks=True)
    with pytest.raises(DomainError, match="t = 9 at i = 2"), pytest.warns(UserWarning):
        list(run.stream(i, x=[1, 2], index=[0, 1, 9, 0, 0]))


def test_a_condition_of_the_users_own() -> None:
    t = ot.dims("t")
    x = ot.input("x", (2,), over=t)
    program = ot.Program(y=x.sum(0))
    where = here()
    grows = (x[t] >= x[t - 1]).node
    said = Said(CoverageError, "check failed{at}: x grows", "Let it grow.")
    condition = Condition(grows, said, where, at_least(t.dim, 1))
    checked, (claim,) = with_claims(program.pdg, [condition])
    assert [name for name, _ in checked.outputs] == ["y", f"{UNSEEN}check0"]
    assert failure(claim, (np.array([True, True]), np.zeros(0)), {"T": 2}) is None
    wrong = failure(claim, (np.array([True, False]), np.zeros(0)), {"T": 2})
    assert isinstance(wrong, CoverageError)
    assert str(wrong) == f"{where}: check failed at t = 1: x grows\n  Let it grow."

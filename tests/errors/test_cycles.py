"""Values that need themselves: the same words from the compiler and from the interpreter."""

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import CycleError
from tests.errors.refusal import here, refusal

Way = Callable[[ot.Program], object]
EXTENTS = {"A": 3, "B": 3, "T": 3}


def interpreted(program: ot.Program) -> object:
    return program.interpret(**{name: EXTENTS[name] for name in program.extents})


def compiled(program: ot.Program) -> object:
    return program.compile()


both = pytest.mark.parametrize("way", [compiled, interpreted])


@both
def test_two_tensors_that_need_each_other_at_one_step(way: Way) -> None:
    t = ot.dims("t")
    hidden, gate = ot.recurrent("hidden", over=t), ot.recurrent("gate", over=t)
    first, second = here(1), here(2)
    hidden[t] = gate * 2.0
    gate[t] = ot.tanh(hidden)
    assert refusal(CycleError, lambda: way(ot.Program(hidden=hidden))) == (
        f"{first}: `hidden` at t = 0 ({first}) needs `gate` at t = 0 ({second}), "
        "which needs `hidden` at t = 0\n"
        "  Read an earlier step of `hidden`, so that some order computes it."
    )


@both
def test_a_forward_and_a_backward_recurrence_that_meet(way: Way) -> None:
    t = ot.dims("t")
    later, sooner = ot.recurrent("later", over=t), ot.recurrent("sooner", over=t)
    where = {"later": here(2), "sooner": here(4)}
    later[0] = 0.0
    later[t + 1] = sooner + later
    sooner[-1] = 0.0
    sooner[t - 1] = later + sooner
    text = refusal(CycleError, lambda: way(ot.Program(sooner=sooner)))
    assert text == (
        f"{where['sooner']}: `sooner` at t = 0 ({where['sooner']}) needs `later` at t = 1 "
        f"({where['later']}), which needs `sooner` at t = 0\n"
        "  Read an earlier step of `sooner`, so that some order computes it."
    )


@both
def test_a_step_that_needs_all_steps(way: Way) -> None:
    b, t = ot.dims("b t")
    x = ot.recurrent("x", over=(b, t))
    x[b, 0] = 0.0
    where = here(1)
    x[b, t + 1] = x - x[b, :].mean()
    assert refusal(CycleError, lambda: way(ot.Program(x=x))) == (
        f"{where}: `x` at b = 0, t = 1 ({where}) needs itself\n"
        "  Read an earlier step of `x`, so that some order computes it."
    )


def test_an_order_that_no_nest_of_loops_has() -> None:
    a, b = ot.dims("a b")
    x = ot.recurrent("x", over=(a, b))
    where = here(1)
    x[(a == 0) | (b < 2) | (a >= a.size - 1) | (b >= b.size - 1)] = 1.0
    x[True] = x[a - 1, b + 1] + x[a + 1, b - 2]
    program = ot.Program(x=x)
    assert program.interpret(A=4, B=6)["x"].shape == (4, 6)
    text = refusal(CycleError, program.compile)
    assert text.startswith(f"{where}: no order of ") and "`x`" in text
    assert text.endswith("or split the cases so that no point needs itself.")


def test_a_function_of_all_steps_that_its_own_steps_need() -> None:
    t, b = ot.dims("t b")
    x = ot.recurrent("x", over=(t, b))
    x[0, b] = 1.0
    x[t + 1, b] = 0.5 * x + ot.host(np.tanh, x[t, :].mean(), over=t)
    text = refusal(CycleError, ot.Program(x=x, mean=x[t, :].mean()).compile)
    assert "`x` at t = 1, b = 0" in text and "which needs `mean` at t = 1" in text

"""Carried values that are written the wrong way."""

import ostinato as ot
from ostinato import nn
from ostinato.pdg.errors import CoverageError, DtypeError, EquationError
from tests.errors.refusal import here, refusal

b, i, m = ot.dims("b i m")


def test_a_carry_without_a_step() -> None:
    where = here(1)
    x = ot.carry("x", 0.0, over=(i, m))
    assert refusal(CoverageError, lambda: ot.Program(x=x)) == (
        f"{where}: `x` is read, but not all of its equations are written\n"
        "  Write x.step(...) before the program."
    )
    assert "Write x.step(...)" in refusal(CoverageError, lambda: ot.Program(x=x.at(m=0)))
    assert "Write x.step(...)" in refusal(CoverageError, lambda: ot.Program(x=x.final))


def test_a_second_step() -> None:
    x = ot.carry("x", 0.0, over=(i, m))
    x.step(x + 1.0)
    where = here(1)
    assert refusal(EquationError, lambda: x.step(x)) == (
        f"{where}: `x` has a step already\n  Write one step; `ot.where` chooses in it."
    )


def test_an_equation_for_some_points() -> None:
    x = ot.carry("x", 0.0, over=(i, m))
    where = here(1)
    assert refusal(EquationError, lambda: x.__setitem__((i, m + 1), x)) == (
        f"{where}: `x` is carried, and gets an equation for some of its points\n"
        "  Write x.step(...), once for all steps."
    )


def test_an_initial_value_that_depends_on_the_loops() -> None:
    start = ot.input("start", over=i)
    where = here(1)
    assert refusal(EquationError, lambda: ot.carry("x", start, over=(i, m))) == (
        f"{where}: the initial value `start` of `x` depends on `i`\n"
        "  Read it at one step of `i`: `x` starts once."
    )


def test_an_initial_value_for_each_point_of_another_dimension() -> None:
    start = ot.input("start", over=b)
    where = here(1)
    assert refusal(EquationError, lambda: ot.carry("x", start, over=(i, m))) == (
        f"{where}: the initial value `start` of `x` depends on `b`\n"
        "  Carry a value for each: each=(b,)."
    )
    assert ot.carry("x", start, over=(i, m), each=(b,)).ndim == 0


def test_a_step_that_depends_on_another_dimension() -> None:
    x = ot.carry("x", 0.0, over=(i, m))
    text = refusal(EquationError, lambda: x.step(x + ot.input("y", over=b)))
    assert "`x` is over `i`, `m`, but the right side depends on `b`" in text


def test_a_step_of_another_type() -> None:
    x = ot.carry("x", 0, over=(i, m))
    assert "`x` is int32" in refusal(DtypeError, lambda: x.step(0.5 * x))


def test_no_loop_and_a_loop_twice() -> None:
    assert "over no dimension" in refusal(EquationError, lambda: ot.carry("x", 0.0, over=()))
    assert "each once" in refusal(EquationError, lambda: ot.carry("x", 0.0, over=(i, i)))
    assert "each once" in refusal(EquationError, lambda: ot.carry("x", 0.0, over=i, each=i))


def test_records_with_other_fields() -> None:
    x = ot.carry("x", ot.Record(a=ot.zeros()), over=(i, m))
    assert "same fields" in refusal(EquationError, lambda: x.step(ot.Record(b=ot.zeros())))


def test_the_final_parameters_of_a_module_that_is_not_carried() -> None:
    model = nn.Linear(2, 1, over=i)
    where = here(1)
    assert refusal(EquationError, lambda: model.final) == (
        f"{where}: `linear_weight` has no value after all updates\n"
        "  Carry it: over=ot.carried(i) keeps what the last update leaves."
    )

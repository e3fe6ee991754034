"""Reads outside the domain, and points that no equation covers."""

import ostinato as ot
from ostinato.pdg.errors import ArgumentError, CoverageError, DomainError
from tests.errors.refusal import here, refusal


def test_a_read_before_the_first_step() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    y, where = x[t - 1] * 2.0, here()
    assert refusal(DomainError, lambda: ot.Program(y=y)) == (
        f"{where}: `x` is read at t = -1, outside its domain 0 <= t < T "
        "(first bad point: t=0, with T=1)\n"
        "  Read `x[ot.maximum(t-1, 0)]`, or add a case for this point."
    )


def test_a_read_of_an_expression_after_the_last_step() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    squares = x * x
    y, where = squares[t + 1], here()
    assert refusal(DomainError, lambda: ot.Program(y=y)) == (
        f"{where}: an expression of `x` is read at t = 1, outside its domain 0 <= t < T "
        "(first bad point: t=0, with T=1)\n"
        "  Read `(...)[ot.minimum(t.size-1, t+1)]`, or add a case for this point."
    )


def test_a_read_of_the_future_inside_a_recurrence() -> None:
    b, t = ot.dims("b t")
    x = ot.recurrent("x", over=(b, t))
    x[b, 0] = 0.0
    ahead, where = x[b, t + 2], here()
    x[b, t + 1] = ahead + 1.0
    assert refusal(DomainError, lambda: ot.Program(x=x)) == (
        f"{where}: `x` is read at t = 2, outside its domain 0 <= t < T "
        "(first bad point: b=0, t=0, with B=1, T=2)\n"
        "  Read `x[b, ot.minimum(t.size-1, t+2)]`, or add a case for this point."
    )


def test_a_window_that_leaves_the_domain() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    window, where = x[t - 2 : t + 1], here()
    assert refusal(DomainError, lambda: ot.Program(y=window.sum(0))) == (
        f"{where}: `x` is read at t = -2, outside its domain 0 <= t < T "
        "(first bad point: t=0, with T=1)\n"
        "  Read `x[ot.maximum(t-2, 0):t+1]`, or add a case for this point."
    )


def test_positions_of_two_dimensions_that_changed_places() -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    mean, where = x[:, b], here()
    assert refusal(DomainError, lambda: ot.Program(y=mean.mean(0))) == (
        f"{where}: `x` is read at t = 1, outside its domain 0 <= t < T "
        "(first bad point: b=1, with B=2, T=1)\n"
        "  Write the positions in the order of the dimensions, (b, t): `x[b, :]`."
    )
    first, where = (2.0 * x)[0, b], here()
    assert refusal(DomainError, lambda: ot.Program(y=first)).endswith("(b, t): `(...)[b, 0]`.")
    ot.Program(y=x[b, :].mean(0), z=(2.0 * x)[b, 0])


def test_a_step_that_a_short_run_has_not() -> None:
    t = ot.dims("t")
    program = ot.Program(y=ot.input("x", over=t)[5])
    where = here(1)
    assert refusal(ArgumentError, lambda: program.interpret(x=[1.0])) == (
        f"{where}: the extent `T` is 1 (`x` has 1 at axis 0), the program reads 6 steps\n"
        "  Pass at least 6 steps of `t`."
    )


def test_a_first_step_without_an_equation() -> None:
    t = ot.dims("t")
    s = ot.recurrent("s", over=t)
    where = here(1)
    s[t + 1] = s + 1.0
    assert refusal(CoverageError, lambda: ot.Program(s=s)) == (
        f"{where}: no equation of `s` covers t = 0 (first uncovered point: t=0, with T=1)\n"
        "  Add `s[0] = ...`, or `s[True] = ...` as the last case."
    )


def test_conditions_that_leave_points_out() -> None:
    t = ot.dims("t")
    s = ot.recurrent("s", over=t)
    where = here(1)
    s[t % 3 == 0] = 1.0
    s[t % 3 == 1] = 2.0
    assert refusal(CoverageError, lambda: ot.Program(s=s)) == (
        f"{where}: the equations of `s` do not cover every point that is needed "
        "(first uncovered point: t=2, with T=3)\n"
        "  Add `s[True] = ...` as the last case."
    )


def test_a_tensor_without_equations() -> None:
    s, where = ot.recurrent("s", over=ot.dims("t")), here()
    assert refusal(CoverageError, lambda: ot.Program(s=s)) == (
        f"{where}: `s` is read, but has no equation\n  Write s[...] = ... before the program."
    )

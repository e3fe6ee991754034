"""Reads outside the domain and uncovered points are found for all extents, with exact texts."""

import pytest

from ostinato.pdg import build
from ostinato.pdg.condition import ALWAYS, at_least, equal, every, some
from ostinato.pdg.demand.check import check
from ostinato.pdg.errors import CoverageError, DomainError, OstinatoError, ShapeError
from ostinato.pdg.index import Expr, Slice, expr, maximum, minimum
from ostinato.pdg.node import Equation, Node
from tests.pdg.programs import (
    B,
    T,
    add,
    mul,
    n,
    program,
    running_sum,
    scalar,
    series,
    shifted,
    t,
    window,
)


def complaint(error: type[OstinatoError], *equations: Equation, **outputs: Node) -> str:
    with pytest.raises(error) as caught:
        check(program(*equations, **outputs))
    return str(caught.value)


def test_a_read_before_the_first_step_names_the_first_bad_point() -> None:
    text = complaint(DomainError, y=shifted(series("x"), -1, "train.py:12"))
    assert text == (
        "train.py:12: `x` is read at t = -1, outside its domain 0 <= t < T "
        "(first bad point: t=0, with T=1)\n"
        "  Read `x[ot.maximum(t-1, 0)]`, or add a case for this point."
    )


def test_a_read_after_the_last_step_is_found_through_an_expression() -> None:
    squares = mul(series("x"), series("x"))
    text = complaint(DomainError, y=shifted(squares, 2, "train.py:13"))
    assert text == (
        "train.py:13: an expression of `x` is read at t = 2, outside its domain 0 <= t < T "
        "(first bad point: t=0, with T=1)\n"
        "  Read `(...)[ot.minimum(t.size-1, t+2)]`, or add a case for this point."
    )


def test_a_fixed_step_that_short_runs_lack_is_an_error_of_the_extent() -> None:
    text = complaint(DomainError, y=build.read(series("x"), [(T, n - 2)], "train.py:7"))
    assert "`x` is read at t = -1, outside its domain 0 <= t < T" in text
    assert "(first bad point: T=1)" in text


def test_a_declared_least_extent_makes_it_legal() -> None:
    second_last = build.read(series("x"), [(T, n - 2)])
    check(program(y=second_last), {"T": 2})
    with pytest.raises(DomainError):
        check(program(y=second_last), {"T": 1})


def test_a_window_is_cut_off_at_the_side_where_it_leaves() -> None:
    early = complaint(DomainError, y=window(series("x"), t - 3, t + 1))
    late = complaint(DomainError, y=window(series("x"), t, t + 4))
    assert "Read `x[ot.maximum(t-3, 0):t+1]`" in early
    assert "Read `x[t:ot.minimum(t.size, t+4)]`" in late


@pytest.mark.parametrize(
    "at",
    [t, minimum(t + 3, n - 1), maximum(t - 2, 0), n - 1 - t, t // 2, t % 3 // 3, expr(0), n - 1],
    ids=str,
)
def test_a_read_inside_the_domain_passes(at: Expr) -> None:
    check(program(y=build.read(series("x"), [(T, at)])))


@pytest.mark.parametrize(
    "span",
    [Slice(expr(0), t + 1), Slice(t, n), Slice(maximum(t - 3, 0), t + 1), Slice(expr(0), n, 2)],
    ids=str,
)
def test_a_slice_inside_the_domain_passes(span: Slice) -> None:
    check(program(y=build.read(series("x"), [(T, span)])))


def test_only_demanded_points_are_read() -> None:
    s, equation = running_sum()
    check(program(equation, s=s))  # r[0] is never used, s[-1] neither
    guarded = build.case(at_least(T, 2), shifted(series("x"), -2), scalar(0.0))
    check(program(y=guarded))


def test_the_wrong_branch_of_a_case_is_found() -> None:
    guarded = build.case(at_least(T, 1), shifted(series("x"), -2), scalar(0.0))
    assert "(first bad point: t=1, with T=2)" in complaint(DomainError, y=guarded)


def test_a_missing_first_step_is_an_uncovered_point() -> None:
    s, equation = running_sum()
    text = complaint(CoverageError, Equation(s, equation.cases[1:], ("train.py:5",)), s=s)
    assert text == (
        "train.py:5: no equation of `s` covers t = 0 "
        "(first uncovered point: b=0, t=0, with B=1, T=1)\n"
        "  Add `s[b, 0] = ...`, or `s[True] = ...` as the last case."
    )


def test_a_missing_last_step_shows_its_first_point() -> None:
    y = build.rec("y", (), "float32", (T,))
    equation = Equation(y, ((at_least(n - 2, t), series()),), ("train.py:9",))
    text = complaint(CoverageError, equation, y=y)
    assert "do not cover every point that is needed (first uncovered point: t=0, with T=1)" in text


def test_points_that_nobody_needs_may_stay_uncovered() -> None:
    y = build.rec("y", (), "float32", (T,))
    equation = Equation(y, ((at_least(n - 2, t), series()),))
    check(program(equation, z=build.case(at_least(n - 2, t), y, scalar(0.0))))


def test_the_first_case_that_holds_is_the_one_demanded() -> None:
    y = build.rec("y", (), "float32", (T,))
    odd = some(equal(t % 2, 1), equal(t, 0))
    cases = ((odd, series()), (ALWAYS, add(shifted(y, -2), shifted(y, -1))))
    check(program(Equation(y, cases), y=y))  # t = 0 and 1 take the first case
    assert "t = -2" in complaint(DomainError, Equation(y, cases[1:]), y=y)


def test_a_backward_recurrence_is_covered_from_its_last_step() -> None:
    y = build.rec("y", (), "float32", (T,))
    cases = ((equal(t, n - 1), series()), (ALWAYS, add(series(), shifted(y, 1))))
    demand = check(program(Equation(y, cases), first=build.read(y, [(T, expr(0))])))
    assert demand.of(series()).fix({T.symbol: 3}).points() == [(0,), (1,), (2,)]


def test_an_index_outside_a_spatial_axis_is_an_error() -> None:
    x = build.input_node("x", (n,), "float32", (T,))
    check(program(y=build.part(x, -1, t)))
    text = complaint(ShapeError, y=build.part(x, -1, t + 1, "train.py:3"))
    assert text.startswith("train.py:3: index t+1 of axis -1 of `x` leaves its size T")
    assert "(first bad point: t=0, with T=1)" in text


def test_a_slice_that_ends_before_it_begins_is_an_error() -> None:
    text = complaint(ShapeError, y=window(series("x"), expr(5), n, "train.py:8"))
    assert text == (
        "train.py:8: the slice 5:T of `x` over t ends before it begins "
        "(first bad point: T=1)\n  End it with `ot.maximum(5, t.size)`."
    )


def test_a_step_over_two_dimensions_is_checked_in_both() -> None:
    x = build.input_node("x", (), "float32", (B, T))
    text = complaint(DomainError, y=build.read(x, [(B, expr(B) + 1), (T, n - 1)], "train.py:2"))
    assert "`x` is read at b = 1, outside its domain 0 <= b < B" in text
    assert "Read `x[ot.minimum(b.size-1, b+1), t.size-1]`" in text


def test_scans_and_linear_recurrences_may_be_read_beyond_their_ends() -> None:
    before = shifted(build.scan("sum", series(), T), -1)
    after = shifted(build.linear(scalar(0.9), series(), T, reverse=True), 1)
    demand = check(program(before=before, after=after))
    assert demand.of(series()).fix({T.symbol: 3}).points() == [(0,), (1,), (2,)]


def test_every_is_a_conjunction_for_coverage() -> None:
    y = build.rec("y", (), "float32", (B, T))
    corner = every(equal(B, 0), equal(T, 0))
    text = complaint(
        CoverageError, Equation(y, ((some(at_least(B, 1), at_least(T, 1)), series()),)), y=y
    )
    assert "covers b = 0, t = 0" in text
    check(program(Equation(y, ((corner, scalar(0.0)), (ALWAYS, series()))), y=y))

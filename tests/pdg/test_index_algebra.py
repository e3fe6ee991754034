"""Spellings that must be one canonical expression, bounds of sizes, and how expressions print."""

import itertools

import pytest

from ostinato.pdg.index import Dim, Expr, Extent, Point, evaluate, expr, maximum, minimum, product
from ostinato.pdg.intervals import is_quasi_affine
from ostinato.pdg.upper_bound import upper_bound

B, T, K = Dim("b"), Dim("t"), Dim("k")  # declared in this order


def sizes(extent: int) -> list[Point]:
    """Every point of the box of T and K, with both extents."""
    box = itertools.product(range(extent), range(3))
    return [{T: t, K: k, Extent("T"): extent, Extent("K"): 3} for t, k in box]


def test_the_order_in_which_a_sum_is_written_does_not_matter() -> None:
    parts = (expr(T), expr(K), expr(T.extent), expr(B.extent), expr(T) // 2, expr(K) % 3)
    whole = sum(parts, start=expr(0))
    for order in itertools.permutations(parts):
        assert sum(order, start=expr(0)) == whole


def test_dimensions_come_first_in_order_of_declaration_then_extents_then_the_rest() -> None:
    late, early = Dim("a", 1001), Dim("z", 1000)
    total = expr(T) // 2 + Extent("A") + late + early + Extent("B") + expr(T) % 2
    assert str(total) == "z+a+A+B+(t) % 2+(t) // 2"


def test_an_extremum_of_extrema_of_its_kind_is_one() -> None:
    t, k = expr(T), expr(K)
    assert minimum(t, minimum(k, 3)) == minimum(minimum(t, k), 3) == minimum(3, k, t)
    assert maximum(maximum(t, k), maximum(k, 3)) == maximum(t, k, 3)
    assert minimum(t, maximum(k, 3)) != minimum(t, k, 3)
    assert str(minimum(maximum(k, 3), t)) == "min(max(3, k), t)"
    assert minimum(2 * minimum(t, k), t) != minimum(t, k)


def test_factors_of_a_product_join_and_zero_decides() -> None:
    n, b = expr(T.extent), expr(B.extent)
    assert product([n, product([b, n])]) == product([n, n, b]) == n * b * n
    assert product([n * 2, b * 3]) == product([n, b]) * 6
    assert product([n, 0, b]) == expr(0) and product([]) == expr(1)
    assert product([2, 3]) == expr(6) and product([n, 2]) == n * 2


def test_a_product_prints_sums_in_brackets() -> None:
    n, b = expr(T.extent), expr(B.extent)
    assert str((n + 1) * b) == "B * (T+1)"
    assert str((n + b) * b) == "B * (B+T)"
    assert str(n * b * 2) == "2*B * T"
    assert str(n * (b * 2)) == "2*B * T"


def test_multiples_of_quotients_and_remainders_print_in_brackets() -> None:
    t = expr(T)
    assert str(t // 2 * 2) == "2*((t) // 2)"
    assert str(t % 3 * -2 + 1) == "-2*((t) % 3)+1"
    assert str(T.extent - t) == "-t+T" and str(-t) == "-t" and str(expr(-3)) == "-3"


@pytest.mark.parametrize("by", [2, 3, 4])
def test_multiples_of_a_divisor_leave_remainder_and_quotient(by: int) -> None:
    t, k = expr(T), expr(K)
    assert (t * by + k) % by == k % by and (t * by + k) // by == t + k // by
    assert (t * (by + 1)) % by != t % by or by == 1
    assert (t * by * 2 + by) % by == expr(0)


def test_only_a_lone_dimension_is_one() -> None:
    t = expr(T)
    assert t.as_dim() is T
    for other in (t + 1, t * 2, -t, t + K, t // 2, expr(T.extent), expr(0)):
        assert other.as_dim() is None


def bounded() -> list[Expr]:
    t, k, n = expr(T), expr(K), expr(T.extent)
    return [
        t, n - t, t + 1, t * 2 - k, k - 2 * t + n, (t + k) // 2, (n - t) // 2, -((t + 1) // 2),
        t % 3 + 1, 4 - t % 3, minimum(t + 2, n), n - maximum(t - 1, 0), maximum(t, 2 * k),
        product([t + 1, k + 1]), product([n - t, 2]), minimum(t, k) * -2 + 5, n * 3 - k,
    ]  # fmt: skip


def test_an_upper_bound_mentions_no_dimension_and_is_reached_from_below() -> None:
    for e in bounded():
        top = upper_bound(e)
        assert not any(isinstance(s, Dim) for s, _ in top.terms), str(top)
        for extent in (1, 2, 5):
            assert all(evaluate(e, p) <= evaluate(top, p) for p in sizes(extent)), str(e)


def test_the_upper_bound_of_an_expression_of_one_dimension_is_attained() -> None:
    t, n = expr(T), expr(T.extent)
    forms = (t, n - t, t + 1, 3 - t * 2, (t + 1) // 2, -(t // 2), minimum(t, 3), maximum(2, t))
    for e in (*forms, product([t + 1, 3])):
        for extent in (1, 4):
            points = sizes(extent)
            assert max(evaluate(e, p) for p in points) == evaluate(upper_bound(e), points[0]), e


def test_a_bound_of_a_remainder_is_its_divisor_less_one() -> None:
    assert upper_bound(expr(T) % 4 + 1) == expr(4)
    assert upper_bound(1 - expr(T) % 4) == expr(1)


def test_substitution_reaches_every_form() -> None:
    t, k, n = expr(T), expr(K), expr(T.extent)
    e = t // 2 + k % 3 + minimum(t, k) + product([n, t + 1]) + maximum(k - 1, 0)
    by: dict[Dim | Extent, Expr] = {T: k + 1, T.symbol: expr(5)}
    moved = e.at(by)
    for p in sizes(3):
        at: Point = {**p, T: p[K] + 1, Extent("T"): 5}
        assert evaluate(moved, p) == evaluate(e, at)


def test_integers_of_either_kind_lift_alike() -> None:
    assert expr(True) == expr(1) and type(expr(True).const) is int


def test_only_products_of_dimensions_are_not_quasi_affine() -> None:
    t, k, n = expr(T), expr(K), expr(T.extent)
    affine = (t, n, t * 2 - k, (t + k) // 2, t % 3, minimum(t, k, 3), product([n, n]) + t)
    assert [str(e) for e in affine if not is_quasi_affine(e)] == []
    bad = product([t, n])
    forms = (bad, bad + 1, t + product([t, k]), bad // 2, bad % 2, minimum(1, bad), maximum(t, bad))
    assert [str(e) for e in forms if is_quasi_affine(e)] == []


def test_a_bound_of_a_sum_moves_into_an_extremum_that_shares_a_dimension() -> None:
    t, k, n = expr(T), expr(K), expr(T.extent)
    assert upper_bound(t + 1 - maximum(t - 2, 0)) == minimum(n, 3)
    assert upper_bound(maximum(t, 3) - t) == maximum(0, 3)
    assert upper_bound(2 * minimum(t, 4) - t) == minimum(n - 1, 8)
    assert upper_bound(t + minimum(k, 3)) == n - 1 + minimum(expr(K.extent) - 1, 3)
    assert upper_bound(minimum(t, k) + minimum(t, 1) - t) == minimum(expr(K.extent) - 1, n - 1, 1)

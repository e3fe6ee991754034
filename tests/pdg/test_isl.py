"""Sets and relations of isl agree with brute force over small extents."""

import itertools

import pytest

from ostinato.pdg.condition import (
    ALWAYS,
    NEVER,
    Cond,
    at_least,
    equal,
    every,
    holds,
    negation,
    some,
)
from ostinato.pdg.index import (
    Dim,
    Expr,
    ExprLike,
    Extent,
    evaluate,
    expr,
    maximum,
    minimum,
    product,
)
from ostinato.pdg.isl import (
    Interval,
    Relation,
    condition_set,
    domain_set,
    lex_later,
    proves,
    relation,
    universe,
)

B, T, K = Dim("b"), Dim("t"), Dim("k")
t, k, n = expr(T), expr(K), expr(T.extent)

EXPRESSIONS: list[Expr] = [
    t - 1,
    n - 1 - t,
    t // 2,
    (t + k) // 3,
    t % 3,
    (t * 2 + k) % 4,
    minimum(t + 2, n - 1),
    maximum(t - 2, k, 0),
    minimum(t, 3) - maximum(k, t // 2) * 2,
    (maximum(t, 2) + minimum(k, 1)) // 2 % 3,
]
CONDITIONS: list[Cond] = [
    *(at_least(e, 1) for e in EXPRESSIONS),
    *(equal(e, 1) for e in EXPRESSIONS),
    some(equal(t, 0), every(at_least(t, k), equal(k % 2, 1))),
    negation(some(equal(t % 2, 1), equal(t, k))),
    ALWAYS,
    NEVER,
]


def brute_force(cond: Cond, extent: int) -> list[tuple[int, ...]]:
    square = itertools.product(range(extent), repeat=2)
    return [p for p in square if holds(cond, {T: p[0], K: p[1], Extent("T"): extent})]


@pytest.mark.parametrize("cond", CONDITIONS, ids=str)
def test_a_condition_holds_at_the_points_of_its_set(cond: Cond) -> None:
    points = domain_set((T, K), {K: n}, cond)
    for extent in (1, 5):
        assert points.fix({Extent("T"): extent}).points() == brute_force(cond, extent)


@pytest.mark.parametrize("cond", CONDITIONS, ids=str)
def test_a_set_turned_into_a_condition_keeps_its_points(cond: Cond) -> None:
    again = domain_set((T, K), {K: n}, cond).cond()
    for extent in (1, 5):
        assert brute_force(again, extent) == brute_force(cond, extent)


@pytest.mark.parametrize("e", EXPRESSIONS, ids=str)
def test_a_relation_maps_each_point_to_its_expression(e: Expr) -> None:
    graph = relation((T, K), (K,), (e,)).intersect_in(domain_set((T, K), {K: n}))
    for p in itertools.product(range(5), repeat=2):
        one = universe((T, K)).fix({T: p[0], K: p[1], Extent("T"): 5})
        value = evaluate(e, {T: p[0], K: p[1], Extent("T"): 5})
        assert graph.apply(one).points() == [(value,)]


def steps_back(count: int) -> Relation:
    return relation((T,), (T,), (t - count,)).intersect_in(domain_set((T,)))


def test_a_relation_with_an_inner_axis_reaches_all_its_values() -> None:
    prefix = relation((T,), (T,), (k,), within=[(K, t + 1)])
    at_three = prefix.apply(universe((T,)).fix({T: 3}))
    assert at_three.points() == [(0,), (1,), (2,), (3,)]
    assert prefix.intersect_in(domain_set((T,))).distance(T) == Interval(0, None)


def test_distance_is_the_consumer_minus_the_producer() -> None:
    assert steps_back(2).distance(T) == Interval(2, 2)
    assert (steps_back(2) | steps_back(-1)).distance(T) == Interval(-1, 2)
    assert steps_back(2).reverse().distance(T) == Interval(-2, -2)
    assert steps_back(1).same(T).distance(T) == Interval(0, 0)


def test_same_keeps_the_pairs_that_agree_in_a_dimension() -> None:
    halves = relation((T,), (T,), (t // 2,)).intersect_in(domain_set((T,)))
    assert halves.same(T).domain().fix({Extent("T"): 5}).points() == [(0,)]
    assert steps_back(1).same(T).is_empty()


def test_a_schedule_is_legal_when_every_dependence_goes_back_in_time() -> None:
    forwards, backwards = relation((T,), (T,), (t,)), relation((T,), (T,), (-t,))
    for time, legal in ((forwards, True), (backwards, False)):
        moved = steps_back(1).map_in(time).then(time)
        assert moved.is_subset(lex_later(1)) == legal


def test_composition_adds_distances() -> None:
    assert steps_back(1).then(steps_back(2)).distance(T) == Interval(3, 3)


def test_the_first_bad_point_has_the_smallest_extents() -> None:
    box = domain_set((T,))
    bad = steps_back(1).intersect_out(universe((T,)) - box)
    first = bad.first()
    assert first is not None
    assert (str(first[0]), first[1].point) == ("t=0, with T=1", {T: -1})
    later = bad.first({"T": 4})
    assert later is not None and str(later[0]) == "t=0, with T=4"


def test_an_empty_set_has_no_first_point() -> None:
    assert condition_set((T,), NEVER).first() is None
    assert condition_set((T,), NEVER).bounds(T) == Interval(0, 0)


def test_extents_start_at_their_declared_lower_bound() -> None:
    two_back = at_least(n - 2, 0)
    assert not proves(two_back, domain_set((T,)))
    assert proves(two_back, domain_set((T,)).assume({"T": 2}))
    assert proves(at_least(n - 1, t), domain_set((T,)))


def test_projection_keeps_shared_dimensions_and_frees_new_ones() -> None:
    triangle = domain_set((T, K), {T: 3, K: t + 1})
    assert triangle.onto((K,)).points() == [(0,), (1,), (2,)]
    assert triangle.onto((K, T)).points() == sorted((k, t) for t, k in triangle.points())
    assert triangle.onto((T, B)).bounds(B) == Interval(None, None)


def test_set_algebra_is_that_of_points() -> None:
    low, even = domain_set((T,), {T: 6}), domain_set((T,), {T: 8}, equal(t % 2, 0))
    assert (low & even).points() == [(0,), (2,), (4,)]
    assert (low - even).points() == [(1,), (3,), (5,)]
    assert (low | even).points() == [(p,) for p in (0, 1, 2, 3, 4, 5, 6)]
    assert (low & even).is_subset(low) and not low.is_subset(even)
    assert low.lexmin().points() == [(0,)]


def test_widening_drops_only_the_limits_that_grew() -> None:
    last, two = condition_set((T,), equal(t, n - 1)), domain_set((T,), cond=at_least(t, n - 2))
    limit = last.widened(last | two)
    assert limit.is_equal(condition_set((T,), at_least(n - 1, t)))


def test_a_product_in_an_index_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"T \* k is a product: legal in a size"):
        relation((T, K), (T,), (product([n, k]),))


def test_a_condition_over_a_foreign_dimension_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"k >= 0 mentions k, not in \(t\)"):
        condition_set((T,), at_least(K, 0))


@pytest.mark.parametrize("exprs", [(T, B), (-expr(B), expr(3)), (expr(0), T), (expr(T), expr(T))])
def test_a_relation_that_only_copies_is_the_one_that_equations_define(
    exprs: tuple[ExprLike, ExprLike],
) -> None:
    anywhere = negation(every(at_least(B, 0), at_least(-expr(B), 1)))  # true, and isl is asked
    copied, defined = (relation((B, T), (B, T), exprs, cond) for cond in (ALWAYS, anywhere))
    assert copied.is_subset(defined) and defined.is_subset(copied)

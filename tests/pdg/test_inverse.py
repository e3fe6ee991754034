"""Preimages and bounds, against enumeration of small boxes."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.pdg.bounds import greatest, is_never_negative, simplified, smallest
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
from ostinato.pdg.grad.preimage import Preimage, preimages
from ostinato.pdg.index import Dim, Expr, Extent, evaluate, expr, floordiv, maximum, minimum, mod

P, S, Q = Dim("p", steps="T"), Dim("s", steps="T"), Dim("q", steps="T")
p, s, q, n = expr(P), expr(S), expr(Q), expr(P.extent)
DIMS = (P, S, Q)
Env = dict[Dim | Extent, int]


def points(extent: int) -> list[Env]:
    ranges = itertools.product(range(extent), repeat=3)
    return [{**dict(zip(DIMS, at, strict=True)), P.symbol: extent} for at in ranges]


def expressions() -> st.SearchStrategy[Expr]:
    leaves = st.sampled_from([p, s, q, n - 1, n - 1 - p, expr(0), expr(1), expr(2)])

    def deeper(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        pairs = st.tuples(inner, inner)
        return st.one_of(
            pairs.map(lambda e: e[0] + e[1]),
            pairs.map(lambda e: e[0] - e[1]),
            pairs.map(lambda e: maximum(*e)),
            pairs.map(lambda e: minimum(*e)),
            st.tuples(inner, st.integers(2, 3)).map(lambda e: floordiv(*e)),
            st.tuples(inner, st.integers(2, 3)).map(lambda e: mod(*e)),
            st.tuples(inner, st.integers(2, 3)).map(lambda e: e[0] * e[1]),
        )

    return st.recursive(leaves, deeper, max_leaves=5)


def conditions() -> st.SearchStrategy[Cond]:
    pairs = st.tuples(expressions(), expressions())
    leaves = st.one_of(pairs.map(lambda e: at_least(*e)), pairs.map(lambda e: equal(*e)))

    def deeper(inner: st.SearchStrategy[Cond]) -> st.SearchStrategy[Cond]:
        two = st.tuples(inner, inner)
        return st.one_of(
            two.map(lambda c: every(*c)), two.map(lambda c: some(*c)), inner.map(negation)
        )

    return st.recursive(leaves, deeper, max_leaves=4)


def listed(found: Preimage, at: Env) -> list[tuple[int, int]]:
    """The points (p, s) that a preimage gives for the target ``q`` of ``at``."""
    envs = [{**at}] if holds(found.guard, at) else []
    for added in reversed(found.sums):
        grown: list[Env] = []
        for env in envs:
            low, high = (evaluate(e, env) for e in (added.over.lo, added.over.hi))
            assert 0 <= low <= high <= at[P.symbol], f"{added} at {env}"
            steps = range(low, high, added.over.step)
            longer = [{**env, added.dim: value} for value in steps]
            grown += [env for env in longer if holds(added.mask, env)]
        envs = grown
    full = [{**env, **{d: evaluate(e, env) for d, e in found.points}} for env in envs]
    return [(env[P], env[S]) for env in full]


@given(conditions(), st.integers(1, 4))
def test_preimages_are_the_points_that_satisfy_the_condition_once_each(
    cond: Cond, extent: int
) -> None:
    found = preimages(cond, frozenset({P, S}))
    box = points(extent)
    for target in range(extent):
        at: Env = {Q: target, P.symbol: extent}
        got = sorted(point for preimage in found for point in listed(preimage, at))
        expected = [(e[P], e[S]) for e in box if e[Q] == target and holds(cond, e)]
        assert got == sorted(expected)


@given(conditions(), st.integers(1, 4))
def test_a_simplified_condition_is_the_same_inside_the_box(cond: Cond, extent: int) -> None:
    short = simplified(cond)
    for at in points(extent):
        assert holds(short, at) == holds(cond, at)


@given(expressions(), st.integers(1, 4))
def test_what_is_proved_not_negative_is_not(e: Expr, extent: int) -> None:
    if is_never_negative(e):
        assert all(evaluate(e, at) >= 0 for at in points(extent))


@given(st.lists(expressions(), min_size=1, max_size=3), st.integers(1, 3))
def test_dominated_bounds_do_not_matter(bounds: list[Expr], extent: int) -> None:
    for at in points(extent):
        values = [evaluate(e, at) for e in bounds]
        assert evaluate(greatest(bounds), at) == max(values)
        assert evaluate(smallest(bounds), at) == min(values)


@pytest.mark.parametrize(
    ("cond", "interval"),
    [
        (every(at_least(q, 0), at_least(p, q)), "q:T"),
        (at_least(q, p), ":q+1"),
        (every(at_least(q, p - 2), at_least(p, q)), "q:min(T, q+3)"),
        (equal(p // 2, q), "2*q:min(2*q+2, T)"),
        (equal(p % 3, q), "q:T:3"),
        (ALWAYS, ":T"),
    ],
)
def test_common_dependences_have_an_interval_as_preimage(cond: Cond, interval: str) -> None:
    (found,) = preimages(cond, frozenset({P}))
    assert str(found.sums[0].over) == interval and found.sums[0].mask == ALWAYS


@pytest.mark.parametrize(
    ("index", "point"), [(p + 1, "q-1"), (n - 1 - p, "-q+T-1"), (p * 2, "(q) // 2"), (p, "q")]
)
def test_one_to_one_dependences_have_a_point_as_preimage(index: Expr, point: str) -> None:
    (found,) = preimages(equal(q, index), frozenset({P}))
    assert [str(e) for _, e in found.points] == [point] and not found.sums


def test_touching_ranges_are_joined() -> None:
    assert simplified(some(at_least(n - 2, p), equal(p, n - 1))) == ALWAYS
    assert simplified(every(at_least(n - 2, p), equal(p, n - 1))) == NEVER
    assert simplified(negation(equal(p, 0))) == at_least(p, 1)


def test_a_disjunction_forgets_what_its_members_say_the_opposite_of() -> None:
    odd, first, rest = equal(mod(expr(P), 3), 1), equal(P, 0), at_least(S, 2)
    assert simplified(some(odd, negation(odd))) == ALWAYS
    assert simplified(some(every(rest, odd), every(rest, negation(odd)))) == rest
    assert simplified(some(every(rest, first), every(negation(first), rest))) == rest
    both = every(odd, first), every(odd, negation(first)), every(negation(odd), rest)
    assert simplified(some(*both)) == some(every(rest, negation(odd)), odd)

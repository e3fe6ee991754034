"""Index sets that the laws of ranges and shifts rest on, by isl for all extents and points."""

import pytest

from ostinato.pdg.condition import Cond, at_least, equal, every, substitute_cond
from ostinato.pdg.index import Dim, ExprLike, Slice, expr, maximum, minimum
from ostinato.pdg.isl import Set, condition_set, domain_set, relation
from ostinato.rewrite.tables import Tables, rows

T, K = Dim("t"), Dim("k")  # the point, and an index into a range


def between(lo: ExprLike, hi: ExprLike) -> Cond:
    """``lo <= k < hi``."""
    return every(at_least(K, lo), at_least(expr(hi) - 1, K))


def steps(cond: Cond) -> Set:
    """The pairs (t, k) with t in the box."""
    return domain_set((T,)).onto((T, K)) & condition_set((T, K), cond)


def test_a_prefix_is_the_prefix_before_it_and_one_new_step() -> None:
    now, before, new = (steps(c) for c in (between(0, expr(T) + 1), between(0, T), equal(K, T)))
    assert (before | new).is_equal(now)
    assert (before & new).is_empty()


def test_the_prefix_before_the_first_point_is_empty() -> None:
    assert steps(every(between(0, T), equal(T, 0))).is_empty()


def test_a_suffix_is_one_new_step_and_the_suffix_after_it() -> None:
    end = T.extent
    now, after, new = (steps(c) for c in (between(T, end), between(expr(T) + 1, end), equal(K, T)))
    assert (after | new).is_equal(now)
    assert (after & new).is_empty()


def test_the_suffix_after_the_last_point_is_empty() -> None:
    after_last = every(between(expr(T) + 1, T.extent), equal(T, expr(T.extent) - 1))
    assert steps(after_last).is_empty()


def test_a_shifted_slice_holds_the_indices_moved_by_the_shift() -> None:
    for shift in (-2, 1, 3):
        tables = Tables((T,))
        known, moved = Slice(expr(0), expr(T) + 1), expr(T) + shift
        numbers = tables.id(known), tables.id(moved)
        found = {(s, a): q for d, s, a, q in rows(tables)["shifted"] if d == tables.bit(T)}
        slice_ = tables.index(int(found[numbers]))
        assert isinstance(slice_, Slice)
        image = relation((T, K), (T, K), (T, expr(K) + shift)).apply(steps(between(0, expr(T) + 1)))
        assert image.is_equal(steps(between(slice_.lo, slice_.hi)))


def test_only_the_ranges_of_that_form_are_called_prefix_and_suffix() -> None:
    tables = Tables((T,))
    slices = [Slice(expr(0), expr(T) + 1), Slice(expr(T), expr(T.extent)), Slice(expr(0), expr(T))]
    numbers = [tables.id(s) for s in slices]
    found = rows(tables)
    assert [s for _, s in found["prefix"]] == [numbers[0]]
    assert [s for _, s in found["suffix"]] == [numbers[1]]


CUTS = (equal(T, 0), equal(T, expr(T.extent) - 1), at_least(T, 1), at_least(0, T), at_least(T, 0))


@pytest.mark.parametrize("cond", CUTS, ids=str)
def test_a_condition_cuts_a_history_into_where_it_holds_and_where_not(cond: Cond) -> None:
    tables = Tables((T,))
    whole, number = tables.id(tables.full(T)), tables.id(cond)
    found = rows(tables)
    here = substitute_cond(cond, {T: expr(K)})
    for side, name in enumerate(("holds_low", "holds_high")):
        for c, _, s, *parts in found[name]:
            if (c, s) == (number, whole):
                first, second = (range_of(tables, int(p)) for p in parts)
                holds = (first, second)[side]
                assert (first | second).is_equal(range_of(tables, whole))
                assert (first & second).is_empty()
                assert holds.is_equal(range_of(tables, whole) & condition_set((T, K), here))


def test_conditions_that_cut_are_found() -> None:
    tables = Tables((T,))
    tables.id(tables.full(T))
    numbers = [tables.id(cond) for cond in CUTS]
    found = rows(tables)
    cut = {c for name in ("holds_low", "holds_high") for c, *_ in found[name]}
    assert cut == set(numbers)


def range_of(tables: Tables, number: int) -> Set:
    """The pairs (t, k) with k in a slice, for extents of at least 1."""
    part = tables.index(number)
    assert isinstance(part, Slice)
    return steps(between(part.lo, part.hi)).assume()


@pytest.mark.parametrize("w", [2, 3, 5])
def test_a_window_gains_the_point_and_loses_one_index_once_it_is_full(w: int) -> None:
    tables = Tables((T,))
    whole = tables.id(Slice(maximum(expr(T) - (w - 1), 0), expr(T) + 1))
    ((_, _, cond, gone),) = [row for row in rows(tables)["window"] if row[1] == whole]
    now = range_of(tables, whole)
    before = steps(between(maximum(expr(T) - w, 0), T))
    full, left = tables.condition(int(cond)), tables.expr(int(gone))
    leaves = steps(equal(K, left)) & condition_set((T, K), full)
    assert (now | leaves).is_equal(before | steps(equal(K, T)))
    assert (now & leaves).is_empty()


@pytest.mark.parametrize("w", [2, 3, 5])
def test_a_coming_window_loses_the_point_and_gains_one_index_while_it_exists(w: int) -> None:
    tables = Tables((T,))
    whole = tables.id(Slice(expr(T), minimum(expr(T) + w, T.extent)))
    ((_, _, cond, gone),) = [row for row in rows(tables)["coming"] if row[1] == whole]
    now = range_of(tables, whole)
    after = steps(between(expr(T) + 1, minimum(expr(T) + 1 + w, T.extent)))
    full, enters = tables.condition(int(cond)), tables.expr(int(gone))
    more = steps(equal(K, enters)) & condition_set((T, K), full)
    assert (now | more).is_equal(after | steps(equal(K, T)))
    assert (now & more).is_empty()

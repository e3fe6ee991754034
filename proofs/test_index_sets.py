"""Index sets that the laws of ranges and shifts rest on, by isl for all extents and points."""

from ostinato.pdg.condition import Cond, at_least, equal, every
from ostinato.pdg.index import Dim, ExprLike, Slice, expr
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

"""Index sets that the laws of ranges and shifts rest on, by isl for all extents and points."""

from collections.abc import Iterator
from functools import reduce
from itertools import combinations
from typing import cast

import pytest

from ostinato.pdg.condition import Cond, at_least, equal, every
from ostinato.pdg.index import Dim, Expr, ExprLike, Index, Slice, expr, maximum, minimum
from ostinato.pdg.isl import Set, condition_set, domain_set, relation
from ostinato.rewrite.load.range_rows import range_rows
from ostinato.rewrite.load.tables import Tables, rows

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
    found = range_rows(tables, len(tables.attributes))
    assert [s for _, s in found["prefix"]] == [numbers[0]]
    assert [s for _, s in found["suffix"]] == [numbers[1]]


CUTS = (equal(T, 0), equal(T, expr(T.extent) - 1), at_least(T, 1), at_least(0, T), at_least(T, 0))


@pytest.mark.parametrize("cond", CUTS, ids=str)
def test_a_condition_cuts_a_history_into_where_it_holds_and_where_not(cond: Cond) -> None:
    tables = Tables((T,))
    whole, number = tables.id(T.whole), tables.id(cond)
    found = rows(tables)
    here = cond.at({T: expr(K)})
    for side, name in enumerate(("holds_low", "holds_high")):
        for c, _, s, *parts in found[name]:
            if (c, s) == (number, whole):
                first, second = (range_of(tables.index(int(p))) for p in parts)
                holds = (first, second)[side]
                assert (first | second).is_equal(range_of(tables.index(whole)))
                assert (first & second).is_empty()
                assert holds.is_equal(range_of(tables.index(whole)) & condition_set((T, K), here))


def test_conditions_that_cut_are_found() -> None:
    tables = Tables((T,))
    tables.id(T.whole)
    numbers = [tables.id(cond) for cond in CUTS]
    found = rows(tables)
    cut = {c for name in ("holds_low", "holds_high") for c, *_ in found[name]}
    assert cut == set(numbers)


def range_of(part: Index) -> Set:
    """The pairs (t, k) with k in a slice, for extents of at least 1."""
    assert isinstance(part, Slice)
    return steps(between(part.lo, part.hi)).assume()


def elsewhere(part: Slice, index: Expr) -> Slice:
    """A range as it is at another point."""
    return Slice(part.lo.at({T: index}), part.hi.at({T: index}))


def parts_of(window: Slice) -> Iterator[tuple[str, Slice, list[Set]]]:
    """The relation of a row, the range it is about, and the ranges that the row makes it of."""
    tables = Tables((T,))
    tables.id(window)
    for name, found in range_rows(tables, len(tables.attributes)).items():
        for row in found if name in WINDOWS else ():
            whole, part, to, cond, *more = (tables.attributes[int(n)] for n in row[1:])
            assert isinstance(whole, Slice) and isinstance(part, Slice) and isinstance(to, Expr)
            there = range_of(elsewhere(part, to)) & holding(cond)
            parts = [there] if name == "moved" else [range_of(part), there]
            if more:
                assert isinstance(more[0], Expr)
                parts.append(steps(equal(K, more[0])) - holding(more[1]))
            yield name, whole, parts


def holding(cond: object) -> Set:
    return condition_set((T, K), cast(Cond, cond))


WINDOWS = ("moved", "halved", "overlapping")


def windows() -> list[Slice]:
    """Windows of several lengths before, at, behind and around the point."""
    here, end = expr(T), expr(T.extent)
    ends = [(-6, 1), (-9, 1), (0, 4), (0, 9), (-4, 0), (1, 5)]
    clipped = [Slice(minimum(here + 3, end), minimum(here + 8, end))]
    clipped.append(Slice(maximum(here - 7, 0), maximum(here - 1, 0)))
    return clipped + [
        Slice(
            here + a if a >= 0 else maximum(here + a, 0),
            here + b if b < 2 else minimum(here + b, end),
        )
        for a, b in ends
    ]


@pytest.mark.parametrize("window", windows(), ids=str)
def test_a_window_is_made_of_the_windows_that_its_rows_name(window: Slice) -> None:
    found = list(parts_of(window))
    assert window in [whole for _, whole, _ in found]
    for name, whole, parts in found:
        assert reduce(Set.__or__, parts).is_equal(range_of(whole))
        pairs = combinations(parts, 2)
        assert name == "overlapping" or all((a & b).is_empty() for a, b in pairs)


@pytest.mark.parametrize("edge", [expr(T), expr(T) - 2, expr(T) * 2 + 1, expr(T) // 4])
def test_a_range_from_the_start_or_to_the_end_is_read_where_it_has_elements(edge: Expr) -> None:
    tables = Tables((T,))
    end = expr(T.extent)
    tables.id(Slice(expr(0), edge))
    tables.id(Slice(edge, end))
    found = range_rows(tables, len(tables.attributes))
    for _, number, other, to, cond in found.get("moved", ()):
        part, whole = tables.index(int(number)), tables.index(int(other))
        assert isinstance(whole, Slice)
        there = range_of(elsewhere(whole, tables.expr(int(to))))
        exists = condition_set((T, K), tables.condition(int(cond)))
        assert range_of(part).is_equal(there & exists)


def test_a_condition_that_pins_a_dimension_holds_at_that_index_only() -> None:
    tables = Tables((T,))
    for cond in (equal(T, 0), equal(T, expr(T.extent) - 1), at_least(T, 1), equal(expr(T) * 2, 4)):
        tables.id(cond)
    pins = rows(tables)["pins"]
    assert len(pins) == 2
    for cond_id, _, index in pins:
        holds = condition_set((T,), tables.condition(int(cond_id)))
        assert holds.is_equal(condition_set((T,), equal(T, tables.expr(int(index)))))

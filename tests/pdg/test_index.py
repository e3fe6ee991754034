"""Canonical index expressions mean what was written, and equal spellings are equal."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from ostinato.pdg.index import (
    Dim,
    Expr,
    Extent,
    Point,
    Slice,
    evaluate,
    expr,
    maximum,
    minimum,
    product,
    symbols,
)

T_DIM, K_DIM = Dim("t"), Dim("k")
T, K = expr(T_DIM), expr(K_DIM)
END = expr(T_DIM.extent)
Spelling = tuple[Expr, Callable[[Point], int]]

GRID: list[Point] = [
    {T_DIM: t, K_DIM: k, Extent("T"): n} for t in (-4, -1, 0, 3, 7) for k in (-3, 2) for n in (1, 6)
]


def leaves() -> list[Spelling]:
    symbols_: list[Spelling] = [
        (T, lambda p: p[T_DIM]),
        (K, lambda p: p[K_DIM]),
        (END, lambda p: p[Extent("T")]),
    ]
    return symbols_ + [constant(c) for c in (0, 1, -3)]


def constant(c: int) -> Spelling:
    return expr(c), lambda p: c


def by_constant(a: Spelling, c: int) -> Iterator[Spelling]:
    e, f = a
    yield e // c, lambda p: f(p) // c
    yield e % c, lambda p: f(p) % c
    yield e * c, lambda p: f(p) * c


def unary(a: Spelling) -> Iterator[Spelling]:
    e, f = a
    yield -e, lambda p: -f(p)
    yield from by_constant(a, 2)
    yield from by_constant(a, 3)


def binary(a: Spelling, b: Spelling) -> Iterator[Spelling]:
    (x, f), (y, g) = a, b
    yield x + y, lambda p: f(p) + g(p)
    yield x - y, lambda p: f(p) - g(p)
    yield x * y, lambda p: f(p) * g(p)
    yield minimum(x, y), lambda p: min(f(p), g(p))
    yield maximum(x, y), lambda p: max(f(p), g(p))


def spellings() -> Iterator[Spelling]:
    """Every expression of two levels, and every unary form and every sum with a leaf of those."""
    base = leaves()
    first = [s for a in base for s in unary(a)]
    first += [s for a, b in itertools.product(base, repeat=2) for s in binary(a, b)]
    yield from first
    for a in first:
        yield from unary(a)
        yield from binary(a, base[0])


def test_every_small_expression_keeps_its_value() -> None:
    for e, meaning in spellings():
        for point in GRID:
            assert evaluate(e, point) == meaning(point), f"{e} at {point}"


def test_substitution_is_evaluation_at_the_substituted_point() -> None:
    by = {T_DIM: K * 2 - 1, K_DIM: T + END}
    for e, _ in spellings():
        for point in GRID[::3]:
            moved: Point = {**point, **{d: evaluate(v, point) for d, v in by.items()}}
            assert evaluate(e.at(by), point) == evaluate(e, moved), str(e)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (T + K - K, T),
        ((T + 1) - 1, T),
        (T * 2 - T, T),
        ((T * 6 + 4) // 2, T * 3 + 2),
        ((T * 6 + 5) % 3, expr(2)),
        ((T + 3) // 3, T // 3 + 1),
        ((T + 3) % 3, T % 3),
        (minimum(T, minimum(K, 3)), minimum(K, T, 3)),
        (maximum(T + 1, T - 2, T), T + 1),
        (product([T, 2, END]), END * T * 2),
        (T * 0, expr(0)),
    ],
    ids=str,
)
def test_two_spellings_of_one_expression_are_equal(left: Expr, right: Expr) -> None:
    assert left == right
    assert hash(left) == hash(right)


def test_a_minimum_does_not_swallow_a_shifted_or_negated_minimum() -> None:
    assert minimum(minimum(T, K) + 1, 3) != minimum(T, K, 3)
    assert minimum(-minimum(T, K), 3) != minimum(T, K, 3)


def test_symbols_are_found_inside_every_form() -> None:
    e = minimum((T + END) // 2, K % 3) * 2 + 1
    assert symbols(e) == {T_DIM, K_DIM, Extent("T")}
    assert e.dims == {T_DIM, K_DIM}


@pytest.mark.parametrize("by", [0, -2])
def test_division_by_a_non_positive_number_is_refused(by: int) -> None:
    with pytest.raises(ValueError, match=f"an index is divided by {by}; use a positive integer"):
        _ = T // by


@pytest.mark.parametrize("step", [1, 2, 3])
def test_the_size_of_a_slice_counts_its_indices(step: int) -> None:
    span = Slice(T - 2, END + 3, step)
    for point in GRID:
        lo, hi = evaluate(span.lo, point), evaluate(span.hi, point)
        if lo <= hi:
            assert evaluate(span.size, point) == len(range(lo, hi, step))


def test_expressions_print_as_they_are_written() -> None:
    assert [str(e) for e in (T - 1, T * 2 + 1, T // 2, (T + 1) % 3, minimum(T, END - 1))] == [
        "t-1",
        "2*t+1",
        "(t) // 2",
        "(t+1) % 3",
        "min(T-1, t)",
    ]


def test_dimensions_of_equal_name_are_different() -> None:
    assert Dim("t") != Dim("t")
    assert Dim("t").extent == Dim("t").extent

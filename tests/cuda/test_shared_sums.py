"""Loops that all threads of a block share, and those that they may not."""

from collections.abc import Callable

import pytest

from ostinato.codegen.cuda.shared_sums import PARTS, Fold, most_turns
from ostinato.codegen.loops.expression import Expression, Item, Name, call, compare
from ostinato.codegen.loops.numba_source import show
from ostinato.codegen.loops.statements import Block, Body, For

TYPES = {"total": "float32", "most": "float32", "count": "int32", "copy": "float32"}
Given = Expression | str | int
total, most, count, copy, n = map(Name, ("total", "most", "count", "copy", "n"))


def x(at: Given = "k") -> Expression:
    return Item(Name("arena.float32"), Name(at) if isinstance(at, str) else at)  # type: ignore[arg-type]


def fold(write: Callable[[Block], None], *bounds: Given) -> Fold:
    out = Block()
    with out.loop("k", *bounds):
        write(out)
    (made,) = out.body
    assert isinstance(made, For)
    return Fold(made, TYPES.get)


def adds(out: Block) -> None:
    out.let("total", total + x())


def of_a_row(out: Block) -> None:
    out.let("total", total + x(Name("k") + Name("row")))


def of_two(out: Block) -> None:
    out.let("total", call("f32", total + x() + x(Name("k") + 1)))
    out.let("most", call("maximum_f32", "most", x()))


def of_ints(out: Block) -> None:
    out.let("count", call("i32", count + Item(Name("arena.int32"), Name("k"))))


def nested(out: Block) -> None:
    out.let("copy", total)
    with out.loop("j", call("min", n, 32)):
        out.let("copy", copy + x("j"))
    out.let("total", call("f32", copy))
    out.let("most", call("maximum_f32", "most", x()))


def of_itself(out: Block) -> None:
    out.let("total", total * x())


def of_another(out: Block) -> None:
    out.let("total", total + x())
    out.let("most", call("maximum_f32", "most", total))


def of_a_choice(out: Block) -> None:
    with out.when(compare("<", total, 1)):
        out.let("total", total + x())


def begun_again(out: Block) -> None:
    out.let("total", call("f32", 0))
    out.let("total", total + x())


def of_the_turn_before(out: Block) -> None:
    out.let("total", total + Name("before"))
    out.let("before", x())


def of_another_loop(out: Block) -> None:
    with out.loop("j", n):
        out.let("found", x("j"))
    out.let("total", total + Name("found"))


def stored(out: Block) -> None:
    out.let("total", total + x())
    out.write("arena.float32", "k", x())


def of_unknown_type(out: Block) -> None:
    out.let("other", Name("other") + x())


@pytest.mark.parametrize("body", [adds, of_two, of_ints, nested])
def test_sums_of_many_terms_are_shared(body: Callable[[Block], None]) -> None:
    assert fold(body, n).fits(is_exact=False)
    assert fold(body, 64).fits(is_exact=False)
    assert fold(body, n).fits(is_exact=True) == (body is of_ints)


@pytest.mark.parametrize(
    "body",
    [
        *(of_itself, of_another, of_a_choice, begun_again, stored, of_unknown_type),
        *(of_the_turn_before, of_another_loop),
    ],
)
def test_what_needs_its_order_is_not(body: Callable[[Block], None]) -> None:
    assert not fold(body, n).fits(is_exact=False)


def test_few_terms_are_not() -> None:
    assert not fold(adds, 63).fits(is_exact=False)
    assert not fold(adds, call("min", n, 32)).fits(is_exact=False)
    assert not fold(of_two, n, 0, n).fits(is_exact=False)


@pytest.mark.parametrize(
    ("bounds", "most"),
    [
        ((7,), 7),
        ((n,), None),
        ((call("min", n, 9),), 9),
        ((2, 9, 3), 3),
        ((9, -1, -1), 10),
        ((n, 9), None),
    ],
)
def test_turns_are_bounded_by_numbers(bounds: tuple[Given, ...], most: int | None) -> None:
    assert most_turns(fold(adds, *bounds).loop) == most


def run(body: Body, scope: dict[str, object]) -> dict[str, object]:
    exec("\n".join(show(body)), scope)
    return scope


class Kinds:
    float32 = [*range(2000)]


class Memory:
    class shared:  # noqa: N801, D106  # as the device calls it
        made: dict[int, float] = {}

        @classmethod
        def array(cls, _: int, kind: object) -> dict[int, float]:
            return cls.made


@pytest.mark.parametrize("terms", [64, 65, 1000])
@pytest.mark.parametrize("rows", [1, 5, 64])
def test_every_term_of_every_row_is_added_once(rows: int, terms: int) -> None:
    made = fold(of_a_row, terms)
    assert made.fits(is_exact=False)
    parts, ends = made.by_rows(lambda name: name, "row", rows, Name("0"), "1")
    scope = run(parts, {"arena": Kinds, "cuda": Memory, "f32": float})
    for row in range(rows):
        found = run(ends, {**scope, "row": row, "total": 5.0})
        assert found["total"] == 5 + sum(range(row, row + terms))


@pytest.mark.parametrize("terms", [0, 1, 31, 1000])
def test_every_term_is_added_once(terms: int) -> None:
    """By one thread, for which a barrier is nothing."""
    made = fold(nested, terms)
    if not made.fits(is_exact=False):
        assert terms * 32 < PARTS
        return
    body = made.shared(lambda name: name, "0", "1")
    found = run(
        body,
        {
            **{"arena": Kinds, "cuda": Memory, "block_barrier": lambda: None, "f32": float},
            **{"maximum_f32": max, "n": 20, "total": 5.0, "most": -1.0},
        },
    )
    assert found["total"] == 5 + terms * sum(range(20))
    assert found["most"] == max(-1, terms - 1)

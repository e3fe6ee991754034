"""Loops over steps are taken apart and exchanged where, and only where, the meaning stays."""

from dataclasses import replace

import pytest

from ostinato.codegen.cuda.loop_order import Order
from ostinato.codegen.cuda.rewriting import calls, given
from ostinato.codegen.cuda.touches import NOTHING, Access, Touched
from ostinato.codegen.loops.expression import Expression, Name, call
from ostinato.codegen.loops.statements import Block, Body, For

ACCESSES = {
    f"{kind}_{tensor}": Access(tensor, "float32", kind == "st")
    for tensor in "xyz"
    for kind in ("ld", "st")
}
g, a, b, at_x, at_y, at_z, n = map(Name, ("g", "a", "b", "at_x", "at_y", "at_z", "n"))


def touched(body: Body) -> Touched:
    found = NOTHING
    for access in (ACCESSES[c.function] for c in calls(body) if c.function in ACCESSES):
        one = frozenset((access.tensor,))
        found |= Touched(writes=one) if access.is_store else Touched(reads=one)
    return found


ORDER = Order(ACCESSES, touched)


def load(tensor: str, at: Expression) -> Expression:
    return call(f"ld_{tensor}", "arena", at)


def added(out: Block, tensor: str, at: Expression, value: Expression) -> None:
    out.do(call(f"st_{tensor}", "arena", at, load(tensor, at) + value))


def only(out: Block) -> For:
    (made,) = out.body
    assert isinstance(made, For)
    return made


def two_sums(second: str, reads: str) -> For:
    """Over the groups, `x` adds up `z`, and another tensor adds up what is read."""
    out = Block()
    with out.loop("g", n):
        out.let("o", at_z + g * 64)
        with out.loop("a", 64, binding="lanes"):
            added(out, "x", at_x + a, load("z", Name("o") + a))
        with out.loop("b", 8, binding="lanes"):
            added(out, second, Name(f"at_{second}") + b, load(reads, Name("o") + b))
    return only(out)


def test_sums_of_different_arrays_are_loops_of_their_own() -> None:
    first, second = ORDER.apart(two_sums("y", "z"))
    assert [str(s) for s in first.body][:1] == [str(s) for s in second.body][:1], "the place"
    assert [*touched(first.body).writes, *touched(second.body).writes] == ["x", "y"]


@pytest.mark.parametrize(("second", "reads"), [("y", "x"), ("x", "z"), ("z", "z")])
def test_what_shares_written_memory_stays_together(second: str, reads: str) -> None:
    loop = two_sums(second, reads)
    assert ORDER.apart(loop) == (loop,)


def test_what_shares_a_variable_stays_together() -> None:
    out = Block()
    with out.loop("g", n):
        out.let("total", load("z", at_z + g))
        added(out, "x", at_x, Name("total"))
        added(out, "y", at_y, Name("total"))
    assert ORDER.apart(only(out)) == (only(out),)


def test_a_place_that_follows_from_what_is_computed_stays_with_it() -> None:
    out = Block()
    with out.loop("g", n):
        out.let("o", at_z + Name("next"))
        added(out, "x", at_x, load("z", Name("o")))
        with out.loop("a", 64, binding="lanes"):
            added(out, "y", at_y + a, load("z", at_z + g * 64 + a))
        out.let("next", call("i64", load("x", at_x)))
    first, second = ORDER.apart(only(out))
    assert [*touched(first.body).writes, *touched(second.body).writes] == ["x", "y"]
    assert "o" not in {*given(second.body)}


APART = [at_z + g, at_z + g * 64 + a, at_x + 3 - g]
TOGETHER = [at_z, at_z + a, at_z + g * n, at_z + Name("loaded"), at_y + g]


@pytest.mark.parametrize("at", [*APART, *TOGETHER], ids=str)
def test_each_turn_has_places_of_its_own(at: Expression) -> None:
    out = Block()
    with out.loop("g", n):
        out.let("loaded", call("i64", load("y", at_y)))
        out.do(call("st_y" if at == at_y + g else "st_z", "arena", at, load("x", at_x)))
    assert ORDER.stores_apart(only(out), {}, ()) == (at in APART)
    assert ORDER.stores_apart(only(out), {}, ("y", "z"))


def test_what_has_no_lanes_stays_in_one_loop() -> None:
    out = Block()
    with out.loop("g", n):
        added(out, "x", at_x, load("z", at_z + g))
        added(out, "y", at_y, load("z", at_z + g))
    assert ORDER.apart(only(out)) == (only(out),)


def test_a_loop_whose_end_is_in_memory_stays_whole() -> None:
    loop = two_sums("y", "z")
    assert len(ORDER.apart(loop)) == 2
    stored = replace(loop, bounds=(load("x", at_x),))
    assert ORDER.apart(stored) == (stored,)


def matrix(at: Expression) -> For:
    """Over the groups, a matrix adds up matrices."""
    out = Block()
    with out.loop("g", n), out.loop("b", "first", "end"), out.loop("a", 64, binding="lanes"):
        added(out, "x", at, load("z", at_z + g * 4096 + b * 64 + a))
    return only(out)


@pytest.mark.parametrize("at", [at_x + b * 64 + a, at_x + b * 80 + a, at_x + a - b * 64])
def test_a_matrix_adds_up_element_by_element(at: Expression) -> None:
    found = ORDER.exchanged(matrix(at), {})
    assert found is not None
    (inner,) = found.body
    assert (found.index, isinstance(inner, For) and inner.index) == ("b", "g")


@pytest.mark.parametrize(
    "at", [at_x + b * 63 + a, at_x + a, at_x + b * 64, at_x + b * 64 + a + g, at_x + b * n + a]
)
def test_elements_that_may_meet_keep_their_order(at: Expression) -> None:
    assert ORDER.exchanged(matrix(at), {}) is None

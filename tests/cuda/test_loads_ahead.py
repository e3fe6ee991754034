"""Loads of several turns come first, and the sums are the same in the same order."""

import pytest

from ostinato.codegen.cuda.loads_ahead import loads_ahead
from ostinato.codegen.loops.expression import Expression, Item, Name
from ostinato.codegen.loops.numba_source import show
from ostinato.codegen.loops.statements import Block, Body, For

t, first, last, x = map(Name, ("t", "first", "last", "x"))
VALUES = [0.1 * 3**k % 7 for k in range(40)]


def loop(*bounds: Expression | int) -> For:
    """A sum, and the least of what it came to."""
    out = Block()
    with out.loop("t", *bounds):
        out.let("at", t * 2)
        out.let("value", Item(x, Name("at")))
        out.let("total", Name("total") + Name("value") * Item(x, t))
        out.let("least", Name("least") + Name("total"))
    (made,) = out.body
    assert isinstance(made, For)
    return made


def run(body: Body, first: int, last: int) -> tuple[float, float]:
    scope = {"x": VALUES, "total": 0.5, "least": 0.0, "first": first, "last": last}
    exec("\n".join(show(body)), scope)
    return scope["total"], scope["least"]  # type: ignore[return-value]  # floats


@pytest.mark.parametrize("end", [0, 1, 7, 8, 9, 16, 19, -3])
@pytest.mark.parametrize("start", [0, 1, 5])
def test_the_sums_have_their_bits(start: int, end: int) -> None:
    for bounds in ((last,), (first, last)):
        begin = start if len(bounds) == 2 else 0
        one = loop(*bounds)
        many = loads_ahead(one, lambda name: f"{name}_")
        assert len(many) == 2
        assert run(many, begin, end) == run((one,), begin, end)


def test_all_loads_of_several_turns_come_before_the_first_sum() -> None:
    text = [*show(loads_ahead(loop(last), lambda name: name))]
    sums = [k for k, line in enumerate(text) if "total = " in line]
    loads = [k for k, line in enumerate(text) if "value" in line.split(" = ")[0]]
    assert sum(k < sums[0] for k in loads) == 8


def test_what_loads_where_the_turn_before_says_stays_as_it_is() -> None:
    out = Block()
    with out.loop("t", last):
        out.let("at", Item(x, Name("at")))
    (made,) = out.body
    assert isinstance(made, For)
    assert loads_ahead(made, str) == (made,)


def test_a_loop_that_stores_stays_as_it_is() -> None:
    out = Block()
    with out.loop("t", last):
        out.let("total", Name("total") + Item(x, t))
        out.write(x, t, Name("total"))
    (made,) = out.body
    assert isinstance(made, For)
    assert loads_ahead(made, str) == (made,)

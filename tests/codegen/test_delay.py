"""Values that are read ahead of time move to a step at which they can be computed."""

import pytest

from ostinato.codegen.systems.delay import delay
from ostinato.pdg.condition import ALWAYS, at_least
from ostinato.pdg.index import expr
from tests.codegen.builder import Builder, call
from tests.codegen.compare import assert_right


def second_order(back: int = 2, ahead: int = 1) -> Builder:
    """``x[t] = f[t-back]`` with ``f[t] = 0.5 x[t+ahead] + x[t]``; the first steps are 1."""
    p = Builder("t", {})
    t = p.d["t"]
    p.add("x", "t", "", 1.0)
    p.add("f", "t", "", call("add", call("mul", 0.5, p("x", t=t + expr(ahead))), p("x")))
    p.add("x", "t", "", [(at_least(back - 1, t), 1.0), (ALWAYS, p("f", t=t - expr(back)))])
    p.outputs = ["x"]
    return p


def moved(p: Builder, *names: str) -> dict[str, str]:
    """The clauses of the named statements after moving them, as text, where they changed."""
    after = delay(p.statements, frozenset(names), held=frozenset(p.outputs))
    return {n: str(s.clauses) for n, s in after.items() if s != p.statements[n]}


@pytest.mark.parametrize(("back", "ahead"), [(2, 1), (3, 1), (3, 2)])
def test_a_recurrence_of_higher_order_is_right(back: int, ahead: int) -> None:
    p = second_order(back, ahead)
    for steps in (1, back, 9):
        assert_right(p, {"T": steps})


def test_only_what_reads_ahead_and_its_readers_change() -> None:
    assert moved(second_order(), "x", "f").keys() == {"x", "f"}


def test_a_value_that_needs_itself_stays_where_it_is() -> None:
    assert moved(second_order(back=1, ahead=2), "x", "f") == {}


def test_a_value_at_varying_distances_stays_where_it_is() -> None:
    p = second_order()
    t = p.d["t"]
    p.add("x", "t", "", [(at_least(1, t), 1.0), (ALWAYS, p("f", t=expr(t) // 2))])
    assert moved(p, "x", "f") == {}

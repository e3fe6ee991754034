"""Leaves whose values are needed at some steps only count as often as they run."""

import pytest

import ostinato as ot
from ostinato.codegen.cost.leaf_cost import Needed
from ostinato.codegen.cost.work import work
from ostinato.codegen.ir.tree import Fill, Span
from ostinato.machine.profile import Profile
from ostinato.pdg.condition import Cond, at_least, equal, every
from ostinato.pdg.index import Dim, Extent, expr
from tests.codegen.test_estimate import planned

t, e = Dim("t"), Dim("e")
LAST, FIRST = equal(expr(t) + 1, expr(t.extent)), equal(expr(e), 0)


def square(name: str) -> ot.Tensor:
    return ot.input(name, shape=(16, 16))


def part(cond: Cond, **extents: int) -> float:
    needed = Needed({"x": cond})
    point: dict[Dim | Extent, int] = {Extent(name): size for name, size in extents.items()}
    for dim in (t, e):
        needed.enter(Span(dim, expr(0), expr(dim.extent)))
        point[dim] = extents[str(dim.extent)] // 2
    return needed.part(Fill("x"), point)


@pytest.mark.parametrize("steps", [1, 2, 5, 128, 5000])
def test_what_the_last_step_needs_runs_once(steps: int) -> None:
    assert part(LAST, T=steps, E=4) == pytest.approx(1 / steps)


def test_conditions_on_two_loops_are_independent() -> None:
    assert part(every(LAST, FIRST), T=100, E=4) == pytest.approx(1 / 400)


def test_a_part_of_the_steps_counts_as_such_a_part() -> None:
    assert part(at_least(expr(t), 75), T=100, E=4) == pytest.approx(0.25, abs=0.05)


def test_few_steps_are_looked_at_one_by_one() -> None:
    assert part(at_least(expr(t), 1), T=3, E=4) == pytest.approx(2 / 3)
    assert part(equal(expr(t), 2), T=5, E=4) == pytest.approx(1 / 5)


def test_the_products_of_a_last_step_are_counted_once() -> None:
    b, t = ot.dims("b t")
    x, w, u = ot.input("x", shape=(16,), over=b), square("w"), square("u")
    h = ot.recurrent("h", shape=(16,), over=(b, t))
    h[b, 0], h[b, t + 1] = x, ot.tanh(h @ w)
    judged, last = ot.tanh(h @ u).sum(-1), ot.tanh(2.0 * h @ u).sum(-1)
    value = ot.recurrent("value", over=(b, t))
    value[b, -1], value[b, t] = last[b, -1], judged[b, t + 1]
    plan = planned(ot.Program(value=value, judged=judged), B=32, T=100)
    assert plan.guards  # `last` shares a loop over all steps with `judged`
    found = work(plan, Profile(), {"B": 32, "T": 100}, 1)
    products = sum(w.operations["products"] for k in found for w in k.statements.values())
    assert products == pytest.approx(2 * 16 * 16 * 32 * (100 + 100 + 1), rel=0.01)

"""Demand is what the outputs need, no more where it settles and no less where it does not."""

from ostinato.pdg import build
from ostinato.pdg.condition import ALWAYS, at_least, equal
from ostinato.pdg.demand.demand import Demand
from ostinato.pdg.index import Dim, Extent, Slice, expr
from ostinato.pdg.node import Equation, Node
from tests.pdg.programs import T, add, n, program, running_sum, scalar, series, shifted, t, window


def points(demand: Demand, node: Node, **extents: int) -> list[tuple[int, ...]]:
    sizes: dict[Dim | Extent, int] = {Extent(name): size for name, size in extents.items()}
    return demand.of(node).fix(sizes).points()


def test_an_output_is_demanded_at_every_point() -> None:
    s, equation = running_sum()
    demand = Demand(program(equation, s=s), {})
    assert points(demand, s, B=2, T=2) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert points(demand, series(), B=2, T=3) == [(1,), (2,)]


def test_a_final_value_demands_the_whole_recurrence_by_widening() -> None:
    s, equation = running_sum()
    last = build.read(s, [(T, n - 1)])
    demand = Demand(program(equation, last=last), {})
    assert points(demand, s, B=1, T=4) == [(0, 0), (0, 1), (0, 2), (0, 3)]


def test_a_recurrence_that_settles_demands_exactly_its_points() -> None:
    y = build.rec("y", (), "float32", (T,))
    cases = ((equal(t, 0), scalar(1.0)), (ALWAYS, build.read(y, [(T, expr(0))])))
    demand = Demand(program(Equation(y, cases), z=build.read(y, [(T, n - 1)])), {})
    assert points(demand, y, T=5) == [(0,), (4,)]


def test_slices_demand_every_value_they_hold() -> None:
    x = series()
    demand = Demand(program(y=build.read(x, [(T, Slice(t, n, 2))])), {})
    assert points(demand, x, T=4) == [(0,), (1,), (2,), (3,)]
    tail = Demand(program(y=window(x, n - 2, n)), {"T": 2})
    assert points(tail, x, T=4) == [(2,), (3,)]


def test_a_value_nobody_needs_has_an_empty_demand() -> None:
    x = series("x")
    unused = build.case(at_least(T, 0), series(), x)
    demand = Demand(program(y=unused), {})
    assert demand.of(x).is_empty()
    assert demand.of(scalar(3.0)).is_empty()


def test_a_read_may_leave_the_box_only_where_nobody_needs_it() -> None:
    back = shifted(series(), -1)
    guarded = Demand(program(y=build.case(at_least(T, 1), back, scalar(0.0))), {})
    assert not guarded.leaves_box(back)
    assert Demand(program(y=back), {}).leaves_box(back)


def test_two_recurrences_that_feed_each_other_settle() -> None:
    x, y = (build.rec(name, (), "float32", (T,)) for name in "xy")
    first = Equation(x, ((equal(t, 0), scalar(0.0)), (ALWAYS, add(shifted(y, -1), series()))))
    second = Equation(y, ((ALWAYS, add(x, x)),))
    demand = Demand(program(first, second, last=build.read(y, [(T, n - 1)])), {})
    assert points(demand, x, T=3) == points(demand, y, T=3) == [(0,), (1,), (2,)]


def test_equal_demands_are_one_set() -> None:
    x, y = series("x"), series("y")
    both = add(window(x, expr(t), expr(n)), window(y, expr(t), expr(n)))
    demand = Demand(program(both=both), {})
    assert demand.of(x) is demand.of(y)

"""Keeping less for later loops: computed again or in 16 bits, with the meaning of the system."""

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from ostinato.codegen.planning.long_lived import kept
from ostinato.codegen.planning.plan import Plan, PlanOptions
from ostinato.codegen.planning.rematerialise import Unavailable, again
from ostinato.codegen.planning.within_limit import Room, fitted
from ostinato.pdg.condition import ALWAYS, equal
from ostinato.pdg.index import Extent, expr
from ostinato.pdg.pass_record import Passes
from tests.codegen.builder import Builder, call
from tests.codegen.compare import assert_computes
from tests.codegen.invented import invent
from tests.codegen.on_cpu import options, plan
from tests.property.today import of_today

SIZES = {"B": 5, "T": 6}
WIDTHS = {"b": 2}


def alone(planned: Plan, extents: Mapping[str, int]) -> int:
    return 1


def without_segments(widths: Mapping[str, int]) -> PlanOptions:
    """Options of a planner that computes single values again at most."""
    return replace(options(widths), passes=Passes(frozenset({"segments"})))


@pytest.mark.parametrize("seed", of_today(range(24)))
def test_computing_again_keeps_the_meaning_of_invented_systems(seed: int) -> None:
    system, arrays = invent(seed)
    chance = random.Random(seed)
    sizes = {"B": 5, "I": chance.choice([1, 3]), "T": chance.choice([1, 4, 7])}
    widths = {"b": chance.choice([1, 2, 3, 8]), "t": chance.choice([2, 3])}
    planned = fitted(system, without_segments(widths), Room(1, sizes, alone))
    assert_computes(system, sizes, arrays, planned, seed)


def there_and_back(ahead: int = 0) -> Builder:
    """A recurrence and two values made of it, which another recurrence reads from the end on."""
    p = Builder("b t", {"h": 3})
    t, last = expr(p.d["t"]), expr(Extent("T")) - 1
    p.input("x", "b t", "h", SIZES)
    p.add("f", "b t", "h", 0.0)
    p.add("e", "b t", "h", 0.0)
    p.add("f", "b t", "h", [(equal(t, 0), p("x")), (ALWAYS, p("e", t=t - 1) * 0.5 + p("x"))])
    p.add("g", "b t", "h", call("sin", p("f")))
    p.add("e", "b t", "h", call("exp", p("g")) * p("g"))
    p.add("r", "b t", "h", 0.0)
    step = p("r", t=t + 1) * p("e", t=t + ahead) + p("f") * p("g", t=t + ahead)
    p.add("r", "b t", "h", [(equal(t, last), p("f")), (ALWAYS, step)])
    p.outputs = ["r"]
    return p


def lighter(p: Builder, limit: int = 1) -> Plan:
    """The plan of least memory, whose results are right."""
    planned = fitted(p.system(), without_segments(WIDTHS), Room(limit, SIZES, alone))
    assert_computes(p.system(), SIZES, p.arrays, planned)
    return planned


def stored_steps(planned: Plan) -> set[str]:
    """The values of which all steps are stored, besides the argument and the result."""
    slots = {n: [s.kind for s in storage.slots] for n, storage in planned.storage.items()}
    return {
        n for n, kinds in slots.items() if kinds[-1:] == ["full"] and n not in ("x", "r", "end")
    }


def test_values_that_later_loops_read_are_found() -> None:
    p = there_and_back()
    found = kept(plan(p.system(), WIDTHS), SIZES, 1)
    assert {k.tensor for k in found} == {"e", "f", "g"}
    assert all(set(k.far) == {"r"} and k.dims == {p.d["t"]} for k in found)


@pytest.mark.parametrize("ahead", [0, 1])
def test_values_are_computed_again_where_they_are_read(ahead: int) -> None:
    usual = plan(there_and_back(ahead).system(), WIDTHS)
    found = lighter(there_and_back(ahead))
    assert stored_steps(usual) == {"e", "f", "g"} and stored_steps(found) == {"e"}
    assert [line.split(" (")[0] for line in found.changes] == ["f", "g"]


def test_no_more_is_computed_again_than_a_limit_asks_for() -> None:
    p = there_and_back()
    usual, least = plan(p.system(), WIDTHS), lighter(p)
    room = Room(0, SIZES, alone)
    sizes = [room.bytes_of(x) for x in (usual, least)]
    assert lighter(p, sizes[0]).changes == ()
    assert len(lighter(p, sizes[0] - 1).changes) == 1
    assert len(lighter(p, sizes[1]).changes) == 2


def test_the_last_step_alone_is_computed_again_as_one_step() -> None:
    p = there_and_back()
    p.add("end", "b", "h", p("g", t=expr(Extent("T")) - 1) + p("g", t=0))
    p.outputs = ["r", "end"]
    found = lighter(p)
    assert stored_steps(found) == {"e"}
    assert any(s.lowered == "g" and p.d["t"] not in s.dims for s in found.statements.values())


def test_one_value_of_a_recurrence_is_kept() -> None:
    p = there_and_back()
    found = kept(plan(p.system(), WIDTHS), SIZES, 1)
    with pytest.raises(Unavailable):
        again(p.system(), found, {"e": "again", "f": "again"})


def test_steps_that_are_read_as_an_axis_are_kept() -> None:
    p = Builder("b t", {"h": 3, "k": Extent("T")})
    t = p.d["t"]
    p.add("f", "b t", "h", 0.0)
    p.add("f", "b t", "h", [(equal(t, 0), 1.0), (ALWAYS, p("f", t=t - expr(1)) * 0.5)])
    p.add("g", "b t", "h", call("sin", p("f")))
    p.add("s", "b", "h k", p("g", t=p.a["k"]), over="k")
    p.outputs = ["s", "f"]
    assert lighter(p).changes == ()

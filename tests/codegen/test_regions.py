"""Which loops host what, and which systems have no order."""

import pytest

from ostinato.codegen.ir.tree import Loop, Nest, leaves
from ostinato.pdg.condition import ALWAYS, at_least, equal, every
from ostinato.pdg.errors import CycleError
from ostinato.pdg.index import expr, floordiv, maximum, mod
from tests.codegen.builder import Builder, number
from tests.codegen.compare import all_leaves, assert_right, driver_loops, loops
from tests.codegen.on_cpu import plan
from tests.codegen.programs import gru, reinforce, toy

SIZES = {"B": 7, "I": 3, "T": 5}


def test_a_policy_gradient_is_right() -> None:
    assert_right(reinforce(SIZES), SIZES, {"b": 3})


def test_a_gated_recurrence_and_its_adjoint_are_right() -> None:
    assert_right(gru(SIZES), SIZES, {"b": 3})


def test_a_scalar_chain_is_right() -> None:
    assert_right(toy(), {"I": 3, "T": 7})


def test_a_policy_gradient_is_six_kernels() -> None:
    kernels = plan(reinforce(SIZES, 64).system()).kernels
    assert [k.parallel is not None for k in kernels] == [False, True, False, True, False, False]
    assert [k.sliced for k in kernels] == [False] * 5 + [True], "large weights in slices"


def test_all_of_acting_is_one_loop_over_steps_inside_a_tile() -> None:
    planned = plan(reinforce(SIZES, 64).system())
    act = next(k for k in planned.kernels if k.parallel and "act" in str(k.body))
    inside = [t for t in act.body if isinstance(t, Loop)]
    first = {name for leaf, _, _ in leaves(inside[0].body) for name in _names(leaf)}
    assert {"x0", "z1", "h2", "act", "nx0", "r"} <= first
    assert inside[1].reverse, "returns run backwards in the same kernel"


def _names(leaf: object) -> tuple[str, ...]:
    return leaf.statements if isinstance(leaf, Nest) else (*getattr(leaf, "epilogues", ()), "z1")


def test_the_loop_over_iterations_belongs_to_the_driver_and_is_published() -> None:
    planned = plan(reinforce(SIZES).system())
    assert [(x.span.dim.name, x.outermost) for x in driver_loops(planned.driver)] == [("i", True)]


def test_data_for_a_serial_component_is_made_inside_its_loop() -> None:
    planned = plan(gru(SIZES).system())
    assert planned.storage["x"].place == "local"


def test_a_recurrence_over_two_dims() -> None:
    p = Builder("u t", {})
    u, t = p.d["u"], p.d["t"]
    p.add("d", "u t", "", 0.0)
    before = p("d", u=u - expr(1)) * 0.5 + p("d", t=t - expr(1)) * 0.4
    p.add("d", "u t", "", [(equal(u, 0), 1.0), (equal(t, 0), 1.0), (ALWAYS, before)])
    p.add("s", "u t", "", p("d"), over="t")
    p.outputs = ["s"]
    planned = assert_right(p, {"U": 5, "T": 7})
    assert [slot.kind for slot in planned.storage["d"].slots] == ["one", "full"]


def test_a_value_carried_across_nested_dims() -> None:
    p = Builder("i e", {})
    i, e = p.d["i"], p.d["e"]
    p.add("n", "i e", "", 0.0)
    first = every(equal(i, 0), equal(e, 0))
    last = p("n", i=i - expr(1), e=expr(e.extent) - 1)
    p.add("x", "i e", "", [(first, 1.0), (equal(e, 0), last), (ALWAYS, p("n", e=e - expr(1)))])
    p.add("n", "i e", "", p("x") * 0.9 + number(e) * 0.1)
    p.add("out", "i", "", p("n", e=expr(e.extent) - 1) * 2.0)
    p.outputs = ["out"]
    assert_right(p, {"I": 3, "E": 4})


def test_a_sum_over_all_tiles_at_every_step_stops_the_workers_there() -> None:
    p = Builder("b t", {})
    t = p.d["t"]
    p.add("n", "b t", "", 0.0)
    p.add("x", "b t", "", [(equal(t, 0), number(p.d["b"])), (ALWAYS, p("n", t=t - expr(1)))])
    p.add("m", "b t", "", p("x"), over="b")
    p.add("n", "b t", "", p("x") * 0.9 + p("m") * 0.1)
    p.outputs = ["m"]
    planned = assert_right(p, {"B": 7, "T": 5}, {"b": 2})
    assert [k.parallel is not None for k in planned.kernels] == [True, False, True]


def test_reads_at_half_the_step_and_by_parity() -> None:
    p = Builder("t", {})
    t = p.d["t"]
    p.add("a", "t", "", 0.0)
    even = (equal(mod(t, 2), 0), number(t) * 0.1)
    p.add("a", "t", "", [even, (ALWAYS, p("a", t=t - expr(1)) * 0.5)])
    p.add("c", "t", "", p("a") + p("a", t=floordiv(t, 2)))
    p.outputs = ["c"]
    assert_right(p, {"T": 9})


def cases_in_a_circle() -> Builder:
    """Two tensors that read each other in different cases."""
    p = Builder("t", {})
    t = p.d["t"]
    p.add("y", "t", "", 0.0)
    p.add("x", "t", "", [(at_least(2, t), p("y")), (ALWAYS, 2.0)])
    p.add("y", "t", "", [(at_least(2, t), 1.0), (ALWAYS, p("x"))])
    p.outputs = ["y"]
    return p


def test_cases_that_only_together_form_a_cycle_are_taken_apart() -> None:
    assert_right(cases_in_a_circle(), {"T": 9})


def pairs_in_a_triangle() -> Builder:
    """A tensor over two dims that is read where the second index is smaller only."""
    p = Builder("s r", {})
    s, r = p.d["s"], p.d["r"]
    p.add("h", "s", "", 0.0)
    p.add("z", "s r", "", p("h", s=expr(r)) * 0.5)
    before = p("z", s=expr(s), r=maximum(expr(s) - 1, 0))
    p.add("h", "s", "", [(at_least(0, s), 1.0), (ALWAYS, before + 1.0)])
    p.outputs = ["h"]
    return p


def test_pairs_that_nobody_reads_are_not_computed() -> None:
    assert_right(pairs_in_a_triangle(), {"S": 9, "R": 9})


def test_a_cycle_names_tensors_and_place() -> None:
    p = Builder("t", {})
    t = p.d["t"]
    p.add("b", "t", "", 0.0)
    p.add("a", "t", "", [(equal(t, 0), 0.0), (ALWAYS, p("b", t=t - expr(1)))])
    last = expr(t.extent) - 1
    p.add("b", "t", "", [(equal(t, last), 1.0), (ALWAYS, p("a", t=t + expr(1)))])
    p.outputs = ["b"]
    with pytest.raises(CycleError) as found:
        plan(p.system())
    assert str(found.value).splitlines()[0] == (
        "train.py:2: no order of loops computes `a` (train.py:2), `b` (train.py:3): "
        "they need each other"
    )


def test_a_dim_shorter_than_a_tile_and_a_dim_of_one_step() -> None:
    sizes = {"B": 1, "I": 1, "T": 1}
    assert_right(reinforce(sizes), sizes)


def test_every_axis_of_a_nest_is_a_loop_or_tiny() -> None:
    planned = plan(reinforce(SIZES, 64).system())
    for leaf in all_leaves(planned):
        if isinstance(leaf, Nest):
            for name in leaf.statements:
                axes = [a for a in planned.statements[name].axes if a not in leaf.axes]
                assert all(a.size.is_const and a.size.const <= 4 for a in axes), name


def test_a_backward_recurrence_loops_backwards() -> None:
    planned = plan(toy().system())
    found = [x for k in planned.kernels for x in loops(k.body)]
    assert [x.reverse for x in found] == [False, True]

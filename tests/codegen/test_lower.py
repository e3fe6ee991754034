"""Lowering: movement dissolves, vectors keep their dimension, operators become statements."""

from __future__ import annotations

from ostinato.codegen.ir.system import Call, Load, Statement, System
from ostinato.codegen.lowering.lower import lower
from ostinato.codegen.lowering.prove_bounds import prove_bounds
from ostinato.pdg import build
from ostinato.pdg.condition import at_least, equal
from ostinato.pdg.grad.axis_adjoints import flip
from ostinato.pdg.index import Dim, Expr, Slice, expr
from ostinato.pdg.node import Equation, Node, Pdg

b, t = Dim("b"), Dim("t")
B, T = expr(b.extent), expr(t.extent)


def whole(x: Node, *dims: Dim) -> Node:
    return build.read(x, [(d, Slice(expr(0), expr(d.extent))) for d in dims])


def floats(name: str, *shape: int, over: tuple[Dim, ...] = (b, t)) -> Node:
    return build.input_node(name, tuple(map(expr, shape)), "float32", over)


def lowered(y: Node, **equations: Equation) -> System:
    return prove_bounds(lower(Pdg((("y", y),), dict(equations))))


def only(system: System, kind: str) -> Statement:
    (found,) = [s for s in system.statements.values() if s.kind == kind]
    return found


def sole_load(s: Statement) -> Load:
    ((_, value),) = s.clauses
    assert isinstance(value, Load)
    return value


def test_vectorised_axis_is_the_dimension_again() -> None:
    y = build.map_node("tanh", [whole(floats("x", 4), b)])
    s = only(lowered(build.reduce_node("sum", y, (-2,))), "fold")
    assert s.dims == (b, t) and s.lanes == {b} and s.reduced == {b}


def test_an_axis_beside_one_that_a_reshape_cuts_stays_the_dimension() -> None:
    y = build.reshape(whole(floats("x", 6), b), (B, expr(2), expr(3)))
    s = only(lowered(build.reduce_node("sum", y, (-3,))), "fold")
    assert s.lanes == {b} and s.reduced == {b} and len(s.result_axes) == 2


def test_transposed_read_is_an_index() -> None:
    y = build.map_node("tanh", [build.transpose(floats("x", 2, 3), (-1, -2))])
    s = only(lowered(y), "map")
    ((_, value),) = s.clauses
    assert isinstance(value, Call) and isinstance(value.args[0], Load)
    rows, columns = (a.index for a in s.axes)
    assert value.args[0].axes == (expr(columns), expr(rows))


def test_a_flip_is_an_index_also_of_every_step() -> None:
    y = build.map_node("tanh", [flip(flip(whole(floats("x", 3), t), -2), -1)])
    system = lowered(y)
    s = system.statements[system.outputs["y"]]
    ((_, value),) = s.clauses
    assert isinstance(value, Call) and isinstance(value.args[0], Load)
    steps, columns = (a.index for a in s.axes)
    assert value.args[0].dims[-1] == T - 1 - steps
    assert value.args[0].axes == (2 - expr(columns),)


def test_sum_of_flattened_rows_contracts_both_dimensions() -> None:
    def rows(x: Node, n: int) -> Node:
        return build.reshape(whole(x, b, t), (B * T, expr(n)))

    x, dz = floats("x", 4), floats("dz", 2)
    y = build.matmul(build.transpose(rows(x, 4), (-1, -2)), rows(dz, 2))
    s = only(lowered(y), "matmul")
    assert s.reduced == {b, t} and s.lanes == {b, t}
    assert [a.size for a in s.result_axes] == [expr(4), expr(2)]


def test_flattened_rows_stay_rows_of_both_dimensions() -> None:
    flat = build.reshape(whole(floats("x", 4), b, t), (B * T, expr(4)))
    y = build.matmul(flat, floats("w", 4, 3, over=()))
    total = build.reduce_node("sum", build.reshape(y, (B, T, expr(3))), (-3, -2))
    s = only(lowered(total), "matmul")
    assert s.lanes == {b, t} and len(s.result_axes) == 1


def test_prefix_slice_is_a_ragged_axis() -> None:
    y = build.reduce_node("sum", build.read(floats("x"), [(t, Slice(expr(0), expr(t) + 1))]), (-1,))
    s = only(lowered(y), "fold")
    (axis,) = s.axes
    assert (axis.size, axis.pad) == (expr(t) + 1, T)
    assert sole_load(s).dims == (expr(b), expr(axis.index)) and not sole_load(s).clamp


def test_recurrence_reads_its_past_without_a_clamp() -> None:
    x = build.rec("x", (), "float32", (t,))
    step = build.map_node("tanh", [x])
    past = build.read(step, [(t, expr(t) - 1)])
    eq = Equation(x, ((equal(t, 0), build.const(0, "float32")), (at_least(t, 1), past)))
    s = lowered(x, x=eq).statements["x"]
    load = s.clauses[1][1]
    assert isinstance(load, Load) and load.dims == (expr(t) - 1,) and not load.clamp


def test_read_that_may_leave_the_box_is_clamped() -> None:
    y = build.map_node("tanh", [build.read(floats("x"), [(t, expr(t) + 1)])])
    ((_, value),) = only(lowered(y), "map").clauses
    assert isinstance(value, Call) and isinstance(value.args[0], Load) and value.args[0].clamp


def test_map_with_one_reader_joins_it() -> None:
    x = floats("x", 4)
    y = build.map_node("tanh", [build.map_node("mul", [x, x])])
    assert [s.kind for s in lowered(y).statements.values()] == ["input", "map"]


def test_map_with_two_readers_is_stored() -> None:
    z = build.map_node("tanh", [floats("x", 4)])
    y = build.map_node("add", [build.map_node("exp", [z]), build.map_node("sin", [z])])
    assert [s.kind for s in lowered(y).statements.values()] == ["input", "map", "map"]


def test_batched_recurrence_has_its_rows_as_a_dimension() -> None:
    h = build.rec("h", (B, expr(8)), "float32", (t,))
    step = build.map_node("tanh", [build.read(h, [(t, expr(t) - 1)])])
    zero = build.broadcast(build.const(0, "float32", (expr(1), expr(1))), (B, expr(8)))
    eq = Equation(h, ((equal(t, 0), zero), (at_least(t, 1), step)))
    out = build.part(build.read(h, [(t, T - 1)]), -2, expr(b))
    system = lower(Pdg((("y", out),), {"h": eq}), {"h": (b,)})
    assert system.statements["h"].dims == (b, t) and system.statements["h"].lanes == {b}


def test_split_of_a_constant_axis_divides() -> None:
    y = build.map_node("tanh", [build.reshape(floats("x", 6), (expr(2), expr(3)))])
    ((_, value),) = only(lowered(y), "map").clauses
    assert isinstance(value, Call) and isinstance(value.args[0], Load)
    (index,) = value.args[0].axes
    assert isinstance(index, Expr) and "3*" in str(index)

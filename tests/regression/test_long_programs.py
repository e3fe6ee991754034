"""Long chains: nothing recurses along them, and their equations are cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import ostinato as ot
from ostinato.codegen.ir.system import Value, children
from ostinato.codegen.lowering.lower import lower
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import optimize_pdg
from ostinato.pdg import build
from ostinato.pdg.bounds import simplified
from ostinato.pdg.condition import Compare
from ostinato.pdg.index import Dim, Extent, expr, maximum
from ostinato.pdg.node import Concat, Node

T = ot.dims("t")
X = ot.input("x", over=T)


def depth(value: Value) -> int:
    return 1 + max(map(depth, children(value)), default=0)


def test_a_chain_of_operators_becomes_equations_of_bounded_depth() -> None:
    y = X
    for k in range(2000):
        y = y * 0.99 if k % 2 else y + 0.01
    system = lower(ot.Program(y=y).pdg)
    values = [v for s in system.statements.values() for _, v in s.clauses]
    assert max(map(depth, values)) < 60 and len(values) > 30


def test_a_chain_of_300_operators_is_compiled() -> None:
    y = X
    for k in range(300):
        y = y * 0.99 if k % 2 else y + 0.01
    program = ot.Program(y=y)
    x = np.arange(4, dtype="float32")
    found = program.compile(exact=True)(x=x)["y"]
    assert found.tolist() == program.interpret(x=x)["y"].tolist()


def test_arithmetic_on_extents_that_is_read_often_is_computed_once() -> None:
    """Spelled out for each reader it would have 3**60 operators."""
    y = ot.index(T.size).cast("float32")
    for k in range(60):
        y = ot.where(y > k, y * 0.5, y + 1.0)
    program = ot.Program(y=y * X)
    x = np.arange(4, dtype="float32")
    found = program.compile(exact=True)(x=x)["y"]
    assert found.tolist() == program.interpret(x=x)["y"].tolist()


def test_300_nested_reads_are_printed_and_compiled() -> None:
    y = X
    for _ in range(300):
        y = y[ot.maximum(T - 1, 0)]
    program = ot.Program(y=y)
    assert "x[max(0, t-300)]" in str(program)
    assert program.compile()(x=[1.0, 2.0])["y"].tolist() == [1.0, 1.0]


def test_a_maximum_of_a_moved_maximum_is_one() -> None:
    t = expr(Dim("t"))
    assert maximum(maximum(t - 1, 0) - 1, 0) == maximum(t - 2, 0)
    assert maximum(maximum(t, Extent("T")) + 2, t) == maximum(t + 2, expr(Extent("T")) + 2)


def test_a_stack_of_many_is_chosen_from_by_halves() -> None:
    program = ot.Program(y=ot.stack([X * float(k) for k in range(40)]))
    (clauses,) = [s.clauses for s in lower(program.pdg).statements.values() if len(s.clauses) > 1]
    assert len(clauses) <= 16
    x = np.arange(3, dtype="float32")
    found = program.compile()(x=x)["y"]
    assert found.tolist() == program.interpret(x=x)["y"].tolist()


def test_a_gradient_of_many_choices_on_the_point_has_no_long_conditions() -> None:
    b = ot.dims("b")
    x = y = ot.input("x", over=b)
    for k in range(40):
        y = ot.where(b % (k + 2) == 1, y * 0.5, y)
    program = ot.Program(g=ot.grad((y * y)[:].sum(0), x))
    assert max(map(len, str(program).splitlines())) < 200
    steps = np.arange(7)
    scale = np.prod([np.where(steps % (k + 2) == 1, 0.25, 1.0) for k in range(40)], 0)
    np.testing.assert_allclose(program.interpret(x=steps + 1.0)["g"], 2 * (steps + 1) * scale)


def test_a_recurrence_of_150_fixed_steps_compares_few_conditions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its last case excludes each of them: whether one is asked for as well is one look."""
    compared, original = list[object](), Compare.__eq__

    def counted(self: Compare, other: object) -> bool:
        compared.append(other)
        return original(self, other)

    y = ot.recurrent("y", over=T)
    for k in range(150):
        y[k] = float(k)
    y[True] = y[T - 1] + y[T - 150]
    program = ot.Program(y=y)
    monkeypatch.setattr(Compare, "__eq__", counted)
    simplified.cache_clear()
    run = program.compile(without="LLVM passes")
    assert len(compared) < 1_000_000
    assert run(T=152)["y"][-2:].tolist() == [149.0, 150.0]


def test_a_long_chain_may_be_read_the_other_way_round() -> None:
    x = y = ot.input("x", (2, 3), over=T)
    for k in range(300):
        y = (ot.minimum(y, 0.5) + x, ot.square(y), ot.abs(y) - 0.5)[k % 3]
    program = ot.Program(y=ot.swapaxes(y, 0, 1) * 2.0)
    given = {"x": np.linspace(-1, 1, 12).reshape(2, 2, 3)}
    found = program.compile(rules=ot.rules.only())(**given)["y"]
    np.testing.assert_allclose(found, program.interpret(**given)["y"], atol=1e-4)


def stack(length: int) -> ot.Program:
    return ot.Program(y=ot.stack([X * float(k) for k in range(length)]))


def test_a_long_concatenation_is_rebuilt_in_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[int] = []
    concat = build.concat

    def counted(args: Sequence[Node], axis: int, where: str = "") -> Node:
        joined.append(len(args))
        return concat(args, axis, where)

    work: list[int] = []
    for length in (25, 50, 100):
        program = stack(length)
        joined.clear()
        with monkeypatch.context() as patch:
            patch.setattr(build, "concat", counted)
            optimize_pdg(program.pdg, None, Options())
        work.append(sum(joined))
    assert work[0] >= 25
    assert work[2] - work[1] <= 2.5 * (work[1] - work[0])


def test_a_long_concatenation_is_one_node_again() -> None:
    joins = [n for n in optimize_pdg(stack(40).pdg, None, Options()).pdg.nodes() if
             isinstance(n.op, Concat)]  # fmt: skip
    assert [len(n.args) for n in joins] in ([40], [])
    x = np.arange(3, dtype="float32")
    found = stack(40).compile()(x=x)["y"]
    assert found.tolist() == stack(40).interpret(x=x)["y"].tolist()

"""Hot loops become vector code: read from the machine code, not from a clock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ostinato.codegen.cpu.flags import host_is_x86
from ostinato.codegen.cpu.native.llvm_modules import written
from ostinato.codegen.emit.generated_module import functions
from ostinato.codegen.ir.system import Axis, Call, Literal_
from ostinato.codegen.ir.tree import Nest
from ostinato.codegen.planning.plan import Plan
from ostinato.pdg.index import Dim, expr, minimum
from ostinato.pdg.node import Dtype
from ostinato.runtime.machine_code import optimise
from tests.codegen.emit.plans import axis, given, kept, load, loop, mapped, serial, whole

T = Dim("t")
F: Dtype = "float32"


def chain(j: Axis) -> Plan:
    """``z = tanh(x) / (y + 1)`` and ``w = where(z > 0, x, y)`` over one axis, in a loop."""
    x, y = given("x", (T,), (j,)), given("y", (T,), (j,))
    a, b = load(x, (T,), j.index), load(y, (T,), j.index)
    below = Call("add", (b, Literal_(1.0, F)), F)
    z = mapped("z", (T,), (j,), Call("div", (Call("tanh", (a,), F), below), F))
    test = Call("gt", (load(z, (T,), j.index), Literal_(0.0, F)), "bool")
    w = mapped("w", (T,), (j,), Call("where", (test, a, b), F))
    statements = [x, y, z, w]
    kernel = serial("k", loop(T, Nest(("z", "w"), (j,))))
    return whole(statements, [kept(s) for s in statements], ["z", "w"], [kernel])


def machine_code(plan: Plan) -> str:
    """The assembly of the plan's first kernel."""
    plan = replace(plan, extents=tuple(sorted({*plan.extents, "N"})))
    first, *_ = functions(plan)
    text: str = optimise.code_generator().emit_assembly(optimise.optimised(written(first)))
    return text


@pytest.mark.skipif(not host_is_x86(), reason="reads x86 mnemonics")
@pytest.mark.parametrize("size", ["literal", "run-time", "tile"])
def test_an_elementwise_nest_is_vector_code(size: str) -> None:
    j = axis("j", 64 if size == "literal" else Dim("n").extent)
    if size == "tile":  # a ragged last tile of 64 slots: the loop runs over the padding
        j = Axis(Dim("j"), minimum(64, expr(Dim("n").extent)), expr(64))
    text = machine_code(chain(j))
    assert "divps" in text  # packed, of whatever width LLVM prefers here
    if size != "run-time":  # no remainder
        assert "divss" not in text


@pytest.mark.skipif(not host_is_x86(), reason="reads x86 mnemonics")
def test_a_short_row_is_vector_code() -> None:
    """LLVM alone makes one number after the other of a body as small as this."""
    j = axis("j", 32)
    x = given("x", (T,), (j,))
    y = mapped("y", (T,), (j,), load(x, (T,), j.index))
    kernel = serial("k", loop(T, Nest(("y",), (j,))))
    text = machine_code(whole([x, y], [kept(x), kept(y)], ["y"], [kernel]))
    assert "movups" in text
    assert "movss" not in text and "movl\t(" not in text


@pytest.mark.skipif(not host_is_x86(), reason="reads x86 mnemonics")
def test_the_few_slots_that_are_computed_together_are_vectors_not_copies() -> None:
    j = Axis(Dim("j"), minimum(32, expr(Dim("n").extent)), expr(32))
    x = given("x", (T,), (j,))
    more = Call("add", (load(x, (T,), j.index), Literal_(1.0, F)), F)
    z = mapped("z", (T,), (j,), more)
    kernel = serial("k", loop(T, Nest(("z",), (j,))))
    text = machine_code(whole([x, z], [kept(x), kept(z)], ["z"], [kernel]))
    assert "addps" in text and "addss" not in text


@pytest.mark.skipif(not host_is_x86(), reason="reads x86 mnemonics")
def test_the_lanes_of_a_fold_are_folded_as_vectors() -> None:
    """LLVM alone takes the halves of a vector number by number: 15 of them."""
    j = axis("j", 64)
    x = given("x", (T,), (j,))
    y = mapped("y", (T,), (j,), load(x, (T,), j.index))
    y = replace(y, kind="fold", fold="max", reduced=frozenset({j.index}))
    kernel = serial("k", loop(T, Nest(("y",), (j,))))
    text = machine_code(whole([x, y], [kept(x), kept(y)], ["y"], [kernel]))
    assert text.count("maxps") >= 5 and text.count("maxss") <= 4

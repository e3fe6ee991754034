"""A graph that a pass has broken is refused with the node that is wrong."""

from dataclasses import replace

import pytest

from ostinato.pdg import build
from ostinato.pdg.condition import ALWAYS, at_least
from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.index import Slice, expr
from ostinato.pdg.invariants import verify
from ostinato.pdg.node import Concat, Equation, Node, Random, intern
from tests.pdg.programs import B, T, add, mul, n, program, running_sum, scalar, series, t, window


def everything() -> dict[str, Node]:
    x = build.input_node("x", (expr(2), expr(3)), "float32", (T,))
    i = build.map_node("cast", (x,), "int32")
    return {
        "product": build.matmul(x, build.transpose(x, (-1, -2))),
        "joined": build.concat((x, build.part(x, 0, Slice(expr(0), expr(1)))), 0),
        "taken": build.gather(x, i, -1),
        "wide": build.broadcast(build.reshape(x, (expr(1), expr(6))), (expr(4), expr(6))),
        "drawn": build.random_node(Random("uniform", 1), (), "float32", (B, T)),
        "rest": build.scan("max", series(), T, reverse=True),
        "sums": add(build.scan("sum", series(), T), build.linear(scalar(0.5), series(), T, True)),
        "cases": build.case(at_least(T, 1), window(series(), t, n), window(series(), t, n)),
        "numbers": add(build.map_node("cast", (build.affine(t * 2),), "float32"), series()),
        "range": build.reduce_node("max", build.iota(n), [0]),
    }


def test_a_graph_made_by_the_constructors_is_valid() -> None:
    s, equation = running_sum()
    verify(program(equation, s=s, **everything()))


def test_a_node_with_another_type_than_its_operands_give_is_refused() -> None:
    good = mul(series(), series())
    wrong = intern((good.op, good.args, good.domain, good.shape, "float64"))
    with pytest.raises(AssertionError, match="dtype float64, inferred float32"):
        verify(program(y=wrong))
    wrong = intern((good.op, good.args, (B, T), good.shape, good.dtype))
    with pytest.raises(AssertionError, match="domain"):
        verify(program(y=wrong))


def test_a_recurrence_without_equations_is_refused() -> None:
    s, _ = running_sum()
    with pytest.raises(AssertionError, match="has no equations"):
        verify(program(s=s))


def test_a_case_of_another_shape_or_domain_is_refused() -> None:
    y = build.rec("y", (), "float32", (T,))
    wide = build.const(0.0, "float32", (expr(2),))
    with pytest.raises(AssertionError, match="a case of `y` gives"):
        verify(program(Equation(y, ((ALWAYS, wide),)), y=y))
    over_b = build.input_node("w", (), "float32", (B,))
    with pytest.raises(AssertionError, match="a case of `y` depends on b"):
        verify(program(Equation(y, ((ALWAYS, over_b),)), y=y))


def test_two_outputs_of_one_name_are_refused() -> None:
    graph = program(y=series())
    with pytest.raises(AssertionError, match="stands twice"):
        verify(replace(graph, outputs=graph.outputs * 2))


def test_an_operator_with_an_operand_too_many_or_too_few_is_refused() -> None:
    """Reshapes and transposes looked at the first operand only, also of a certificate's."""
    good = program(running_sum()[1], s=running_sum()[0], **everything())
    kinds = set[str]()
    for node in good.nodes():
        kinds.add(type(node.op).__name__)
        for args in ((*node.args, series()), node.args[:-1]):
            is_free = isinstance(node.op, Concat) or args == node.args
            if not is_free:
                wrong = intern((node.op, args, node.domain, node.shape, node.dtype))
                with pytest.raises((AssertionError, OstinatoError, IndexError)):
                    verify(program(running_sum()[1], y=wrong))
    assert {"Reshape", "Transpose", "Read", "Gather", "Case", "Affine"} <= kinds

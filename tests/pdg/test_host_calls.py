"""The interpreter calls a Python function once per point, with values of the declared types."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ostinato.pdg import build
from ostinato.pdg.functions import Array
from ostinato.pdg.host_functions import HostFunction, Result
from ostinato.pdg.index import expr
from ostinato.pdg.interpret import Interpreter, interpret
from ostinato.pdg.node import PURE, Host, Node, intern
from tests.pdg.programs import T, add, mul, n, program, scalar, series, shifted, t, window

R = np.array([1.5, 2.5, 3.5], "float32")


def called(fn: Callable[..., object]) -> dict[int, HostFunction]:
    return {4: HostFunction(fn, "twice", "train.py:1", (Result((), "float32"),), ())}


def call(*args: Node, effects: str = PURE) -> Node:
    return intern((Host(4, "twice", effects), args, (T,), (), "float32"))


def folded(x: Node) -> Node:
    return build.reduce_node("sum", window(x, expr(0), t + 1), [-1])


def test_a_function_gets_its_operands_and_gives_the_value() -> None:
    node = call(series(), build.affine(t))
    found = interpret(program(y=node), {"T": 3}, {"r": R}, hosts=called(np.multiply))["y"]
    assert found.tolist() == [0, 2.5, 7]


def test_the_operand_that_orders_a_call_is_not_given_to_it() -> None:
    node = call(build.affine(t + 9), series(), effects="env")
    found = interpret(program(y=node), {"T": 3}, {"r": R}, hosts=called(np.positive))["y"]
    assert found.tolist() == R.tolist()


def test_a_function_gets_the_declared_types_also_in_an_exact_evaluation() -> None:
    seen: list[tuple[str, float]] = []

    def look(x: Array) -> float:
        seen.append((x.dtype.name, x.item()))
        return 0.0

    third = build.map_node("div", (scalar(1.0), scalar(3.0)))
    graph = program(y=call(third))
    interpret(graph, {"T": 1}, {}, exact=True, hosts=called(look))
    assert seen == [("float32", float(np.float32(1 / 3)))]


SHARED: dict[str, Callable[[Node], dict[str, Node]]] = {
    "an output": lambda x: {"y": x},
    "two outputs": lambda x: {"y": x, "z": x},
    "an output and an operand": lambda x: {"y": x, "z": add(x, scalar(1.0))},
    "both operands": lambda x: {"y": mul(x, x)},
    "read at other points": lambda x: {"y": build.read(x, [(T, n - 1 - t // 2)])},
    "read by a slice": lambda x: {"y": folded(x)},
    "operand of what a slice reads": lambda x: {"y": folded(add(x, scalar(1.0)))},
    "operand of what is read at other points": lambda x: {
        "y": add(shifted(build.scan("sum", x, T), -1), build.scan("sum", x, T)),
    },
    "operand of a linear recurrence": lambda x: {"y": build.linear(scalar(0.5), x, T, False)},
}


@pytest.mark.parametrize("use", SHARED)
def test_a_function_runs_once_at_each_point_whatever_reads_it(use: str) -> None:
    points: list[float] = []

    def count(k: Array) -> float:
        points.append(k.item())
        return 1.0

    node = call(build.affine(t))
    interpret(program(**SHARED[use](node)), {"T": 3}, {}, hosts=called(count))
    assert len(points) == len(set(points)) > 0


def test_a_value_that_is_asked_for_again_is_not_computed_again() -> None:
    calls: list[float] = []
    node = call(build.affine(t))

    def count(k: Array) -> float:
        calls.append(k.item())
        return float(len(calls))

    run = Interpreter(program(y=node, z=node), {"T": 3}, {}, hosts=called(count))
    assert [run.value(node, (2,)).item() for _ in range(3)] == [1, 1, 1]
    assert calls == [2]

"""One element of an operator is the operator of elements; what things are called in errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ostinato.pdg import build
from ostinato.pdg.bounds import simplified
from ostinato.pdg.build import Shape
from ostinato.pdg.condition import at_least, equal, holds, negation
from ostinato.pdg.element import element
from ostinato.pdg.errors import DtypeError, GradientError, ShapeError
from ostinato.pdg.grad.reverse import gradient
from ostinato.pdg.index import Slice, expr
from ostinato.pdg.interpret import interpret
from ostinato.pdg.naming import called
from ostinato.pdg.node import Node
from tests.pdg.programs import B, T, mul, n, program, scalar, series, t

RNG = np.random.default_rng(3)
VALUES = {
    "a": RNG.normal(size=(3, 4)).astype("float32"),
    "c": RNG.normal(size=(2, 4, 3)).astype("float32"),
    "r": RNG.normal(size=5).astype("float32"),
    "q": RNG.normal(size=(2, 5, 3)).astype("float32"),
}


def shape(*sizes: int) -> Shape:
    return tuple(map(expr, sizes))


def matrix() -> Node:
    return build.input_node("a", shape(3, 4), "float32", ())


def stack() -> Node:
    return build.input_node("c", shape(2, 4, 3), "float32", ())


def plane() -> Node:
    return build.input_node("q", shape(3), "float32", (B, T))


def history() -> Node:
    everything = [(B, Slice(expr(0), expr(B.extent))), (T, Slice(expr(0), t + 1))]
    return build.read(plane(), everything)


FORMS: dict[str, Callable[[], Node]] = {
    "const": lambda: build.const(2.5, "float32", shape(3, 4)),
    "map": lambda: build.map_node("exp", [matrix()]),
    "thin map": lambda: build.map_node("add", [matrix(), build.const(1.0, "float32", shape(1, 1))]),
    "case": lambda: build.case(at_least(T, 1), matrix(), build.map_node("neg", [matrix()])),
    "broadcast": lambda: build.broadcast(build.part(matrix(), 0, Slice(expr(0), expr(1)), ""),
                                         shape(3, 4)),
    "transpose": lambda: build.transpose(stack(), (-1, -3, -2)),
    "tail transposed": lambda: build.transpose(stack(), (-1, -2)),
    "reduce": lambda: build.reduce_node("sum", stack(), [-2]),
    "first axis reduced": lambda: build.reduce_node("max", stack(), [-3]),
    "matmul": lambda: build.matmul(matrix(), build.transpose(matrix(), (-1, -2))),
    "batched matmul": lambda: build.matmul(stack(), build.transpose(stack(), (-1, -2))),
    "reshape with a new axis": lambda: build.reshape(matrix(), shape(3, 1, 4)),
    "reshape that mixes axes": lambda: build.reshape(matrix(), shape(2, 6)),
    "concat": lambda: build.concat([matrix(), matrix()], -1),
    "history": history,
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_an_element_of_an_operator_is_the_operator_of_elements(name: str) -> None:
    x = FORMS[name]()
    for axis in range(-x.rank, 0):
        size = x.shape[axis]
        last = (size if size.is_const else expr(1)) - 1
        at = t if name == "history" and axis == -x.rank + 1 else last
        walked, direct = element(x, axis, at), build.part(x, axis, at)
        assert walked.shape == direct.shape
        out = interpret(program(walked=walked, direct=direct), {"B": 2, "T": 5}, VALUES)
        np.testing.assert_allclose(out["walked"], out["direct"], rtol=1e-6, err_msg=f"{axis}")


def test_an_element_of_a_range_is_its_position() -> None:
    assert element(build.iota(n), -1, t) == build.affine(t)


def test_what_has_no_name_is_called_by_what_it_is() -> None:
    assert called(build.const(3, "int32")) == "the constant 3"
    assert called(build.const((1, 2), "int32", shape(2))) == "a constant"
    assert called(build.affine(t + 1)) == "`t+1`"
    assert called(build.iota(n)) == "`arange(T)`"
    assert called(mul(scalar(2.0), scalar(2.0))) == "an expression"
    assert called(mul(series(), scalar(2.0))) == "an expression of `r`"


def test_operands_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"transpose of `a` by \(-1, -1\)"):
        build.transpose(matrix(), (-1, -1))
    whole = build.map_node("cast", [matrix()], "int32")
    with pytest.raises(DtypeError, match=r"concatenation of `a` \(float32\) and .* \(int32\)"):
        build.concat([matrix(), whole], 0)
    with pytest.raises(ShapeError, match="rank 0 into `a` of rank 2"):
        build.gather(matrix(), build.const(1, "int32"), -1)


def test_the_opposite_of_an_equation_at_an_end_of_the_box_is_a_comparison() -> None:
    assert simplified(negation(equal(T, 0))) == at_least(T, 1)
    assert simplified(negation(equal(t, n - 1))) == at_least(n - 2, t)
    inner = simplified(negation(equal(t, 3)))
    for k in range(6):
        assert holds(inner, {T: k}) == (k != 3)


def test_only_running_sums_have_gradients() -> None:
    loss = build.reduce_node("sum", build.read(build.scan("max", series(), T),
                                               [(T, Slice(expr(0), n))]), [-1])  # fmt: skip
    with pytest.raises(GradientError, match="a running max over t has no gradient"):
        gradient(loss, [series()], {})

"""Arguments of a run: what is bound, and what is refused with which words."""

from collections.abc import Callable, Mapping
from inspect import signature

import numpy as np
import pytest

import ostinato as ot
from ostinato.compiler.arguments import TAKEN
from ostinato.compiler.compiled import Compiled
from ostinato.pdg.errors import ArgumentError


def program() -> ot.Program:
    b, t = ot.dims("b t")
    x = ot.input("x", shape=(2,), over=(b, t))
    next_one = ot.input("w", shape=(t.size + 1,))
    return ot.Program(y=x.sum() + next_one[t + 1] + ot.index(ot.dims("k")) * ot.dims("n").size)


def bind(**arguments: object) -> Mapping[str, int]:
    return program().signature.bind(arguments).extents


X = np.zeros((3, 4, 2))


def test_extents_follow_from_the_shapes_of_inputs() -> None:
    assert bind(x=X, w=np.zeros(5), K=1, N=2) == {"B": 3, "T": 4, "K": 1, "N": 2}


def test_an_affine_size_fixes_an_extent() -> None:
    t = ot.dims("t")
    w = ot.input("w", shape=(2 * t.size + 1,))
    signature = ot.Program(y=w[t]).signature
    assert signature.bind({"w": np.zeros(7)}).extents == {"T": 3}
    with pytest.raises(ArgumentError, match="the extent `T` is missing"):
        signature.bind({"w": np.zeros(6)})


def test_an_unknown_argument_names_the_closest() -> None:
    with pytest.raises(ArgumentError, match=r"no argument `b`\n  Did you mean `B`\?"):
        bind(x=X, w=np.zeros(5), K=1, N=1, b=3)


def test_a_missing_extent_names_the_remedy() -> None:
    with pytest.raises(ArgumentError, match=r"extent `K` is missing\n  Pass K=..., .* of `k`"):
        bind(x=X, w=np.zeros(5), N=1)


def test_a_missing_input_names_its_shape() -> None:
    with pytest.raises(ArgumentError, match=r"`x` is missing\n  Pass x=... of shape \(B, T, 2\)"):
        bind(w=np.zeros(5), K=1, N=1)


def test_contradicting_extents_name_both_reasons() -> None:
    with pytest.raises(ArgumentError, match=r"`T` is 9 \(T=9\) and 4 \(`w` has 5 at axis 0\)"):
        bind(x=X, w=np.zeros(5), K=1, N=1, T=9)
    with pytest.raises(ArgumentError, match="the extent `T` is 6 .`w` has 7 at axis 0. and 4"):
        bind(x=X, w=np.zeros(7), K=1, N=1)


def test_a_wrong_shape_names_the_declared_one() -> None:
    with pytest.raises(ArgumentError, match=r"shape \(3, 4, 5\), declared is \(B, T, 2\)"):
        bind(x=np.zeros((3, 4, 5)), w=np.zeros(5), K=1, N=1)
    with pytest.raises(ArgumentError, match="Pass an array with 3 axes"):
        bind(x=np.zeros(3), w=np.zeros(5), K=1, N=1)


@pytest.mark.parametrize("size", [0, -1, 2.5, "three", True])
def test_an_extent_is_a_positive_integer(size: object) -> None:
    with pytest.raises(ArgumentError, match="`K` is .*\n  Pass an integer of at least 1"):
        bind(x=X, w=np.zeros(5), K=size, N=1)


def test_inputs_take_the_declared_type() -> None:
    t = ot.dims("t")
    x = ot.input("x", dtype="int32", over=t)
    signature = ot.Program(y=x).signature
    assert signature.bind({"x": [1, 2]}).inputs["x"].dtype == np.int32
    with pytest.raises(ArgumentError, match="has type float64, declared is int32"):
        signature.bind({"x": [1.5]})
    with pytest.raises(ArgumentError, match="values outside int32"):
        signature.bind({"x": [2**40]})


def test_an_input_may_not_be_called_like_an_extent() -> None:
    t = ot.dims("t")
    with pytest.raises(ArgumentError, match="`T` has the name of another argument"):
        ot.Program(y=ot.input("T") + ot.index(t))


def test_constant_positions_need_so_many_steps() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    program = ot.Program(y=x[3] + x[-2] + x[:2].sum())
    assert program.interpret(x=[1.0, 2.0, 3.0, 4.0])["y"] == 10.0
    with pytest.raises(ArgumentError, match="the program reads 4 steps"):
        program.interpret(x=[1.0, 2.0, 3.0])


ON_AXES: dict[str, tuple[Callable[[ot.Tensor], ot.Tensor], int]] = {
    "an element": (lambda x: x[2], 3),
    "one from the end": (lambda x: x[-2], 2),
    "a range": (lambda x: x[1:3].sum(), 3),
    "a range to the end": (lambda x: x[2:].max(), 2),
    "what lies between": (lambda x: x[1:-2].sum(), 3),
    "the greatest": (lambda x: ot.top_k(x, 3)[0].sum(), 3),
    "an element of a part": (lambda x: x[1:][0], 2),
    "of the differences": (lambda x: (x[1:] - x[:-1])[2], 4),
}


@pytest.mark.parametrize("name", ON_AXES)
def test_constant_positions_on_axes_of_all_steps_need_so_many(name: str) -> None:
    of, steps = ON_AXES[name]
    x = ot.input("x", over=ot.dims("t"))
    program = ot.Program(y=of(x[:]))
    assert program.signature.least == {"T": steps}
    given = np.arange(7.0)
    assert program.compile()(x=given)["y"] == program.interpret(x=given)["y"]
    with pytest.raises(ArgumentError, match=f"the program reads {steps} steps"):
        program.compile()(x=np.ones(steps - 1))


def test_slices_of_steps_that_would_end_before_they_begin_need_more() -> None:
    x = ot.input("x", over=ot.dims("t"))
    assert ot.Program(y=x[2:-1].sum(0)).signature.least == {"T": 3}


def test_names_of_arguments_of_calls_and_streams_are_taken() -> None:
    asked = (Compiled.__call__, Compiled.stream)
    told = {name for of in asked for name in signature(of).parameters}
    assert {"seed", *told} - {"arguments"} == TAKEN

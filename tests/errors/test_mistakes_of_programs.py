"""Names, types, equations and outputs that make no sense: line, fact and remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ostinato
from ostinato.pdg import errors
from ostinato.pdg.errors import OstinatoError
from tests.errors.refusal import refusal

# As those write it who use no type checker, which would find many of these.
ot: Any = ostinato
optim = ot.optim

b, i, t = ot.dims("b i t")
x = ot.input("x", (3,), over=t)
y = ot.input("y", (3,), over=t)
k = ot.input("k", dtype="int32", over=t)


def recurrent() -> Any:
    return ot.recurrent("s", over=t)


def started() -> Any:
    s = recurrent()
    s[0] = 0.0
    return s


MISTAKES: dict[str, tuple[Callable[[], object], type[OstinatoError], str]] = {
    "a dtype that is a class": (
        lambda: x.cast(float),
        errors.ArgumentError,
        "`cast` of `x` gets the class float for `dtype`\n"
        '  Give the name of a dtype, such as "float32".',
    ),
    "a dtype of NumPy": (
        lambda: ot.input("z", dtype=np.float32),
        errors.ArgumentError,
        "`input` gets the class float32 for `dtype`\n"
        '  Give the name of a dtype, such as "float32".',
    ),
    "a misspelt dtype": (
        lambda: ot.zeros(3, "flot32"),
        errors.DtypeError,
        "there is no dtype `flot32`\n"
        "  Did you mean `float32`? Use one of bool, int32, int64, float32, "
        "float64, uint32, float16, bfloat16.",
    ),
    "a name that is no identifier": (
        lambda: ot.input("a b"),
        errors.EquationError,
        "the name 'a b'\n  Use a Python identifier.",
    ),
    "dims in upper case": (
        lambda: ot.dims("T"),
        errors.AffineError,
        "dims('T'): `T` cannot name a dimension\n"
        "  Use different lower-case identifiers; the upper-case name is the "
        "extent.",
    ),
    "dims in two texts": (
        lambda: ot.dims("b", "t"),
        errors.ArgumentError,
        "`dims` gets 2 arguments by place, it takes 1\n"
        '  Name them in one text: b, t = ot.dims("b t").',
    ),
    "one dimension twice": (
        lambda: ot.input("z", over=(t, t)),
        errors.EquationError,
        "`over` has `t` twice\n  Give dimensions of `ot.dims`, each once.",
    ),
    "a dimension by its name": (
        lambda: ot.input("z", over="t"),
        errors.ArgumentError,
        "`input` gets 't' for `over`\n"
        "  Give a dimension of ot.dims or a list of dimensions of ot.dims.",
    ),
    "a dimension that is made by its class": (
        lambda: ot.Dimension("t"),
        errors.ArgumentError,
        "`Dimension` gets 't' for `dim`\n  Make one by ot.dims(\"t\").",
    ),
    "a tensor that is made by its class": (
        lambda: ot.Tensor([1.0, 2.0]),
        errors.ArgumentError,
        "`Tensor` gets [1.0, 2.0] for `node`\n  Make one by ot.constant, ot.input or ot.recurrent.",
    ),
    "a method of a class": (
        lambda: optim.Adam.minimize(x.sum(), [x]),
        errors.ArgumentError,
        "`minimize`, a method of `Optimizer`, is called on a class\n"
        "  Make an object first, and call its method.",
    ),
    "the same equation twice": (
        lambda: started().__setitem__(0, 1.0),
        errors.EquationError,
        "`s` has an equation for all these points already, at "
        "test_mistakes_of_programs.py:32\n"
        "  Write the special cases first, and one equation for each set of "
        "points.",
    ),
    "an equation of a float step": (
        lambda: recurrent().__setitem__(0.5, 1.0),
        errors.EquationError,
        "the left side of `s` has 0.5 for `t`\n"
        "  Use the dimension, the dimension plus a constant, or a constant; for "
        "other sets of points use a condition: x[t < 3] = ..., x[t % 4 == 0] = "
        "...",
    ),
    "an equation of a slice": (
        lambda: recurrent().__setitem__(slice(None), 1.0),
        errors.EquationError,
        "the left side of `s` has a slice for `t`\n"
        "  Use the dimension, the dimension plus a constant, or a constant; for "
        "other sets of points use a condition: x[t < 3] = ..., x[t % 4 == 0] = "
        "...",
    ),
    "an equation of every second step": (
        lambda: recurrent().__setitem__(2 * t, 1.0),
        errors.EquationError,
        "the left side of `s` has `2*t` for `t`\n"
        "  Use the dimension, the dimension plus a constant, or a constant; for "
        "other sets of points use a condition: x[t < 3] = ..., x[t % 4 == 0] = "
        "...",
    ),
    "an equation of None": (
        lambda: recurrent().__setitem__(0, None),
        errors.DtypeError,
        "the right side of an equation of `s` is None\n"
        "  Use a tensor, an index expression or a number.",
    ),
    "an equation that depends on another dimension": (
        lambda: recurrent().__setitem__(0, ot.input("z", over=b)),
        errors.EquationError,
        "`s` is over `t`, but the right side depends on `b`\n"
        "  Add `b` to `over`, or reduce: x[:].sum(0) folds all steps.",
    ),
    "a program without outputs": (
        lambda: ot.Program(),
        errors.ArgumentError,
        "a program without outputs\n  Write Program(name=tensor).",
    ),
    "an output without a name": (
        lambda: ot.Program(x),
        errors.ArgumentError,
        "`Program` gets 1 argument by place, it takes none\n"
        "  Give them by name: Program(name=...).",
    ),
    "a list of outputs": (
        lambda: ot.Program(y=[x, y]),
        errors.ArgumentError,
        "the output `y` is [`x`, `y`]\n"
        "  Give each tensor a name of its own, or join them by ot.stack.",
    ),
    "a dictionary as an output": (
        lambda: ot.Program(y={"x": x}),
        errors.ArgumentError,
        "the output `y` is a dict of 1\n"
        "  Give each tensor a name of its own, or join them by ot.stack.",
    ),
    "None as an output": (
        lambda: ot.Program(y=None),
        errors.ArgumentError,
        "the output `y` is None\n  Give a tensor, a number or an array.",
    ),
    "a read before the first step": (
        lambda: ot.Program(y=x[t - 1]),
        errors.DomainError,
        "`x` is read at t = -1, outside its domain 0 <= t < T (first bad point: "
        "t=0, with T=1)\n"
        "  Read `x[ot.maximum(t-1, 0)]`, or add a case for this point.",
    ),
    "a read beyond the last step": (
        lambda: ot.Program(y=x[t + 1]),
        errors.DomainError,
        "`x` is read at t = 1, outside its domain 0 <= t < T (first bad point: "
        "t=0, with T=1)\n"
        "  Read `x[ot.minimum(t.size-1, t+1)]`, or add a case for this point.",
    ),
    "two dimensions of one name": (
        lambda: ot.Program(y=k + ot.input("z", over=ot.dims("t"))),
        errors.EquationError,
        "two dimensions of the program are called `t`\n"
        "  Declare it once with ot.dims and pass it on, or rename one.",
    ),
    "two inputs of one name": (
        lambda: ot.Program(y=x + ot.input("x", over=t)),
        errors.ArgumentError,
        "two inputs are called `x`\n"
        "  Rename one; the other is made at test_mistakes_of_programs.py:21.",
    ),
    "a gradient of a vector": (
        lambda: ot.grad(x, x),
        errors.GradientError,
        "the gradient of `x` (3,), which is float32\n"
        "  Reduce the loss to one float, by `.mean()` or `.sum()`.",
    ),
    "a gradient of an integer": (
        lambda: ot.grad(k, x),
        errors.GradientError,
        "the gradient of `k` (), which is int32\n"
        "  Reduce the loss to one float, by `.mean()` or `.sum()`.",
    ),
    "a gradient by an integer": (
        lambda: ot.grad(x.sum(), k),
        errors.GradientError,
        "the gradient with respect to `k`, which is int32\n"
        "  Only floats have derivatives: differentiate by a float, or cast it "
        "first.",
    ),
    "a gradient by a name": (
        lambda: ot.grad(x.sum(), "x"),
        errors.ArgumentError,
        "`grad` of an expression of `x` gets 'x' for `wrt`\n  Give a list of tensors or a tensor.",
    ),
    "a gradient by a number": (
        lambda: ot.grad(x.sum(), 3.0),
        errors.ArgumentError,
        "`grad` of an expression of `x` gets 3.0 for `wrt`\n  Give a list of tensors or a tensor.",
    ),
    "a pull-back that is none": (
        lambda: ot.custom_gradient(ot.tanh)(x),
        errors.GradientError,
        "`tanh` returns an expression of `x`\n"
        "  Return its value, a tensor, and its pull-back, a function: `return y, "
        "pull`.",
    ),
}


@pytest.mark.parametrize(("make", "kind", "text"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_answered_with_place_fact_and_remedy(
    make: Callable[[], object], kind: type[OstinatoError], text: str
) -> None:
    where, _, rest = refusal(kind, make).partition(": ")
    assert where == f"test_mistakes_of_programs.py:{make.__code__.co_firstlineno}"
    assert rest == text


def test_an_equation_that_wins_nowhere_is_refused_with_its_own_line() -> None:
    s = started()
    s[t + 1] = s
    s[t] = 3.0
    where, _, rest = refusal(errors.EquationError, lambda: ot.Program(y=s)).partition(": ")
    line = test_an_equation_that_wins_nowhere_is_refused_with_its_own_line.__code__.co_firstlineno
    assert where == f"test_mistakes_of_programs.py:{line + 3}"
    assert rest == (
        "`s` has earlier equations for all points of this one\n"
        "  Leave it out, or write it before those that it is an exception of."
    )

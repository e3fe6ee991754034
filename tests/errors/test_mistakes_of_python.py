"""What Python does with numbers and lists, done with tensors: line, fact and remedy."""

from __future__ import annotations

import math
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

b, i, t = ot.dims("b i t")
x = ot.input("x", (3,), over=t)
y = ot.input("y", (3,), over=t)


MISTAKES: dict[str, tuple[Callable[[], object], type[OstinatoError], str]] = {
    "a function that is misspelt": (
        lambda: ot.softmx(x),
        errors.MissingError,
        "`ostinato` has no `softmx`\n"
        "  Did you mean `softmax`? docs/language.md lists all functions.",
    ),
    "a function of another library": (
        lambda: ot.vmap(x),
        errors.MissingError,
        "`ostinato` has no `vmap`\n  Write the equations over one dimension more: ot.dims.",
    ),
    "a fold as a function": (
        lambda: ot.sum(x),
        errors.MissingError,
        "`ostinato` has no `sum`\n  Write x.sum(axis).",
    ),
    "a type as a name": (
        lambda: ot.zeros(3, ot.int32),
        errors.MissingError,
        '`ostinato` has no `int32`\n  Give types as texts: dtype="float32".',
    ),
    "a tensor decides an if": (
        lambda: 1 if x > 0 else 2,
        errors.TruthError,
        "an expression of `x` has no truth value while the program is written\n"
        "  Use ot.where, and & | ~ instead of and, or, not.",
    ),
    "a condition on a dimension decides an if": (
        lambda: x if t > 0 else y,
        errors.TruthError,
        "condition `t >= 1` is symbolic: Python cannot decide on it now\n"
        "  Use ot.minimum, ot.maximum or ot.where, and & | ~ instead of and, or, "
        "not.",
    ),
    "and between tensors": (
        lambda: (x > 0) and (y > 0),
        errors.TruthError,
        "an expression of `x` has no truth value while the program is written\n"
        "  Use ot.where, and & | ~ instead of and, or, not.",
    ),
    "not of a tensor": (
        lambda: not (x > 0),
        errors.TruthError,
        "an expression of `x` has no truth value while the program is written\n"
        "  Use ot.where, and & | ~ instead of and, or, not.",
    ),
    "a loop over a tensor": (
        lambda: list(x),
        errors.TruthError,
        "iteration over `x`\n  Use ot.unstack(x).",
    ),
    "a loop over a dimension": (
        lambda: list(t),
        errors.TruthError,
        "`t` is one index\n  Name several: b, t = dims('b t').",
    ),
    "a range of a dimension": (
        lambda: [x[n] for n in range(t)],
        errors.TruthError,
        "index `t` is no integer while the program is written\n"
        "  Write the equation of one step: a loop is made of it; "
        "ot.constant(list)[t] reads.",
    ),
    "the length of a tensor": (
        lambda: len(x),
        errors.TruthError,
        "length of `x`\n  Use x.shape[0].",
    ),
    "an assertion that tensors are equal": (
        lambda: bool(x == y),
        errors.TruthError,
        "an expression of `x`, `y` has no truth value while the program is "
        "written\n"
        "  Use ot.where, and & | ~ instead of and, or, not.",
    ),
    "a comparison with None": (
        lambda: x.__eq__(None),
        errors.DtypeError,
        "an operator joins `x` and None\n  Use tensors, index expressions, numbers or arrays.",
    ),
    "a comparison with a text": (
        lambda: x == "a",
        errors.DtypeError,
        "an operator joins `x` and 'a'\n  Use tensors, index expressions, numbers or arrays.",
    ),
    "a number of a tensor": (
        lambda: float(x),
        errors.TruthError,
        "`x` is no number while the program is written\n"
        "  Use functions of `ot`, such as ot.exp: a run has numbers.",
    ),
    "an integer of a tensor": (
        lambda: int(x),
        errors.TruthError,
        "`x` is no number while the program is written\n"
        "  Use functions of `ot`, such as ot.exp: a run has numbers.",
    ),
    "a function of the math module": (
        lambda: math.exp(x),
        errors.TruthError,
        "`x` is no number while the program is written\n"
        "  Use functions of `ot`, such as ot.exp: a run has numbers.",
    ),
    "a function of NumPy": (
        lambda: np.exp(x),
        errors.TruthError,
        "np.exp of `x`, which has no values while the program is written\n"
        "  Use functions of `ot`, such as ot.exp and ot.maximum.",
    ),
    "a maximum of NumPy": (
        lambda: np.maximum(x, 0.0),
        errors.TruthError,
        "np.maximum of `x`, which has no values while the program is written\n"
        "  Use functions of `ot`, such as ot.exp and ot.maximum.",
    ),
    "an array of a tensor": (
        lambda: np.array(x),
        errors.TruthError,
        "`x` has no values while the program is written\n"
        '  A run has values: ot.Program(y=y).interpret(...)["y"] is an array.',
    ),
    "an array of tensors": (
        lambda: np.stack([x, y]),
        errors.TruthError,
        "`x` has no values while the program is written\n"
        '  A run has values: ot.Program(y=y).interpret(...)["y"] is an array.',
    ),
    "Python's max of tensors": (
        lambda: max(x, y),
        errors.TruthError,
        "an expression of `y`, `x` has no truth value while the program is "
        "written\n"
        "  Use ot.where, and & | ~ instead of and, or, not.",
    ),
    "Python's sum of a tensor": (
        lambda: sum(x),
        errors.TruthError,
        "iteration over `x`\n  Use ot.unstack(x).",
    ),
    "Python's round of a tensor": (
        lambda: round(x),
        errors.TruthError,
        "`x` is no number while the program is written\n  Use ot.round(x).",
    ),
    "a search in a tensor": (
        lambda: 5 in x,
        errors.TruthError,
        "`x` is searched while the program is written\n  Compare and fold it: (x == item).any().",
    ),
    "a format of a tensor": (
        lambda: f"{x:.2f}",
        errors.TruthError,
        "`x` is formatted as a number ('.2f') while the program is written\n"
        "  Use ot.debug.print(x), or print what a run returns.",
    ),
    "a method of PyTorch: backward": (
        lambda: x.backward(),
        errors.MissingError,
        "`x` has no `backward`\n  Write ot.grad(loss, w).",
    ),
    "a method of PyTorch: detach": (
        lambda: x.detach(),
        errors.MissingError,
        "`x` has no `detach`\n  Use ot.stop_gradient(x).",
    ),
    "a method of PyTorch: unsqueeze": (
        lambda: x.unsqueeze(0),
        errors.MissingError,
        "`x` has no `unsqueeze`\n  Use ot.expand_dims(x, axis), or x[..., None].",
    ),
    "a method of NumPy: astype": (
        lambda: x.astype("int32"),
        errors.MissingError,
        '`x` has no `astype`\n  Use x.cast("float32"), or another dtype.',
    ),
    "a method of JAX: numpy": (
        lambda: x.numpy(),
        errors.MissingError,
        '`x` has no `numpy`\n  A run has values: ot.Program(y=y).interpret(...)["y"] is an array.',
    ),
    "a function as a method": (
        lambda: x.exp(),
        errors.MissingError,
        "`x` has no `exp`\n  Use ot.exp(x).",
    ),
    "a misspelt method": (
        lambda: x.maen(),
        errors.MissingError,
        "`x` has no `maen`\n"
        "  Did you mean `mean`? It has: T, all, any, argmax, argmin, argsort, at,"
        " cast, cumprod, cumsum, dtype, filled, max, mean, min, named, ndim, "
        "over, prod, reshape, searchsorted, shape, squeeze, std, sum, take, "
        "transpose, var.",
    ),
    "a misspelt field": (
        lambda: ot.Record(position=x).positon,
        errors.MissingError,
        "a record of position has no field `positon`\n"
        "  Did you mean `position`? Give the record that field.",
    ),
    "an item of a tensor is assigned": (
        lambda: x.__setitem__(0, 1.0),
        errors.EquationError,
        "`x` is assigned to, which is no recurrent tensor\n"
        "  Choose by ot.where, or define an ot.recurrent tensor by equations.",
    ),
    "a text is added": (
        lambda: x + "a",
        errors.DtypeError,
        "an operator joins `x` and 'a'\n  Use tensors, index expressions, numbers or arrays.",
    ),
    "None is added": (
        lambda: x + None,
        errors.DtypeError,
        "an operator joins `x` and None\n  Use tensors, index expressions, numbers or arrays.",
    ),
    "a list is added": (
        lambda: x + [1.0, 2.0, 3.0],
        errors.DtypeError,
        "an operator joins `x` and [1.0, 2.0, 3.0]\n"
        "  Make the list a tensor: ot.constant([1.0, 2.0]).",
    ),
    "a complex number is added": (
        lambda: x + 1j,
        errors.DtypeError,
        "an operator joins `x` and 1j\n  Use tensors, index expressions, numbers or arrays.",
    ),
    "an array of texts is added": (
        lambda: x + np.array(["a"]),
        errors.DtypeError,
        "an array of <U1 and shape (1,) is no array of numbers\n"
        "  Give booleans, integers or floats, as many in each row.",
    ),
    "a record is added": (
        lambda: x + ot.Record(a=x),
        errors.DtypeError,
        "an operator joins `x` and a Record\n  Use tensors, index expressions, numbers or arrays.",
    ),
    "a text is added to a dimension": (
        lambda: t + "a",
        errors.DtypeError,
        "an operator joins `t` and 'a'\n  Use tensors, index expressions, numbers or arrays.",
    ),
    "a constant tensor of tensors": (
        lambda: ot.constant([x, y]),
        errors.DtypeError,
        "[`x`, `y`] is a list that holds the tensor `x`\n"
        "  Join tensors by ot.stack, or give them one by one.",
    ),
    "a constant of ragged lists": (
        lambda: ot.constant([[1.0, 2.0], [3.0]]),
        errors.DtypeError,
        "[a list of 2, a list of 1] is no array of numbers\n"
        "  Give booleans, integers or floats, as many in each row.",
    ),
    "a constant of texts": (
        lambda: ot.constant(["a"]),
        errors.DtypeError,
        "['a'] is no array of numbers\n  Give booleans, integers or floats, as many in each row.",
    ),
    "a constant of objects": (
        lambda: ot.constant(np.array([None])),
        errors.DtypeError,
        "an array of object and shape (1,) is no array of numbers\n"
        "  Give booleans, integers or floats, as many in each row.",
    ),
    "a number beyond all floats": (
        lambda: x + 10**400,
        errors.DtypeError,
        "an integer of 1329 bits does not fit float32\n  Use a smaller number, or math.inf.",
    ),
    "an index that is a float": (
        lambda: x[0.5],
        errors.DomainError,
        "`x` is read at 0.5 along dimension `t`\n"
        "  Use an index expression, an integer or a slice; spatial positions come"
        " later.",
    ),
    "an index that is a text": (
        lambda: x["a"],
        errors.DomainError,
        "`x` is read at 'a' along dimension `t`\n"
        "  Use an index expression, an integer or a slice; spatial positions come"
        " later.",
    ),
    "a float in a slice": (
        lambda: x[0.5:],
        errors.DtypeError,
        "slice of `x` has the bound 0.5\n  Use integers and index expressions.",
    ),
    "a slice with step 0": (
        lambda: x[::0],
        errors.ShapeError,
        "slice of `x` with step 0\n  Use a positive integer; `ot.flip` reverses an axis.",
    ),
    "a slice backwards": (
        lambda: x[::-1],
        errors.ShapeError,
        "slice of `x` with step -1\n  Use a positive integer; `ot.flip` reverses an axis.",
    ),
    "an index beyond an axis": (
        lambda: x[t, 7],
        errors.ShapeError,
        "index 7 of axis -1 of `x`, which has size 3\n  Use an index inside the axis.",
    ),
    "an index before an axis": (
        lambda: x[t, -4],
        errors.ShapeError,
        "index -4 of axis -1 of `x`, which has size 3\n  Use an index inside the axis.",
    ),
    "too many positions": (
        lambda: x[t, 0, 0],
        errors.ShapeError,
        "`x` has 1 spatial axes and gets 2 spatial positions\n"
        "  Temporal positions come first, one per dimension, then spatial ones.",
    ),
    "a mask as an index": (
        lambda: x[t, x > 0],
        errors.DtypeError,
        "an expression of `x` (bool) indexes `x`\n"
        "  Choose by ot.where(mask, x, 0): sizes cannot depend on values.",
    ),
    "a product of dimensions as an index": (
        lambda: x[t * t],
        errors.AffineError,
        "index `t * t` is not quasi-affine\n"
        "  Multiply by constants only, or make it a tensor: `ot.index(t * t)`.",
    ),
    "half a dimension as an index": (
        lambda: x[t / 2],
        errors.DtypeError,
        "`x` is read at a step of `t` given by an expression (float32)\n"
        '  Use an integer index, such as `index.cast("int32")`.',
    ),
}


@pytest.mark.parametrize(("make", "kind", "text"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_answered_with_place_fact_and_remedy(
    make: Callable[[], object], kind: type[OstinatoError], text: str
) -> None:
    where, _, rest = refusal(kind, make).partition(": ")
    assert where == f"test_mistakes_of_python.py:{make.__code__.co_firstlineno}"
    assert rest == text

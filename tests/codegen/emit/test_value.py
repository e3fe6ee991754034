"""Every elementwise function, cast and draw means what the tables of `pdg` say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path as Directory
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.emit.generated_module import emit
from ostinato.codegen.ir.system import Call, Draw, Literal_, Value
from ostinato.codegen.ir.tree import Nest
from ostinato.codegen.planning.plan import Plan
from ostinato.pdg.functions import ANY, FUNCTIONS, INTS, NUMBERS
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.node import Dtype
from ostinato.pdg.philox import draw_bits, draw_normal, draw_uniform
from tests.codegen.emit.plans import axis, given, kept, load, loop, mapped, serial, whole
from tests.codegen.emit.run import run

VALUES: dict[str, list[float]] = {
    "bool": [0, 1],
    "int32": [0, 1, -1, 2, 3, -7, 46341, 2**31 - 1, -(2**31)],
    "int64": [0, 1, -1, 2, 3, -7, 2**40, 2**63 - 1, -(2**63)],
    "uint32": [0, 1, 2, 3, 7, 2**31, 2**32 - 1],
    "float32": [0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.5, 7.25, -0.75, 100.0],
    "float64": [0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.5, 7.25, -0.75, 100.0],
}
RTOL = {"float32": 2e-6, "float64": 1e-12}


Build = Callable[..., Value]


def elementwise(dtypes: tuple[Dtype, ...], values: Mapping[str, Build]) -> Plan:
    """``name[j] = value(x0[j], x1[j], ...)`` for every name, in one nest."""
    j = axis("j", Dim("n").extent)
    inputs = [given(f"x{k}", (), (j,), dtype) for k, dtype in enumerate(dtypes)]
    reads = [load(x, (), j.index) for x in inputs]
    made = [mapped(name, (), (j,), build(*reads)) for name, build in values.items()]
    everything = [*inputs, *made]
    kernel = serial("k", Nest(tuple(values), (j,)))
    return whole(everything, [kept(s) for s in everything], list(values), [kernel])


def grid(dtypes: tuple[Dtype, ...]) -> list[npt.NDArray[Any]]:
    """All combinations of interesting values."""
    rows = list(product(*(VALUES[d] for d in dtypes)))
    return [np.array([r[k] for r in rows], d) for k, d in enumerate(dtypes)]


def evaluate(
    directory: Directory, arrays: list[npt.NDArray[Any]], values: Mapping[str, Build]
) -> dict[str, npt.NDArray[Any]]:
    inputs = {f"x{k}": a for k, a in enumerate(arrays)}
    plan = elementwise(tuple(a.dtype.name for a in arrays), values)  # type: ignore[misc]
    return run(plan, directory, {"N": arrays[0].size}, inputs)


def applied(fn: str, dtype: Dtype) -> Build:
    result = FUNCTIONS[fn].result
    kind: Dtype = dtype
    if result != "same" and result != "declared":  # noqa: PLR1714  (narrows the type)
        kind = result
    return lambda *xs: Call(fn, xs, kind)


def of_arity(arity: int, dtype: Dtype) -> list[str]:
    names = [n for n, f in FUNCTIONS.items() if f.arity == arity and dtype in f.accepts]
    return [n for n in names if n not in ("cast", "pow", "where")]


@pytest.mark.parametrize("dtype", ANY)
@pytest.mark.parametrize("arity", [1, 2])
def test_functions_are_those_of_numpy(tmp_path: Directory, arity: int, dtype: Dtype) -> None:
    arrays = grid((dtype,) * arity)
    out = evaluate(tmp_path, arrays, {fn: applied(fn, dtype) for fn in of_arity(arity, dtype)})
    for fn, y in out.items():
        with np.errstate(all="ignore"):
            compare(fn, y, FUNCTIONS[fn].numpy(*arrays))


@pytest.mark.parametrize("dtype", ANY)
def test_where_is_that_of_numpy(tmp_path: Directory, dtype: Dtype) -> None:
    arrays = grid(("bool", dtype, dtype))
    out = evaluate(tmp_path, arrays, {"y": applied("where", dtype)})
    compare("where", out["y"], np.where(*arrays))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_a_power_is_that_of_numpy(tmp_path: Directory, dtype: Dtype) -> None:
    x, n = grid((dtype, dtype))
    if dtype in INTS:  # NumPy has no negative powers of integers
        keep = (n >= 0) & (n < 2**30)
        x, n = x[keep], n[keep]
    out = evaluate(tmp_path, [x, n], {"y": applied("pow", dtype)})
    with np.errstate(all="ignore"):
        compare("pow", out["y"], np.power(x, n))


def compare(fn: str, y: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    assert y.dtype == expected.dtype, fn
    if y.dtype.kind != "f":
        np.testing.assert_array_equal(y, expected, err_msg=fn)
        return
    rtol = RTOL[y.dtype.name]
    np.testing.assert_allclose(y, expected, rtol=rtol, atol=rtol, err_msg=fn)


def cast_to(to: Dtype) -> Build:
    def build(x: Value) -> Value:
        return Call("cast", (x,), to)

    return build


@pytest.mark.parametrize("source", ANY)
def test_casts_are_those_of_numpy(tmp_path: Directory, source: Dtype) -> None:
    (x,) = grid((source,))
    x = x[x >= 0] if x.dtype.kind == "f" else x  # NumPy leaves -1.0 as uint32 undefined
    out = evaluate(tmp_path, [x], {to: cast_to(to) for to in ANY if to != source})
    for to, y in out.items():
        np.testing.assert_array_equal(y, x.astype(to), err_msg=to)


def power(exponent: float) -> Build:
    def build(x: Value) -> Value:
        return Call("pow", (x, Literal_(exponent, "float32")), "float32")

    return build


def test_constant_powers_are_those_of_numpy(tmp_path: Directory) -> None:
    (x,) = grid(("float32",))
    exponents = {"zero": 0, "one": 1, "two": 2, "inverse": -1, "three": 3, "half": 0.5}
    out = evaluate(tmp_path, [x], {name: power(n) for name, n in exponents.items()})
    for name, n in exponents.items():
        with np.errstate(all="ignore"):
            compare(name, out[name], np.power(x, np.float32(n)))


DIMS = tuple(Dim(name) for name in "abcdef")


@pytest.mark.parametrize("rank", [0, 1, 3, 4, 6])
@pytest.mark.parametrize("fn", ["uniform", "normal", "bits"])
def test_a_draw_is_that_of_the_interpreter(tmp_path: Directory, fn: str, rank: int) -> None:
    dtype: Dtype = "uint32" if fn == "bits" else "float32"
    j, dims = axis("j", 5), DIMS[:rank]
    point: tuple[Expr, ...] = tuple(expr(d) for d in dims)
    y = mapped("y", dims, (j,), Draw(fn, 3, point, expr(j.index), dtype))
    body: Any = Nest(("y",), (j,))
    for d in reversed(dims):
        body = loop(d, body)
    extents = {str(d.extent): 2 for d in dims}
    plan = whole([y], [kept(y)], ["y"], [serial("k", body)])
    out = run(plan, tmp_path, extents, seed=-(2**40) - 5)["y"]
    law = {"uniform": draw_uniform, "normal": draw_normal}.get(fn)
    for at in np.ndindex(*out.shape[:-1]):
        seed = -(2**40) - 5
        right = law(seed, 3, at, (5,), "float32") if law else draw_bits(seed, 3, at, (5,))
        np.testing.assert_allclose(out[at], right, rtol=1e-5, atol=1e-6)


def test_a_shared_value_is_computed_once() -> None:
    def value(x: Value) -> Value:
        e = Call("exp", (x,), "float32")
        return Call("div", (e, Call("add", (e, Literal_(1.0, "float32")), "float32")), "float32")

    assert emit(elementwise(("float32",), {"y": value})).count("exp_f32(") == 1

"""Operators and folds that a program adds: what they mean, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import ostinato as ot
from ostinato.language.tensor import Tensor
from ostinato.pdg.functions import FUNCTIONS
from ostinato.pdg.node import Pdg

t = ot.dims("t")


def hard_mish(x: ot.Tensor) -> ot.Tensor:
    return ot.where(x > 2, x, x * ot.clip(x + 2, 0, 2) / 2)


def log_add(x: ot.Tensor, y: ot.Tensor) -> ot.Tensor:
    return ot.maximum(x, y) + ot.log1p(ot.exp(-ot.abs(x - y)))


def is_near(x: ot.Tensor, y: ot.Tensor) -> ot.Tensor:
    return ot.abs(x - y) < 0.5


def test_an_operator_has_the_value_and_the_slopes_of_its_code() -> None:
    x, y = ot.input("x", shape=(3, 1), over=t), ot.input("y", shape=(5,), over=t)

    def values(f: Callable[..., ot.Tensor], g: Callable[..., ot.Tensor]) -> ot.Program:
        out = f(g(x), y)
        loss = (out[:] ** 2).sum()
        slope = ot.grad(loss, x)
        return ot.Program(out=out, slope=slope, other=ot.grad(loss, y), second=_second(slope, x))

    rng = np.random.default_rng(1)
    given = {"x": 3 * rng.normal(size=(7, 3, 1)), "y": rng.normal(size=(7, 5))}
    expected = values(log_add, hard_mish).interpret(**given)
    named = values(ot.extend.operator(log_add), ot.extend.operator(hard_mish))
    for found in (named.interpret(**given), named.compile(verify=True)(**given)):
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-4)


def _second(slope: ot.Tensor, x: ot.Tensor) -> ot.Tensor:
    return ot.grad((slope[:] * slope[:]).sum(), x)


def test_an_operator_may_be_made_of_another_one() -> None:
    mish = ot.extend.operator(hard_mish)

    def twice(x: ot.Tensor) -> ot.Tensor:
        return mish(mish(x)) + 1.0

    x = ot.input("x", shape=(3,), over=t)

    def program(f: Callable[[ot.Tensor], ot.Tensor]) -> ot.Program:
        return ot.Program(y=f(x), slope=ot.grad(f(x)[:].sum(), x))

    given = np.random.default_rng(3).normal(size=(4, 3))
    expected = program(lambda x: hard_mish(hard_mish(x)) + 1.0).interpret(x=given)
    named = program(ot.extend.operator(twice))
    for found in (named.interpret(x=given), named.compile()(x=given)):
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6)


def test_an_operator_may_decide_and_may_be_masked() -> None:
    near = ot.extend.operator(is_near)
    x = ot.input("x", over=t)
    program = ot.Program(y=ot.where(near(x, 1.0), x, 0.0))
    given = [1.25, 1.5, np.nan, -np.inf]
    assert program.compile()(x=given)["y"].tolist() == [1.25, 0.0, 0.0, 0.0]
    assert program.interpret(x=given)["y"].tolist() == [1.25, 0.0, 0.0, 0.0]


def test_an_operator_takes_special_values_as_its_code_does() -> None:
    x = ot.input("x", over=t)
    given = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 3e38], "float32")
    program = ot.Program(y=ot.extend.operator(hard_mish)(x))
    expected = ot.Program(y=hard_mish(x)).interpret(x=given)["y"]
    np.testing.assert_array_equal(program.interpret(x=given)["y"], expected)
    np.testing.assert_array_equal(program.compile(exact=True)(x=given)["y"], expected)


def test_an_operator_on_integers_keeps_their_type() -> None:
    def twice_plus(x: ot.Tensor) -> ot.Tensor:
        return 2 * x + 1

    op = ot.extend.operator(twice_plus, accepts=("int32", "int64"))
    n = ot.input("n", dtype="int32", over=t)
    found = ot.Program(y=op(n)).compile()(n=[2**31 - 1, -3])["y"]
    assert found.dtype == np.int32 and found.tolist() == [-1, -5]


def test_the_cached_code_of_another_meaning_is_not_used() -> None:
    x = ot.input("x", over=t)

    def by(factor: float) -> float:
        def scaled(x: ot.Tensor) -> ot.Tensor:
            return x * factor

        out = ot.Program(y=ot.extend.operator(scaled)(x)).compile()(x=[1.0])["y"].item()
        del FUNCTIONS["scaled"]  # as in another process
        return float(out)

    assert [by(2.0), by(3.0)] == [2.0, 3.0]


def test_a_certificate_holds_for_a_program_with_an_operator(tmp_path: Path) -> None:
    x = ot.input("x", shape=(4,), over=t)
    program = ot.Program(y=ot.extend.operator(hard_mish)(x))
    program.compile().certificate(tmp_path / "certificate")
    assert ot.verify_certificate(tmp_path / "certificate", program).holds


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_a_fold_has_the_value_of_its_function(dtype: str) -> None:
    parity = ot.extend.fold("parity", "bitxor", unit=0, accepts=["int32", "int64", "uint32"])
    b, s = ot.dims("b s")
    x = ot.input("x", shape=(6,), dtype=dtype, over=(b, s))
    back = ot.maximum(s - 2, 0)
    program = ot.Program(
        past=parity(x[b, : s + 1], 0), rest=parity(x[b, s:], 0), some=parity(x[b, back : s + 1], 0),
        axis=parity(x, -1, keepdims=True), all=parity(x[:, :]), batch=parity(x[:, s], 0),
    )  # fmt: skip
    given = np.random.default_rng(2).integers(0, 2**31 - 1, (5, 37, 6)).astype(dtype)
    expected = program.interpret(x=given)
    for threads in (1, 2):
        found = program.compile(threads=threads, verify=True)(x=given)
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value)
    running = np.bitwise_xor.accumulate(given, axis=1)
    np.testing.assert_array_equal(expected["past"], running)


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a fold inside": (lambda: ot.extend.operator(_sums), "contains `reduce`"),
    "an index inside": (lambda: ot.extend.operator(_counts), "contains `affine`"),
    "an input inside": (lambda: ot.extend.operator(_reads), "contains `weight`"),
    "a size inside": (lambda: ot.extend.operator(_sized), "depends on the shape"),
    "an operand unused": (lambda: ot.extend.operator(_first), "does not use all of its operands"),
    "no tensor": (lambda: ot.extend.operator(_number), "returns float"),
    "a default": (
        lambda: ot.extend.operator(_scaled),
        "the operand `k` of `_scaled` has a default",
    ),
    "any number": (
        lambda: ot.extend.operator(_many),
        "the operand `xs` of `_many` is not one tensor",
    ),
    "a truth value": (
        lambda: ot.extend.operator(_decided),
        "an expression of `x` has no truth value",
    ),
    "three operands": (lambda: ot.extend.operator(_three), "of 3 operands"),
    "a name of ours": (lambda: ot.extend.operator(tanh), "`tanh` is an operator already"),
    "another type": (
        lambda: ot.extend.operator(_halved, accepts=("int32",)),
        "`_halved` gives float32 of int32",
    ),
    "no function": (lambda: ot.extend.fold("f", "bitxr", unit=0), "a fold repeats `bitxr`"),
    "no unit": (
        lambda: ot.extend.fold("f", "bitand", unit=0, accepts=["int32"]),
        "`bitand` with the unit 0 is no fold of int32",
    ),
    "order matters": (lambda: ot.extend.fold("f", "pow", unit=1), "a fold repeats `pow`"),
    "a unit inside of the range": (
        lambda: ot.extend.fold("f", "maximum", unit=-100, accepts=["int32"]),
        "`maximum` with the unit -100 is no fold of int32",
    ),
    "a unit above an infinity": (
        lambda: ot.extend.fold("f", "maximum", unit=-(2**31), accepts=["float32"]),
        "`maximum` with the unit -2147483648 is no fold of float32",
    ),
    "a fold of no type": (lambda: ot.extend.fold("f", "add", unit=0, accepts=[]), "no types"),
    "an operator of no type": (lambda: ot.extend.operator(_halved, accepts=()), "no types"),
    "a name with a blank": (lambda: ot.extend.fold("a b", "add", unit=0), "is called `a b`"),
    "an operator of other types": (
        lambda: ot.extend.operator(_lowest),
        "`_lowest` of float32: `&` of `x` (float32) and 1 (int32)\n"
        '  Name the types that it takes: operator(_lowest, accepts=["int32"]), say.',
    ),
    "a pass that returns nothing": (
        lambda: ot.extend.graph_pass(_nothing, "mine/none", "Nothing.", [_program()]),
        "the pass `mine/none` returns NoneType",
    ),
    "a pass that is tried on nothing": (
        lambda: ot.extend.graph_pass(lambda pdg: pdg, "mine/same", "Nothing.", []),
        "the pass `mine/same` is tried on no program",
    ),
    "a fold of ours": (
        lambda: ot.extend.fold("sum", "mul", unit=1),
        "`sum` is a fold already",
    ),
}


def _sums(x: ot.Tensor) -> ot.Tensor:
    return x / x.sum()


def _sized(x: ot.Tensor) -> ot.Tensor:
    return x * (1 + len(x.shape))


def _counts(x: ot.Tensor) -> ot.Tensor:
    return x * ot.index(t)


def _reads(x: ot.Tensor) -> ot.Tensor:
    return x * ot.input("weight")


def _lowest(x: ot.Tensor) -> ot.Tensor:
    return x & 1


def _nothing(pdg: Pdg) -> Pdg:
    return cast(Pdg, None)


def _program() -> ot.Program:
    return ot.Program(y=ot.input("x", over=t) * 2.0)


def _scaled(x: ot.Tensor, k: float = 2.0) -> ot.Tensor:
    return x * k


def _many(*xs: ot.Tensor) -> ot.Tensor:
    return xs[0]


def _decided(x: ot.Tensor) -> ot.Tensor:
    is_above: Any = x > 0
    return x if is_above else -x


def _first(x: ot.Tensor, y: ot.Tensor) -> ot.Tensor:
    return x + 1


def _number(x: ot.Tensor) -> Tensor:
    return cast(Tensor, 1.0)


def _three(x: ot.Tensor, y: ot.Tensor, z: ot.Tensor) -> ot.Tensor:
    return x + y + z


def _halved(x: ot.Tensor) -> ot.Tensor:
    return x / 2


def tanh(x: ot.Tensor) -> ot.Tensor:
    return x * 2


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_operator_fold_or_pass_is_refused(case: str) -> None:
    make, fact = REFUSED[case]
    with pytest.raises(ot.OstinatoError) as refused:
        make()
    assert fact in str(refused.value) and "test_extend.py:" in str(refused.value)


def test_a_pass_that_changes_what_an_output_is_is_refused() -> None:
    program = ot.Program(y=ot.input("x", shape=(3,), over=t))
    other = ot.Program(y=ot.input("x", shape=(3,), over=t).sum())
    with pytest.raises(ot.OstinatoError, match="changes the domain, the shape or the type of `y`"):
        ot.extend.graph_pass(lambda _: other.pdg, "mine/sum", "Sums.", [program])


def test_a_pass_needs_a_name_of_its_own() -> None:
    with pytest.raises(ot.OstinatoError, match="a pass is called `epilogues`"):
        ot.extend.graph_pass(lambda pdg: pdg, "epilogues", "Nothing.", [])


def test_a_certificate_says_that_added_passes_are_not_covered(tmp_path: Path) -> None:
    program = ot.Program(y=ot.input("x", over=t) * 2.0)
    ot.extend.graph_pass(lambda pdg: pdg, "mine/nothing", "Nothing.", [program])
    with pytest.raises(ot.OstinatoError, match="`mine/nothing`"):
        program.compile(certificate=tmp_path / "c.json")
    program.compile(certificate=tmp_path / "c.json", without="mine/nothing")

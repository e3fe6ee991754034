"""Every function with vector code is computed in the registers of a product that it follows."""

import numpy as np
import pytest

import ostinato as ot
from ostinato.codegen.cpu.step_expression import CODE
from ostinato.language.tensor import Tensor, elementwise
from ostinato.pdg.functions import FUNCTIONS

FLOAT = [f.name for f in FUNCTIONS.values() if f.name in CODE and "float32" in f.accepts]
RAW = np.random.default_rng(3)
X = RAW.uniform(0.2, 1.0, (12, 16)).astype("float32")
W = RAW.uniform(0.01, 0.15, (16, 24)).astype("float32")


def applied(fn: str, z: Tensor) -> Tensor:
    function = FUNCTIONS[fn]
    if fn == "where":
        return ot.where(z > 0.5, z, -1.0)
    out = elementwise(fn, *[z, 1.5][: function.arity])
    return ot.where(out, z, -1.0) if function.result == "bool" else out


@pytest.mark.parametrize("fn", FLOAT)
def test_a_function_of_a_product_is_its_epilogue(fn: str) -> None:
    x, w = ot.input("x", shape=X.shape), ot.input("w", shape=W.shape)
    program = ot.Program(y=applied(fn, x @ w))
    compiled = program.compile(threads=1)
    assert f"('{fn}', " in compiled.explain().source
    found = compiled(x=X, w=W)["y"]
    np.testing.assert_allclose(found, program.interpret(x=X, w=W)["y"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("approximate", [True, False])
def test_gelu_is_an_epilogue(approximate: bool) -> None:
    x, w = ot.input("x", shape=X.shape), ot.input("w", shape=W.shape)
    program = ot.Program(y=ot.gelu(x @ w - 0.5, approximate))
    compiled = program.compile(threads=1)
    assert f"('{'tanh' if approximate else 'erfc'}', " in compiled.explain().source
    found = compiled(x=X, w=W)["y"]
    np.testing.assert_allclose(found, program.interpret(x=X, w=W)["y"], rtol=1e-5, atol=1e-6)

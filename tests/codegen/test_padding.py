"""Outputs whose shape depends on the point."""

from dataclasses import replace

import numpy as np

from ostinato.codegen.ir.system import Axis
from ostinato.pdg.index import Dim, expr
from tests.codegen.builder import Builder, number
from tests.codegen.compare import assert_right
from tests.codegen.executor import execute
from tests.codegen.on_cpu import plan


def futures() -> Builder:
    """``y[b, t] = x[b, t:]``."""
    p = Builder("b t", {})
    t, k = p.d["t"], Dim("k")
    p.add("x", "b t", "", number(p.d["b"]) + number(t))
    p.add("y", "b t", "", p("x", t=expr(t) + k))
    y = p.statements["y"]
    p.statements["y"] = replace(y, axes=(Axis(k, expr(t.extent) - t, expr(t.extent)),))
    p.outputs = ["y"]
    return p


def test_a_ragged_output_is_right() -> None:
    assert_right(futures(), {"B": 5, "T": 4}, {"b": 2})


def test_what_lies_outside_the_shape_is_zero() -> None:
    system = futures().system()
    found = execute(plan(system, {"b": 2}), {"B": 3, "T": 4}, {})["y"]
    assert found[1, 2].tolist() == [3.0, 4.0, 0.0, 0.0]
    assert not np.isnan(found).any()

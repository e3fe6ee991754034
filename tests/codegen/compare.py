"""Plans against definitions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ostinato.codegen.ir.system import System
from ostinato.codegen.ir.tree import Contraction, DriverLoop, Leaf, Loop, Step, Tree, leaves
from ostinato.codegen.planning.plan import Plan
from tests.codegen.builder import Builder
from tests.codegen.executor import execute
from tests.codegen.judge import Arrays, Judge
from tests.codegen.on_cpu import plan

TOLERANCE = 1e-9  # both sides compute in float64; only the order of sums differs


def assert_computes(
    system: System, sizes: Mapping[str, int], arrays: Arrays, planned: Plan, seed: int = 0
) -> None:
    """Every output equals its definition, for one to three workers in random order."""
    judge = Judge(system, sizes, arrays)
    expected = {name: judge.output(name) for name in system.outputs}
    for workers in (1, 2, 3):
        found = execute(planned, sizes, arrays, workers, seed)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, TOLERANCE, TOLERANCE, err_msg=name)


def assert_right(
    p: Builder, sizes: Mapping[str, int], widths: Mapping[str, int] | None = None
) -> Plan:
    """Plan a built system and check its outputs."""
    system = p.system()
    planned = plan(system, widths)
    assert_computes(system, sizes, p.arrays, planned)
    return planned


def all_leaves(planned: Plan) -> list[Leaf]:
    return [leaf for kernel in planned.kernels for leaf, _, _ in leaves(kernel.body)]


def contraction(planned: Plan, name: str) -> Contraction:
    found = [x for x in all_leaves(planned) if isinstance(x, Contraction)]
    return next(x for x in found if x.statement == name)


def driver_loops(steps: tuple[Step, ...]) -> list[DriverLoop]:
    here = [s for s in steps if isinstance(s, DriverLoop)]
    return here + [inner for loop in here for inner in driver_loops(loop.body)]


def loops(trees: tuple[Tree, ...]) -> list[Loop]:
    here = [t for t in trees if isinstance(t, Loop)]
    return here + [inner for loop in here for inner in loops(loop.body)]

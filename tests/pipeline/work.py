"""How much work a plan does at given extents, counted by walking its loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import ostinato as ot
from ostinato.codegen.ir.system import Axis
from ostinato.codegen.ir.tree import (
    Barrier,
    Call,
    Calling,
    Contraction,
    DriverLoop,
    Fill,
    Loop,
    Nest,
    Span,
    Step,
    Sweep,
    Tree,
)
from ostinato.codegen.planning.plan import Plan
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import optimize_pdg, plan_of
from ostinato.pdg.index import Dim, Extent, evaluate

Point = dict[Dim | Extent, int]


@dataclass(frozen=True)
class Work:
    """``leaves``: nests and products that start; ``elements``: values that they compute."""

    leaves: int = 0
    elements: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(self.leaves + other.leaves, self.elements + other.elements)


def work(program: ot.Program, without: Sequence[str] = (), **extents: int) -> Work:
    """Count what the program compiled for these extents would run, without running it."""
    rules = ot.rules.without(*without)
    options = Options(threads=1, hints=extents)
    plan, _ = plan_of(optimize_pdg(program.pdg, rules, options), options)
    return _steps(plan, plan.driver, {Extent(name): n for name, n in extents.items()})


def _span(span: Span, point: Point) -> range:
    return range(evaluate(span.lo, point), evaluate(span.hi, point))


def _steps(plan: Plan, steps: Sequence[Step], point: Point) -> Work:
    total = Work()
    for step in steps:
        match step:
            case Barrier():
                pass
            case DriverLoop(span, _, _, body):
                for k in _span(span, point):
                    total += _steps(plan, body, {**point, span.dim: k})
            case Call(number):
                kernel = plan.kernels[number]
                tiles = kernel.parallel
                for k in (0,) if tiles is None else _span(tiles, point):
                    bound = point if tiles is None else {**point, tiles.dim: k}
                    total += _trees(plan, kernel.body, bound)
            case other:
                assert_never(other)
    return total


def _trees(plan: Plan, trees: Sequence[Tree], point: Point) -> Work:
    total = Work()
    for tree in trees:
        match tree:
            case Loop(span, _, _, body):
                for k in _span(span, point):
                    total += _trees(plan, body, {**point, span.dim: k})
            case Nest(statements, axes):
                total += Work(1, len(statements) * _positions(axes, point))
            case Contraction(_, m, n, k, outer):
                found = tuple(a for a in (m, n, k) if a is not None)
                total += Work(1, _positions((*outer, *found), point))
            case Sweep(name):
                total += Work(1, _positions(plan.statements[name].result_axes, point))
            case Fill() | Calling():
                total += Work(1, 0)
            case other:
                assert_never(other)
    return total


def _positions(axes: Sequence[Axis], point: Point) -> int:
    return math.prod(evaluate(a.size, point) for a in axes)

"""Programs of users run by the interpreter of the loop IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy.typing as npt

import ostinato as ot
from ostinato.certificate.loop_runs import run_loops
from ostinato.certificate.machine import Emission, emission_of
from ostinato.codegen.loops.statements import Function
from ostinato.codegen.planning.plan import Plan
from ostinato.compiler.options import options_from
from ostinato.compiler.pipeline import optimize_pdg, plan_of
from ostinato.pdg.half_storage import encoded
from ostinato.rewrite.registry import RuleSet
from ostinato.runtime.run.execution import Bound

Arrays = Mapping[str, npt.NDArray[Any]]


def planned(
    program: ot.Program, rules: RuleSet | None = None, **options: Any
) -> tuple[Plan, Arrays]:
    chosen = options_from(options, program.pdg)
    return plan_of(optimize_pdg(encoded(program.pdg), rules, chosen), chosen)


def emission(program: ot.Program, rules: RuleSet | None = None, **options: Any) -> Emission:
    """What emission makes of a program."""
    plan, constants = planned(program, rules, **options)
    return emission_of(program.pdg, plan, constants)


def interpreted(
    program: ot.Program,
    workers: int = 2,
    seed: int = 0,
    change: Callable[[Sequence[Function]], Sequence[Function]] = tuple,
    **arguments: Any,
) -> dict[str, npt.NDArray[Any]]:
    """The outputs of a program as its loop IR has them, or as it has them after a ``change``."""
    made = emission(program, threads=workers)
    altered = replace(made, functions=tuple(change(made.functions)))
    return run_loops(altered, bound(program, {**arguments, "seed": seed}), workers, seed)


def bound(program: ot.Program, given: Mapping[str, Any]) -> Bound:
    """The arguments of a run, and the functions that it calls."""
    found = program.signature.bind(given)
    return Bound(found.extents, found.inputs, found.seed, program.hosts)

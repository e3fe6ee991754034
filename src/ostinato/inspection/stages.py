"""A program as some rules make it, down to the plan, without machine code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ostinato.codegen.cost.estimate import Estimate, estimate
from ostinato.codegen.ir.system import System
from ostinato.codegen.planning.arena import layout
from ostinato.codegen.planning.planned import Plan
from ostinato.compiler.experiment import Experiment, parted
from ostinato.compiler.options import Options, options_from, typical_extents
from ostinato.compiler.pipeline import optimize_pdg, scheduled, system_of
from ostinato.compiler.program import Program
from ostinato.machine.profile_store import profile_in_use
from ostinato.pdg.errors import CycleError, OptionError
from ostinato.pdg.half_storage import encoded
from ostinato.pdg.node import Pdg
from ostinato.provenance.place import place
from ostinato.rewrite.optimize import Optimized
from ostinato.rewrite.registry import RuleSet
from ostinato.runtime.run.cores import available_cores


@dataclass(frozen=True)
class Subject:
    """A program and the extents that its predictions are for."""

    pdg: Pdg
    hints: Mapping[str, int]

    @property
    def options(self) -> Options:
        try:
            chosen = options_from({"hints": self.hints}, self.pdg)
        except OptionError as error:
            raise error.at(place()) from None
        return replace(chosen, profile=profile_in_use())

    @property
    def extents(self) -> dict[str, int]:
        """A size for every extent: a hint, or the typical one."""
        return typical_extents(self.pdg, self.hints)


@dataclass(frozen=True)
class Form:
    """The program that rules make: rewritten, lowered, and scheduled if there is an order."""

    optimized: Optimized
    system: System
    plan: Plan | None = None
    predicted: Estimate | None = None
    peak_bytes: int | None = None

    @property
    def price_ns(self) -> float | None:
        return self.predicted.total if self.predicted else None


def subject(made: Program | Experiment, hints: Mapping[str, int] | None = None) -> Subject:
    """What to look at; the arguments of an experiment are its extents.

    Errors: OptionError for a hint that is no extent of the program.
    """
    program, given = parted(made)
    known = {n: v for n, v in given.items() if isinstance(v, int) and n in program.extents}
    found = Subject(program.pdg, {**known, **(hints or {})})
    assert found.options.hints == found.hints, "options are the given ones"
    return found


def rewritten(about: Subject, rules: RuleSet) -> Optimized:
    """The program that rules make."""
    return optimize_pdg(encoded(about.pdg), rules, about.options)


def form_of(about: Subject, rules: RuleSet) -> Form:
    """The program that rules make, with the plan of its kernels and memory."""
    optimized = rewritten(about, rules)
    system = system_of(optimized, about.options)
    try:
        plan, _ = scheduled(system, about.options)
    except CycleError:
        return Form(optimized, system)
    workers, profile = available_cores(), about.options.profile
    assert profile is not None, "options name the profile in use"
    predicted = estimate(plan, profile, about.extents, workers)
    peak_bytes = layout(plan, about.extents, workers).total_bytes
    return Form(optimized, system, plan, predicted, peak_bytes)

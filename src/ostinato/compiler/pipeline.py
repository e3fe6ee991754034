"""The stages of the compiler, each a function of the one before: rewrite, lower, plan, emit."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ostinato.compiler.arguments import signature
from ostinato.compiler.garbage import seldom_collecting
from ostinato.compiler.options import Options, target_of, typical_extents
from ostinato.compiler.variants import short_names
from ostinato.machine.cost_model import CostModel
from ostinato.machine.profile import Profile
from ostinato.pdg.errors import DomainError, OptionError, OstinatoError, ShapeError
from ostinato.pdg.expansion import expanded
from ostinato.pdg.functions import HALVES, Array
from ostinato.pdg.half_storage import encoded
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.invariants import debug
from ostinato.pdg.node import Input, Node, Pdg
from ostinato.pdg.pass_record import with_added
from ostinato.pdg.upper_bound import upper_bound
from ostinato.runtime.machine_code.compiling import short_turns
from ostinato.runtime.machine_code.piecewise import Making
from ostinato.runtime.machine_code.ports import Interface, Paused, Profiled, Units
from ostinato.runtime.run.arrays import tile_counts
from ostinato.runtime.run.artifact import Artifact, Place, PlaceStream, Price, Words
from ostinato.runtime.run.cores import available_cores
from ostinato.runtime.run.explanation import Explanation

if TYPE_CHECKING:
    from ostinato.codegen.ir.system import System
    from ostinato.codegen.loops.statements import Function
    from ostinato.codegen.planning.planned import Plan
    from ostinato.codegen.target import Target
    from ostinato.compiler.forms import Room, Taken
    from ostinato.rewrite.optimize import Optimized, Rewriting
    from ostinato.rewrite.registry import RuleSet

REWRITING = "ostinato.rewrite.optimize"
STAGES = (  # what follows rewriting
    "ostinato.codegen.planning.within_limit",
    "ostinato.codegen.lowering.lower",
    "ostinato.codegen.lowering.prove_bounds",
    "ostinato.codegen.planning.arena",
    "ostinato.codegen.emit.generated_module",
    "ostinato.codegen.cost.estimate",
)


def build(
    pdg: Pdg,
    rules: RuleSet | None,
    options: Options,
    making: Making | None = None,
    look: Callable[[Price, Place], None] | None = None,
) -> Artifact:
    """Run every stage of the compiler; ``making`` compiles functions while others are emitted.

    ``look`` is shown what the plan takes before it is emitted, and may refuse it.
    """
    started = time.perf_counter()
    importlib.import_module(REWRITING)
    with seldom_collecting(), short_turns():
        given = options.passes.made("halves", encoded(with_added(pdg, options.passes)))
        optimized = _chosen(given, rules, options)
        rewrite_s = time.perf_counter() - started
        try:
            made: Artifact | Exception = assemble(pdg, optimized, options, rewrite_s, making, look)
        except Exception as failure:  # an undefined program may fail in any stage
            made = failure
        problem = _undefined(optimized, pdg)  # while other processes compile
        if problem is not None:
            written = _as_written(given, options, problem)
            return assemble(pdg, written, options, rewrite_s, making, look)
        if isinstance(made, Exception):
            raise made
        return made


def _import_stages(options: Options) -> None:
    """Import what comes after rewriting, while the engine of the rules leaves Python free."""
    for name in STAGES:
        importlib.import_module(name)
    target_of(options.target).writer()


def assemble(
    pdg: Pdg,
    optimized: Optimized,
    options: Options,
    rewrite_s: float,
    making: Making | None = None,
    look: Callable[[Price, Place], None] | None = None,
) -> Artifact:
    """Run the stages after rewriting, which took ``rewrite_s``."""
    from ostinato.codegen.cost.estimate import predicted
    from ostinato.codegen.emit.driver import WORDS
    from ostinato.codegen.emit.interface import interface
    from ostinato.compiler.kernel_records import Records, shares
    from ostinato.provenance.operations import operations

    profile, rewritten = options.profile or Profile(), time.perf_counter()
    system = system_of(optimized, options)
    plan, constants = scheduled(system, options)
    price, (place, place_stream) = partial(predicted, plan, profile), _places(plan, options)
    if look is not None:
        look(price, place)
    planned = time.perf_counter()
    _require_possible(system, options)
    source, texts, units = _emitted(plan, options, making)
    serving = shares(optimized.pdg, system, operations(pdg), CostModel(profile))
    _show(optimized, source)
    times = {"rewrite_s": rewrite_s, "schedule_s": planned - rewritten}
    times["emit_s"] = time.perf_counter() - planned
    return Artifact(
        source=source,
        units=units,
        interface=in_types_of(pdg, interface(plan)),
        place=place,
        place_stream=place_stream,
        price=price,
        records=Records(plan, profile, serving),
        profiled=partial(_profiled, plan),
        paused=partial(_paused, plan, {n: e.rec.shape for n, e in pdg.equations.items()}),
        constants=constants,
        domains={name: tuple(d.name for d in node.domain) for name, node in pdg.outputs},
        shapes={name: whole_shape(node) for name, node in pdg.outputs},
        varying={name: x.shape for name, x in pdg.outputs if any(each.dims for each in x.shape)},
        lines={name: node.where for name, node in pdg.outputs},
        words=Words(*WORDS),
        memory_limit=options.memory_limit,
        explanation=_explanation(optimized, plan, source, texts, times, profile),
        short={} if options.exact else short_names(plan.short, target_of(options.target)),
    )


def _places(plan: Plan, options: Options) -> tuple[Place, PlaceStream]:
    """What finds the places of all tensors for a call, and for a stream."""
    from ostinato.codegen.emit.carried_tensors import windows
    from ostinato.codegen.planning.arena import Streamed, layout

    most = options.memory_limit * options.spill
    whole = partial(layout, plan, most_in_memory=most)
    return whole, Streamed(plan, windows(plan), options.memory_limit, most)


def _show(optimized: Optimized, source: str) -> None:
    """Print what was asked for while debugging."""
    if debug().rules:
        print(optimized.report, file=sys.stderr)
    if debug().source:
        print(source, file=sys.stderr)


def _require_possible(system: System, options: Options) -> None:
    """Refuse what the code of a target cannot do."""
    target = target_of(options.target)
    if options.does_check("addresses") and not target.checks_addresses:
        fact = f'`checks` has "addresses", and target={options.target!r} checks none'
        raise OptionError(fact, 'Leave it out, or compile with target="cpu".')
    if target.calls_python:
        return
    for s in system.statements.values():
        if s.host is not None:
            fact = f"`{s.host.fn}` is a Python function, and target={options.target!r} calls none"
            raise OptionError(fact, 'Write it as equations, or compile with target="cpu".', s.where)


def _emitted(
    plan: Plan, options: Options, making: Making | None
) -> tuple[str, tuple[str, ...], Units]:
    """The source of a plan, that of each function, and what writes these as LLVM.

    ``making`` gets functions as they come.
    """
    from ostinato.codegen.emit.generated_module import STAMPS, Written, functions, printed

    made: list[Function] = []
    write = plan.target.writer()
    for function in functions(plan):
        made.append(function)
        if making is not None:
            making.add(write((function,)))
    if options.verify:
        from ostinato.codegen.loops.checker import check
        from ostinato.codegen.loops.expression import SUFFIX

        check(made, plan.target.names() | {*SUFFIX.values(), *STAMPS})
    whole = options.passes.made("loop IR", tuple(made))
    later = options.passes.made("LLVM", Written(plan, whole))
    texts = tuple(map(plan.target.text, whole))
    return printed(plan, whole, texts), texts, later


def _profiled(plan: Plan) -> Profiled:
    """The driver that stamps the time: it is emitted when a run is measured."""
    from ostinato.codegen.emit.generated_module import emit_profiled

    return emit_profiled(plan)


def _paused(plan: Plan, shapes: Mapping[str, tuple[Expr, ...]]) -> Paused:
    """The driver that runs in parts: it is emitted when a state is taken, or given."""
    from ostinato.codegen.emit.generated_module import emit_paused

    return emit_paused(plan, shapes)


def in_types_of(pdg: Pdg, found: Interface) -> Interface:
    """The interface with the types that the user declared: machine code has the bits of halves."""
    halves = {name: node.dtype for name, node in pdg.outputs if node.dtype in HALVES}
    inputs = {
        n.op.name: n.dtype for n in pdg.nodes() if isinstance(n.op, Input) and n.dtype in HALVES
    }
    if not halves and not inputs:
        return found
    return replace(
        found,
        inputs=tuple(replace(f, dtype=inputs.get(f.name, f.dtype)) for f in found.inputs),
        outputs=tuple(replace(f, dtype=halves.get(f.name, f.dtype)) for f in found.outputs),
    )


def whole_shape(node: Node) -> tuple[Expr, ...]:
    """Extents of the domain, then the shape; an axis that varies with the point at its longest."""
    return (*(expr(d.extent) for d in node.domain), *map(upper_bound, node.shape))


def _explanation(
    optimized: Optimized,
    plan: Plan,
    source: str,
    texts: tuple[str, ...],
    times: Mapping[str, float],
    profile: Profile,
) -> Explanation:
    from ostinato.codegen.planning.show import show_plan

    return Explanation(
        rules=optimized.report.rules,
        kernels=texts,
        schedule=show_plan(plan),
        source=source,
        cost={"rewritten_ns": optimized.report.price_after, **times},
        forms=optimized.times,
        passed_over=(*optimized.passed_over, *plan.passed_over),
        profile=profile.name,
        notes=_notes(optimized),
        without=tuple(sorted(plan.without)),
    )


def _notes(optimized: Optimized) -> tuple[str, ...]:
    """What rewriting could not do: no slower program without a word."""
    report = optimized.report
    notes: list[str] = []
    if report.left:
        notes.append(f"rewriting left a part of the program as it is written: {report.left}")
    if not report.saturation.complete:
        notes.append(f"rewriting stopped before it had tried everything: {report.saturation}")
    if report.search:
        notes.append(f"choosing stopped before it had tried everything: {report.search}")
    notes += [f"a rule without a proof was used: {rule}" for rule in report.unproved]
    return tuple(notes)


def optimize_pdg(pdg: Pdg, rules: RuleSet | None, options: Options) -> Optimized:
    """Rewrite a program and prove that the result is still defined everywhere it is demanded.

    One that is not proved to be stays as it is written: what rules lift out of a loop is computed
    where the loop has no steps, too.
    """
    optimized = _chosen(pdg, rules, options)
    problem = _undefined(optimized, pdg)
    return optimized if problem is None else _as_written(pdg, options, problem)


def _undefined(optimized: Optimized, given: Pdg) -> OstinatoError | None:
    """Where a rewritten program may be undefined."""
    from ostinato.pdg.demand.check import check

    try:
        check(optimized.pdg, given.minimum_extents, is_rewritten=True)
    except (DomainError, ShapeError) as problem:
        return problem
    return None


def _as_written(pdg: Pdg, options: Options, problem: OstinatoError) -> Optimized:
    """A program without rewriting, and why.

    Errors: DomainError or ShapeError if it is not defined either.
    """
    from ostinato.rewrite.registry import RuleSet

    found = _chosen(pdg, RuleSet(()), options)
    if (again := _undefined(found, pdg)) is not None:
        raise again
    left = f"the faster form is not proved to be defined: {problem.fact}"
    return replace(found, report=replace(found.report, left=left))


def rewriting(pdg: Pdg, rules: RuleSet | None, options: Options) -> Rewriting:
    """The forms of a program."""
    from ostinato.rewrite.optimize import RewriteOptions, Rewriting
    from ostinato.rewrite.registry import every_rule

    chosen = rules if rules is not None else every_rule()
    chosen = chosen.exact() if options.exact else chosen
    passes, profile = options.passes, options.profile or Profile()
    later = partial(_import_stages, options)
    asked = RewriteOptions(chosen, options.hints, profile=profile, meanwhile=later, passes=passes)
    return Rewriting(pdg, asked)


def _chosen(pdg: Pdg, rules: RuleSet | None, options: Options) -> Optimized:
    """The form of a program that is predicted to be the fastest of those that fit."""
    forms = rewriting(pdg, rules, options)
    optimized = _usual(forms, pdg, options)
    if options.memory_limit:
        from ostinato.compiler.forms import fitting

        optimized = fitting(forms, optimized, room_of(pdg, options))
    if options.verify:
        from ostinato.pdg.invariants import verify

        verify(optimized.pdg)
    return optimized


def _usual(forms: Rewriting, pdg: Pdg, options: Options) -> Optimized:
    """The form that is predicted to be the fastest without a limit of memory."""
    if set(signature(pdg).extents) - options.hints.keys():
        return forms.best()  # a form that is fast at one size only would be a gamble
    if options.by_extents or "forms" in options.passes.without:
        return forms.best()
    from ostinato.compiler.forms import fastest

    unlimited = replace(options, memory_limit=0, spill=False)
    extents = typical_extents(pdg, options.hints)
    return fastest(forms, partial(_predicted_ns, options=unlimited, extents=extents))


def room_of(pdg: Pdg, options: Options) -> Room:
    """The memory that the forms of a program may take."""
    from ostinato.compiler.forms import Room, has_free_order

    takes = partial(taken, options=options, known=[])
    keeps_form = options.exact and any(map(has_free_order, pdg.nodes()))
    return Room(options.memory_limit, options.hints, takes, keeps_form)


def _planned_ns(plan: Plan, extents: Mapping[str, int], options: Options) -> float:
    """The time of a plan by its schedule."""
    from ostinato.codegen.cost.estimate import estimate

    workers = _workers(plan, extents, options)
    return estimate(plan, options.profile or Profile(), extents, workers).total


Known = list[tuple[Pdg, "Taken"]]


def taken(optimized: Optimized, options: Options, known: Known | None = None) -> Taken:
    """The arena and the time of a form at the hinted extents; prices often choose a known one."""
    for pdg, found in known or ():
        if pdg == optimized.pdg:
            return found
    found = _taken_anew(optimized, options)
    if known is not None:
        known.append((optimized.pdg, found))
    return found


def _taken_anew(optimized: Optimized, options: Options) -> Taken:
    from ostinato.codegen.planning.arena import largest, layout
    from ostinato.compiler.forms import Taken

    plan, _ = plan_of(optimized, options)
    workers = _workers(plan, options.hints, options)
    spilled = options.memory_limit * options.spill
    total = layout(plan, options.hints, workers, spilled).peak_bytes
    name, size = largest(plan, options.hints, workers)
    s = plan.statements[name]
    kind = "the argument " if s.kind == "input" else ""
    told = f"{kind}`{s.label or name}`{f' ({s.where})' if s.where else ''} alone takes {size:,}"
    return Taken(total, _planned_ns(plan, options.hints, options), told, plan.changes)


def _predicted_ns(optimized: Optimized, options: Options, extents: Mapping[str, int]) -> float:
    """The time of a form by its schedule."""
    plan, _ = plan_of(optimized, options)
    return _planned_ns(plan, extents, options)


def _workers(plan: Plan, extents: Mapping[str, int], options: Options) -> int:
    """How many workers run a plan: never more than it has tiles."""
    from ostinato.codegen.emit.interface import interface

    most = max([1, *tile_counts(interface(plan).tiles, extents)])
    return min(available_workers(options), most)


def available_workers(options: Options) -> int:
    """The workers that run a program with enough to do."""
    return options.threads or target_of(options.target).workers(available_cores())


class Rewritten(Protocol):
    """A program, the dimensions that became axes of its recurrences, and `separate_dims`."""

    @property
    def pdg(self) -> Pdg: ...
    @property
    def batched(self) -> dict[str, tuple[Dim, ...]]: ...
    @property
    def separate(self) -> tuple[Dim, ...]: ...


def system_of(optimized: Rewritten, options: Options) -> System:
    """Lower a rewritten program."""
    pdg = expanded(optimized.pdg)
    system = _lowered(pdg, optimized, options)
    if any(load.clamp for s in system.statements.values() for load in s.reads):
        from ostinato.pdg.demand.inside import inside

        within = inside(pdg)  # rules read combinators outside their box, where they have a unit
        if within is not pdg:
            pdg = options.passes.made("outside reads", within)
            system = _lowered(pdg, optimized, options)
    return system


def _lowered(pdg: Pdg, optimized: Rewritten, options: Options) -> System:
    from ostinato.codegen.lowering.lower import lower
    from ostinato.codegen.lowering.prove_bounds import prove_bounds, require_limits

    made = options.passes.made
    system = made("equations", lower(pdg, optimized.batched, options.hints, optimized.separate))
    system = made("limits of words", require_limits(system))
    return made("bounds", prove_bounds(system, pdg.minimum_extents))


def plan_of(optimized: Rewritten, options: Options) -> tuple[Plan, dict[str, Array]]:
    """Lower and schedule a rewritten program; also the values of its literal arrays."""
    return scheduled(system_of(optimized, options), options)


def machine_workers(target: Target) -> int:
    """The workers that a variant is made for, whatever the number of threads."""
    return min(target.usual_workers, target.workers(os.cpu_count() or 1))


def scheduled(system: System, options: Options) -> tuple[Plan, dict[str, Array]]:
    """Schedule a system; also the values of its literal arrays."""
    import numpy as np

    from ostinato.codegen.planning.plan import PlanOptions
    from ostinato.codegen.planning.within_limit import Room, fitted

    target = target_of(options.target).adding(options.exact)
    workers = machine_workers(target) if options.by_extents else available_workers(options)
    half = options.storage if options.storage in HALVES else None
    room = Room(
        options.memory_limit,
        options.hints,
        partial(_workers, options=options),
        half,
        partial(_planned_ns, options=options),
        options.spill,
    )
    how = options.exact, options.passes, options.verify, options.streamed
    chosen = PlanOptions(target, options.widths, workers, *how)
    planned = fitted(system, chosen, room)
    constants: dict[str, Array] = {}
    for argument, name in system.inputs.items():
        if name in system.constants:
            statement = system.statements[name]
            shape = tuple(axis.size.as_int() for axis in statement.axes)
            values = np.array(system.constants[name], statement.dtype)
            constants[argument] = values.reshape(shape)
    checked = options.does_check("addresses")
    return replace(planned, checked=checked, spills=options.spill), constants

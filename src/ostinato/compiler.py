"""The whole way from a program to machine code, and the object that runs it.

Each stage is a function of the one before: check, rewrite, lower, plan, emit. The result is an
artifact that a later process loads by content, without any of the stages.
"""

from __future__ import annotations

import hashlib
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache as cached
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from ostinato.arguments import Arguments, Signature, signature
from ostinato.codegen.cpu import prelude
from ostinato.dims import is_integer
from ostinato.machine.profile import Profile
from ostinato.machine.stored import profile_in_use
from ostinato.pdg.claims import Claim
from ostinato.pdg.errors import ArgumentError, CycleError, OptionError, guess
from ostinato.pdg.fingerprint import fingerprint, spell
from ostinato.pdg.functions import HALVES, Array
from ostinato.pdg.half import encoded
from ostinato.pdg.index import Dim, Expr, expr, upper_bound
from ostinato.pdg.node import UNSEEN, Input, Node, Pdg
from ostinato.place import calling_place
from ostinato.remarks import left_out
from ostinato.results import Beside, Results
from ostinato.rewrite.registry import RuleSet
from ostinato.runtime import cache
from ostinato.runtime.arrays import tile_counts
from ostinato.runtime.artifact import Artifact
from ostinato.runtime.executor import Bound, Executable
from ostinato.runtime.explain import Drawn, Explanation
from ostinato.runtime.stream import Stream
from ostinato.runtime.workers import available_cores
from ostinato.switches import debug

if TYPE_CHECKING:
    from ostinato.codegen.emit.interface import Interface
    from ostinato.codegen.plan import Plan
    from ostinato.codegen.system import System
    from ostinato.dims import Dimension
    from ostinato.rewrite.optimize import Optimized

TARGETS = ("cpu",)


@dataclass(frozen=True)
class Options:
    """What a user may choose of a compilation; a result changes by rounding only."""

    threads: int = 0  # workers; 0 means every core this process may use
    hints: Mapping[str, int] = field(default_factory=dict[str, int])  # typical extents, for costs
    widths: Mapping[str, int] = field(default_factory=dict[str, int])  # rows per tile, by dim
    verify: bool = False  # check every invariant after every stage
    checks: bool = False  # check computed steps and positions against their range in every run
    profile: Profile | None = None  # what work takes; None: `ostinato.machine.stored.current`
    exact: bool = False  # only rules that keep every bit, and no operation that rounds otherwise
    memory_limit: int = 0  # bytes of the arena, at the hinted extents and in every run; 0: none


def options_from(given: Mapping[str, Any], pdg: Pdg) -> Options:
    """Return the record of the given options for a program.

    Errors: OptionError for an unknown option, dimension or extent, with the closest known one, and
    for a value of the wrong kind.
    """
    known = [f.name for f in fields(Options)]
    for name in given:
        _require_known(name, known, "option of compile", "Options")
    threads = given.get("threads", 0)
    if not is_integer(threads) or threads < 0:
        remedy = "Pass a number of threads, or 0 for every core."
        raise OptionError(f"`threads` is {threads!r}", remedy)
    for name in ("verify", "checks", "exact"):
        if not isinstance(given.get(name, False), bool):
            raise OptionError(f"`{name}` is {given[name]!r}", "Pass True or False.")
    extents = signature(pdg).extents
    _require_counts("hints", given.get("hints", {}), extents, "extent")
    _require_counts("widths", given.get("widths", {}), [d.name for d in pdg.dims()], "dimension")
    _check_limit(given.get("memory_limit", 0), given.get("hints", {}), extents)
    if not isinstance(given.get("profile"), Profile | None):
        remedy = "Leave it out: the profile of this machine is found by itself."
        raise OptionError(f"`profile` is {given['profile']!r}", remedy)
    return Options(**given)


def _check_limit(limit: object, hints: Mapping[str, int], extents: Sequence[str]) -> None:
    """Refuse a limit that is no number of bytes, or is without the sizes that it is for."""
    if not is_integer(limit) or limit < 0:
        raise OptionError(f"`memory_limit` is {limit!r}", "Pass a number of bytes.")
    missing = [name for name in extents if name not in hints]
    if limit and missing:
        example = ", ".join(f"{name}=100" for name in missing)
        fact = f"`memory_limit` is given without a size for `{missing[0]}`"
        raise OptionError(fact, f"Say for which extents it holds: hints=dict({example}).")


def _require_counts(option: str, given: object, known: Sequence[str], what: str) -> None:
    """Refuse an option that is no mapping from known names to positive integers."""
    if not isinstance(given, Mapping):
        remedy = f"Pass a dictionary from {what} names to integers."
        raise OptionError(f"`{option}` is {given!r}", remedy)
    for name, size in cast(Mapping[str, object], given).items():
        _require_known(name, known, f"{what} of the program, but `{option}` has it", f"{what}s")
        if not is_integer(size) or size < 1:
            raise OptionError(f"`{option}` has {size!r} for `{name}`", "Pass a positive integer.")


def _require_known(name: str, known: Sequence[str], what: str, several: str) -> None:
    if name not in known:
        remedy = f"{guess(name, known)}{several.capitalize()}: {', '.join(known)}."
        raise OptionError(f"`{name}` is no {what}", remedy)


@dataclass(frozen=True)
class Request:
    """What was compiled: a program, the rules that could be used (None: all), and the options."""

    pdg: Pdg
    rules: RuleSet | None
    options: Options


class Compiled:
    """A program as machine code, for any extents.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> x = ot.input("x", over=t)
    >>> run = ot.Program(total=x[: t + 1].sum(0)).compile()
    >>> run(x=[1.0, 2.0, 3.0])["total"].tolist()
    [1.0, 3.0, 6.0]
    """

    def __init__(
        self, executable: Executable, takes: Signature, beside: Beside, request: Request
    ) -> None:
        self.executable, self._signature, self._beside = executable, takes, beside
        self._request = request

    def __call__(self, check_finite: object = False, **arguments: object) -> Results:
        """Return every output, shaped (extents of its domain in declaration order, then shape).

        A true ``check_finite`` looks for NaN and infinities.
        Errors: ArgumentError; NonFiniteError with ``check_finite``.
        """
        found = self.executable.run(self._bind(arguments, calling_place()), bool(check_finite))
        return Results(found, self._beside.lengths)

    def stream(
        self, over: Dimension | str, check_finite: object = False, **arguments: object
    ) -> Stream:
        """Run and yield one record per step of the outermost dim, while it runs.

        Errors: ArgumentError; NonFiniteError with ``check_finite``, at the first bad step.
        """
        dim, where = over if isinstance(over, str) else over.name, calling_place()
        domains = self.executable.artifact.domains
        domains = {n: dims for n, dims in domains.items() if not n.startswith(UNSEEN)}
        if not any(dims[:1] == (dim,) for dims in domains.values()):
            firsts = sorted({dims[0] for dims in domains.values() if dims})
            fact = f"no output has `{dim}` as its first dimension"
            remedy = f"Stream over one of: {', '.join(firsts)}." if firsts else "Call the program."
            raise ArgumentError(fact, remedy, where)
        bound = self._bind(arguments, where)
        return Stream(self.executable, dim, bound, bool(check_finite), self._beside.lengths)

    def explain(self, **extents: int) -> Explanation:
        """What was compiled; memory is that of the given extents, or of the last run."""
        title = ", ".join(n for n in self.executable.artifact.domains if not n.startswith(UNSEEN))
        found = self.executable.explain(extents or None)
        return replace(found, title=title, draw=partial(_drawn, self._request))

    def certificate(self, path: str | Path) -> None:
        """Write down what rewriting and scheduling did, as a file that ``ostinato verify`` checks.

        Errors: CertificateError if the file cannot be written.
        """
        from ostinato.certificate.make import certificate_of
        from ostinato.certificate.record import write

        write(certificate_of(self._request, self.executable), Path(path))

    def _bind(self, arguments: Mapping[str, object], where: str) -> Bound:
        bound: Arguments = self._signature.bind(arguments, where)
        constants = self.executable.artifact.constants
        return Bound(bound.extents, {**bound.inputs, **constants}, bound.seed, self._beside.hosts)


def compile_program(
    pdg: Pdg,
    beside: Beside,
    target: str = "cpu",
    rules: RuleSet | None = None,
    options: Mapping[str, Any] | None = None,
) -> Compiled:
    """Return a compiled program, from the cache if an equal one was compiled before.

    ``beside`` is what the program has besides its graph: no part of what is cached.

    Errors: OptionError for an unknown target or option; CycleError; ShapeError.
    """
    if target not in TARGETS:
        raise OptionError(f"there is no target `{target}`", f"Targets: {', '.join(TARGETS)}.")
    if not isinstance(cast(object, rules), RuleSet | None):
        remedy = 'Pass a set of rules, such as ot.rules.without("vectorize").'
        raise OptionError(f"`rules` is {rules!r}", remedy)
    chosen = options_from(options or {}, pdg)
    profile = chosen.profile or profile_in_use()
    chosen = replace(chosen, verify=chosen.verify or debug().verify, profile=profile)
    takes = signature(pdg)
    claims: tuple[Claim, ...] = ()
    if chosen.checks:
        from ostinato.watching import checked

        pdg, claims = checked(pdg, beside.notes)
    for note in left_out(beside.notes, chosen.checks):
        warnings.warn(note, stacklevel=3)
    key = _key(pdg, rules, chosen)
    artifact = cache.load(key)
    if artifact is None:
        try:
            artifact = build(pdg, rules, chosen)
        except CycleError as unordered:
            from ostinato.cycle import find_cycle

            raise find_cycle(pdg) or unordered from None
        directory = cache.store(key, artifact)
    else:
        directory = cache.directory_of(key)
    for note in artifact.explanation.notes:
        warnings.warn(note, stacklevel=3)
    artifact = replace(artifact, claims=claims)  # their texts are no part of the key
    executable = Executable(artifact, directory, key, chosen.threads)
    return Compiled(executable, takes, beside, Request(pdg, rules, chosen))


def _drawn(request: Request) -> Drawn:
    from ostinato.drawing import drawn

    return drawn(request)


def build(pdg: Pdg, rules: RuleSet | None, options: Options) -> Artifact:
    """Run every stage of the compiler."""
    started = time.perf_counter()
    optimized = optimize_pdg(encoded(pdg), rules, options)
    return assemble(pdg, optimized, options, time.perf_counter() - started)


def assemble(pdg: Pdg, optimized: Optimized, options: Options, rewrite_s: float) -> Artifact:
    """Run the stages after rewriting, which took ``rewrite_s``."""
    from ostinato.codegen.arena import layout
    from ostinato.codegen.emit.driver import CONTROL_WORDS, DONE, STOP
    from ostinato.codegen.emit.interface import interface
    from ostinato.codegen.emit.program import emit
    from ostinato.codegen.estimate import predicted

    rewritten = time.perf_counter()
    plan, constants = plan_of(optimized, options)
    planned = time.perf_counter()
    source = emit(plan)
    if debug().rules:
        print(optimized.report, file=sys.stderr)
    if debug().source:
        print(source, file=sys.stderr)
    times = {
        "rewrite_s": rewrite_s,
        "schedule_s": planned - rewritten,
        "emit_s": time.perf_counter() - planned,
    }
    return Artifact(
        source=source,
        interface=_in_types_of(pdg, interface(plan)),
        place=partial(layout, plan),
        price=partial(predicted, plan, options.profile or Profile()),
        constants=constants,
        domains={name: tuple(d.name for d in node.domain) for name, node in pdg.outputs},
        shapes={name: _whole_shape(node) for name, node in pdg.outputs},
        lines={name: node.where for name, node in pdg.outputs},
        words=(STOP, DONE, CONTROL_WORDS),
        memory_limit=options.memory_limit,
        explanation=_explanation(optimized, plan, source, times, options.profile or Profile()),
    )


def _in_types_of(pdg: Pdg, found: Interface) -> Interface:
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


def _whole_shape(node: Node) -> tuple[Expr, ...]:
    """Extents of the domain, then the shape; an axis that varies with the point at its longest."""
    return (*(expr(d.extent) for d in node.domain), *map(upper_bound, node.shape))


def _explanation(
    optimized: Optimized, plan: Plan, source: str, times: Mapping[str, float], profile: Profile
) -> Explanation:
    return Explanation(
        rules=optimized.report.rules,
        kernels=tuple(f"def {part}" for part in source.split("\ndef ")[1:]),
        schedule=str(plan),
        source=source,
        cost={"rewritten_ns": optimized.report.price_after, **times},
        profile=profile.name,
        notes=_notes(optimized),
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
    """Rewrite a program and prove that the result is still defined everywhere it is demanded."""
    from ostinato.pdg.check import check
    from ostinato.rewrite.optimize import RewriteOptions, Rewriting
    from ostinato.rewrite.registry import every_rule

    chosen = rules if rules is not None else every_rule()
    chosen = chosen.exact() if options.exact else chosen
    profile = options.profile or Profile()
    forms = Rewriting(pdg, RewriteOptions(chosen, dict(options.hints), profile=profile))
    if options.memory_limit:
        from ostinato.fitting import Room, fitting

        needed = partial(_bytes, options=options)
        optimized = fitting(forms, Room(options.memory_limit, options.hints, needed))
    else:
        optimized = forms.best()
    if options.verify:
        from ostinato.pdg.verify import verify

        verify(optimized.pdg)
    check(optimized.pdg, pdg.minimum_extents)
    return optimized


def _bytes(optimized: Optimized, options: Options) -> int:
    """The arena of a form at the hinted extents."""
    from ostinato.codegen.arena import layout
    from ostinato.codegen.emit.interface import interface

    plan, _ = plan_of(optimized, options)
    most = max([1, *tile_counts(interface(plan).tiles, options.hints)])
    workers = min(options.threads or available_cores(), most)
    return layout(plan, options.hints, workers).total_bytes


class Rewritten(Protocol):
    """A program, and the dimensions that became leading axes of its recurrences."""

    @property
    def pdg(self) -> Pdg: ...
    @property
    def batched(self) -> dict[str, tuple[Dim, ...]]: ...


def system_of(optimized: Rewritten, options: Options) -> System:
    """Lower a rewritten program."""
    from ostinato.codegen.bounds import prove_bounds
    from ostinato.codegen.lower import lower

    return prove_bounds(lower(optimized.pdg, optimized.batched, options.hints))


def plan_of(optimized: Rewritten, options: Options) -> tuple[Plan, dict[str, Array]]:
    """Lower and schedule a rewritten program; also the values of its literal arrays."""
    return scheduled(system_of(optimized, options), options)


def scheduled(system: System, options: Options) -> tuple[Plan, dict[str, Array]]:
    """Schedule a system; also the values of its literal arrays."""
    import numpy as np

    from ostinato.codegen.plan import PlanOptions, plan

    workers = options.threads or available_cores()
    planned = plan(system, PlanOptions(options.widths, workers, options.exact))
    constants: dict[str, Array] = {}
    for argument, name in system.inputs.items():
        if name in system.constants:
            statement = system.statements[name]
            shape = tuple(axis.size.as_int() for axis in statement.axes)
            values = np.array(system.constants[name], statement.dtype)
            constants[argument] = values.reshape(shape)
    return planned, constants


@cached
def code_digest() -> str:
    """A hash of the compiler itself: a changed stage finds none of its older results."""
    total = hashlib.sha256()
    here = Path(__file__).parent
    parts = (here / name for name in ("machine", "pdg", "rewrite", "codegen", "runtime"))
    for path in (Path(__file__), *(path for part in parts for path in sorted(part.rglob("*.py")))):
        total.update(path.read_bytes())
    return total.hexdigest()[:16]


def _key(pdg: Pdg, rules: RuleSet | None, options: Options) -> str:
    """Everything that decides the artifact: program, rules, options, compiler, machine."""
    workers = options.threads or available_cores()
    chosen = "all" if rules is None else spell(rules.rules)
    about = (chosen, repr(options), str(workers), code_digest(), prelude.digest())
    return fingerprint(pdg, *about)

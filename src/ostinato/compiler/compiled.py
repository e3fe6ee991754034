"""A compiled program, and the way to it: from the cache, or through the stages of the compiler."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ostinato.compiler.arguments import Alike, Signature, signature
from ostinato.compiler.code_digest import code_digest
from ostinato.compiler.options import Options, Request, options_from, target_of
from ostinato.compiler.pipeline import available_workers, build, machine_workers, optimize_pdg
from ostinato.compiler.remarks import left_out
from ostinato.compiler.results import Beside, Results
from ostinato.compiler.variants import Look, Variant, Variants
from ostinato.language.dims import is_integer
from ostinato.language.shown import is_a, shown
from ostinato.language.surface import declare_class
from ostinato.machine.profile_store import profile_in_use
from ostinato.pdg.claims import Claim
from ostinato.pdg.errors import (
    ArgumentError,
    CertificateError,
    CheckpointError,
    CycleError,
    MemoryLimitError,
)
from ostinato.pdg.expansion import expanded
from ostinato.pdg.invariants import debug
from ostinato.pdg.node import UNSEEN, Pdg
from ostinato.pdg.pass_record import with_added
from ostinato.pdg.text.fingerprint import fingerprint, spell
from ostinato.provenance.place import calling_place, line_at, place, user_level
from ostinato.rewrite.engine.rule import texts_of
from ostinato.runtime.cache import programs
from ostinato.runtime.machine_code.compiling import Team
from ostinato.runtime.machine_code.piecewise import Making
from ostinato.runtime.run.cores import available_cores
from ostinato.runtime.run.execution import Bound
from ostinato.runtime.run.executor import Executable
from ostinato.runtime.run.explanation import Drawn, Explanation
from ostinato.runtime.run.paused_stream import PausedStream
from ostinato.runtime.run.state import Identity, State, arguments_digest
from ostinato.runtime.run.stream import Stream

if TYPE_CHECKING:
    from ostinato.codegen.target import Target
    from ostinato.language.dims import Dimension
    from ostinato.report.measured_run import RunProfile
    from ostinato.report.memory_curve import MemoryCurve
    from ostinato.rewrite.registry import RuleSet

LARGE = 200  # nodes: a smaller program is compiled before another process has started


class Compiled:
    """A program as machine code, for any extents.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> x = ot.input("x", over=t)
    >>> run = ot.Program(total=x[: t + 1].sum(0)).compile()
    >>> run(x=[1.0, 2.0, 3.0])["total"].tolist()
    [1.0, 3.0, 6.0]
    """

    def __init__(self, variants: Variants, takes: Signature, beside: Beside) -> None:
        self._variants, self._signature, self._beside = variants, takes, beside
        self._alike: Alike | None = None

    @property
    def executable(self) -> Executable:
        """What runs where no extent is short."""
        return self._variants.usual.executable

    @property
    def _request(self) -> Request:
        return self._variants.usual.request

    def __reduce__(self) -> NoReturn:
        remedy = "Pickle the program, and compile it there: the cache on disk has its code."
        raise ArgumentError("a compiled program cannot be pickled", remedy, place())

    def __copy__(self) -> Compiled:
        return self

    def __deepcopy__(self, memo: object) -> Compiled:
        return self

    def _at(self, bound: Bound) -> Executable:
        return self._variants.at(bound.extents).executable

    def __call__(self, check_finite: object = False, **arguments: object) -> Results:
        """Return every output, shaped (extents of its domain in declaration order, then shape).

        A true ``check_finite`` looks for NaN and infinities.
        Errors: ArgumentError; MemoryLimitError; NonFiniteError with ``check_finite``.
        """
        if type(check_finite) is not bool and not is_a(check_finite, np.bool_):
            self._refuse_by_place(check_finite, calling_place())
        seen = self._alike.bind(arguments) if self._alike is not None else None
        bound = self._bind(arguments, calling_place()) if seen is None else self._bound(seen)
        try:
            arrays = self._at(bound).run(bound, bool(check_finite))
        except MemoryLimitError as error:
            raise error.at(calling_place()) from None
        return Results(arrays, self._beside.lengths)

    def stream(
        self,
        over: Dimension | str,
        check_finite: object = False,
        every: object = None,
        resume: object = None,
        keep: object = None,
        **arguments: object,
    ) -> Stream:
        """Run and yield one record per step of the outermost dim, while it runs.

        Finished records wait to be read: at most ``keep`` of them, by default as many as 32 MiB
        hold. While so many wait, so does the loop. With ``keep="all"`` it never waits, and memory
        grows with the number of steps.

        With ``every`` the stream has a ``state`` after each record. The loop waits after so many
        steps until their records are read, and the state there costs a copy; one in between is
        computed again from the last one that was left. A run that begins with a state that it
        should ``resume`` yields the records after it, with the bits of a run without a pause.

        Errors: ArgumentError; CheckpointError for the state of another run; NonFiniteError with
        ``check_finite``, at the first bad step.

        >>> import ostinato as ot
        >>> i, b = ot.dims("i b")
        >>> x = ot.recurrent("x", over=(b, i))
        >>> x[b, 0] = 1.0
        >>> x[b, i + 1] = x / 2 + 1.0 / (i + 1)
        >>> run = ot.Program(mean=x[:, i].mean()).compile()
        >>> records = run.stream(i, every=2, I=4, B=3)
        >>> [_, (_, state), *rest] = [(record.mean, records.state) for record in records]
        >>> again = run.stream(i, resume=state, I=4, B=3)
        >>> [record.mean for record in again] == [mean for mean, _ in rest]
        True
        """
        where = calling_place()
        bound = self._streamed(over, arguments, where)
        dim = over if isinstance(over, str) else over.name
        steps, given = _pauses(every, resume, where)
        executable = self._variants.streaming(dim, bound.extents).executable
        how = bool(check_finite), self._beside.lengths
        records = executable.records(bound.extents, dim, _kept(keep, where))
        is_whole = records is None and not executable.is_left(dim)
        if not steps and given is None and is_whole:
            return _announced(Stream(executable, dim, bound, *how))
        try:
            state = self._begun(executable, dim, bound, steps, given)
            return PausedStream(executable, bound, state, steps, *how, records)
        except (ArgumentError, CheckpointError) as error:
            raise error.at(where) from None

    def _begun(
        self, executable: Executable, dim: str, bound: Bound, steps: int, given: State | None
    ) -> State:
        """The state that a stream begins with; of one that leaves none it has no identity.

        Errors: ArgumentError; CheckpointError.
        """
        if not steps and given is None:
            return Identity(dim, "", "", bound.seed).state({}, 0)
        identity = self._identity(executable, dim, bound, steps == 1 and given is None)
        return identity.state({}, 0) if given is None else identity.accepted(given)

    def _identity(self, executable: Executable, dim: str, bound: Bound, is_left: bool) -> Identity:
        """What a run is a run of, whose loop may only be left after every step, or entered too.

        Errors: ArgumentError if its loop cannot be.
        """
        artifact = executable.artifact
        fact = f"a stream over `{dim}` has no states: "
        if artifact.interface.calls and not is_left:
            names = ", ".join(sorted({f"`{f.name}`" for f in self._beside.hosts.values()}))
            remedy = (
                "Write it as equations, or read states with every=1, from which no run goes on."
            )
            raise ArgumentError(f"{fact}what {names} keeps in Python is not known", remedy)
        if not executable.is_live(dim):
            remedy = "Leave out every= and resume= (--checkpoint-every), or ask for other outputs."
            raise ArgumentError(f"{fact}its outputs do not come out of one outermost loop", remedy)
        target = target_of(self._request.options.target)
        constants = [array.tobytes() for _, array in sorted(artifact.constants.items())]
        about = artifact.source, code_digest(), repr(target), target.digest()
        program = programs.digest(*about, *constants)
        return Identity(dim, program, arguments_digest(bound.extents, bound.inputs), bound.seed)

    def profile(self, **arguments: object) -> RunProfile:
        """Run once, and measure where the time goes: by operations, lines and kernels.

        Workers note the time after every kernel and barrier, which takes some 30 ns each; other
        runs are as fast as before. The results are in ``results``.
        Errors: ArgumentError.

        >>> import ostinato as ot
        >>> t = ot.dims("t")
        >>> run = ot.Program(y=ot.exp(ot.input("x", over=t))).compile()
        >>> found = run.profile(x=[0.0, 1.0])
        >>> round(sum(part.ns for part in found.operations)) == found.total_ns
        True
        """
        bound = self._bind(arguments, calling_place())
        executable = self._at(bound)
        log = executable.log(bound.extents)
        found = Results(executable.run(bound, log=log), self._beside.lengths)
        return executable.profile(log, bound.extents, found)

    def profiled_stream(
        self, over: Dimension | str, check_finite: object = False, **arguments: object
    ) -> tuple[Stream, Callable[[], RunProfile]]:
        """A stream whose run is measured, and what gives its profile once the stream is closed.

        Errors: as `stream`; ArgumentError if the profile is asked for before.
        """
        bound = self._streamed(over, arguments, calling_place())
        dim = over if isinstance(over, str) else over.name
        executable = self._variants.streaming(dim, bound.extents).executable
        log = executable.log(bound.extents)
        how = bool(check_finite), self._beside.lengths
        if executable.is_left(dim):
            state = self._begun(executable, dim, bound, 0, None)
            stream: Stream = PausedStream(executable, bound, state, 0, *how, log=log)
        else:
            stream = _announced(Stream(executable, dim, bound, *how, log))
        return stream, lambda: executable.profile(log, bound.extents, {})

    def _streamed(
        self, over: Dimension | str, arguments: Mapping[str, object], where: str
    ) -> Bound:
        """The arguments of a run that is read step by step."""
        dim = over if isinstance(over, str) else over.name
        domains = self.executable.artifact.domains
        domains = {n: dims for n, dims in domains.items() if not n.startswith(UNSEEN)}
        if not any(dims[:1] == (dim,) for dims in domains.values()):
            firsts = sorted({dims[0] for dims in domains.values() if dims})
            fact = f"no output has `{dim}` as its first dimension"
            remedy = f"Stream over one of: {', '.join(firsts)}." if firsts else "Call the program."
            raise ArgumentError(fact, remedy, where)
        for name in ("index", "lengths", dim):
            if domains.get(name, ())[:1] == (dim,):
                fact = f"the output `{name}` has the name of what every record has"
                raise ArgumentError(fact, "Rename the output.", where)
        return self._bind(arguments, where)

    def _refuse_by_place(self, given: object, where: str) -> NoReturn:
        name = next(iter((*self._signature.inputs, *self._signature.extents)), "x")
        fact = f"`check_finite`, the first argument of a compiled program, is {shown(given)}"
        is_plain = given is None or isinstance(given, int | float | str)
        truth = "True or False, and " if is_plain else ""
        raise ArgumentError(fact, f"Pass {truth}arguments by name: run({name}=...).", where)

    def explain(self, **extents: int) -> Explanation:
        """What was compiled for the given extents, or ran last, with its memory there."""
        title = ", ".join(n for n in self.executable.artifact.domains if not n.startswith(UNSEEN))
        sizes = self._signature.sized(extents, calling_place()) if extents else None
        taken = self._variants.at(sizes) if sizes else self._variants.last
        found = taken.executable.explain(sizes)
        is_one = taken is self._variants.usual and not self.executable.artifact.short
        why = "" if is_one else taken.why
        memory = replace(found.memory, curve=partial(_curve, taken.request, found.memory.extents))
        drawing = partial(_drawn, taken.request)
        return replace(found, title=title, variant=why, memory=memory, draw=drawing)

    def certificate(self, path: str | Path) -> None:
        """Write down what rewriting and scheduling did, as a file that ``ostinato verify`` checks.

        It is of the variant for any extents.
        Errors: CertificateError if the file cannot be written.
        """
        from ostinato.certificate.document import write
        from ostinato.certificate.make import certificate_of

        where, target = calling_place(), self._request.options.target
        if target_of(target).runtime != "host":
            fact = f"target={target!r} has no certificates: `ostinato verify` runs on a CPU"
            raise CertificateError(fact, 'Compile with target="cpu".', where)
        try:
            write(certificate_of(self._request, self.executable), Path(path))
        except CertificateError as error:
            raise error.at(where) from None

    def _bind(self, arguments: Mapping[str, object], where: str) -> Bound:
        found = self._signature.bind(arguments, where)
        self._alike = Alike(self._signature, arguments, found)
        return self._bound(found)

    def _bound(self, found: Bound) -> Bound:
        inputs = {**found.inputs, **self.executable.artifact.constants}
        return Bound(found.extents, inputs, found.seed, self._beside.hosts)


# `__call__` looks at its arguments itself: a call may take a few microseconds in all.
declare_class(Compiled, besides=("__call__",))


def _pauses(every: object, resume: object, where: str) -> tuple[int, State | None]:
    """What a stream is given besides arguments, checked."""
    if every is not None and (not is_integer(every) or every < 1):
        remedy = "Pass a number of steps from 1 on, or leave it out: there is no state then."
        raise ArgumentError(f"`every` is {shown(every)}", remedy, where)
    if resume is not None and not isinstance(resume, State):
        remedy = "Pass the `state` of a stream, or what `ot.load` returns."
        raise ArgumentError(f"`resume` is {shown(resume)}", remedy, where)
    return 0 if every is None else int(every), resume


def _kept(keep: object, where: str) -> int | None:
    """How many records may wait to be read: 0 for a usual number, None for all."""
    if isinstance(keep, str) and keep == "all":
        return None
    if keep is None:
        return 0
    if is_integer(keep) and keep >= 1:
        return int(keep)
    remedy = 'Pass a number of records from 1 on, or "all".'
    raise ArgumentError(f"`keep` is {shown(keep)}", remedy, where)


def _announced(stream: Stream) -> Stream:
    """The stream, with a warning at the user's line if its records come after the run."""
    if stream.late_note:
        warnings.warn(stream.late_note, stacklevel=user_level())
    return stream


def compile_program(
    pdg: Pdg,
    beside: Beside,
    rules: RuleSet | None = None,
    options: Mapping[str, Any] | None = None,
    extents: Mapping[str, int] | None = None,
) -> Compiled:
    """Return a compiled program, from the cache if an equal one was compiled before.

    ``beside`` is what the program has besides its graph: no part of what is cached. The variant for
    ``extents`` is looked for while machine code is made.

    Errors: OptionError for an unknown option or target; CycleError; ShapeError.
    """
    chosen = options_from(options or {}, pdg)
    target = target_of(chosen.target)
    profile = chosen.profile or target.profile or profile_in_use()
    chosen = replace(chosen, verify=chosen.verify or debug().verify, profile=profile)
    takes = signature(pdg)
    claims: tuple[Claim, ...] = ()
    if chosen.does_check("values"):
        from ostinato.compiler.watching import checked

        pdg, claims = checked(pdg, beside.notes)
    for note in left_out(beside.notes, chosen.does_check("values")):
        warnings.warn(note, stacklevel=user_level())
    request = Request(pdg, rules, chosen)
    with _planned(request, claims) as (usual, making):
        ways = partial(_hinted, request, claims), partial(_stepping, request, claims)
        variants = Variants(usual, *ways, machine_workers(target))
        first = variants.at(extents) if extents else usual
        if first.executable is usual.executable:
            usual.executable.load(making)
    if first.executable is not usual.executable:
        first.executable.load()
    for note in usual.executable.artifact.explanation.notes:
        warnings.warn(note, stacklevel=user_level())
    return Compiled(variants, takes, beside)


def _hinted(
    request: Request, claims: tuple[Claim, ...], hints: Mapping[str, int], look: Look
) -> Variant:
    """The same program for further hints, whatever the number of threads.

    What ``look`` does not refuse has machine code once it runs: it may only be explained.
    """
    options = request.options
    hinted = replace(options, hints={**options.hints, **hints}, by_extents=True)
    with _planned(replace(request, options=hinted), claims, look) as (found, _):
        return found


def _stepping(request: Request, claims: tuple[Claim, ...], dim: str) -> Variant:
    """The same program for streams over a dim, whose loop stands around all others."""
    stepped = replace(request, options=replace(request.options, streamed=dim))
    with _planned(stepped, claims) as (found, making):
        if found.executable.is_live(dim):
            found.executable.load(making)
        return found


@contextmanager
def _planned(
    request: Request, claims: tuple[Claim, ...], look: Look | None = None
) -> Generator[tuple[Variant, Making | None]]:
    """A compilation that has no machine code yet, from the cache if an equal one was made before.

    Processes may be making that, until it is loaded here. ``look`` may refuse by what the plan
    takes.

    Errors: CycleError.
    """
    pdg, rules, chosen = request.pdg, request.rules, request.options
    runtime = runtime_of(target_of(chosen.target))
    runtime.require()
    key = _key(pdg, rules, chosen)
    artifact = programs.load(key)
    is_needed = artifact is None and look is None
    with _team(pdg, chosen) if is_needed else nullcontext() as team:
        making = None if team is None else Making(team)
        if artifact is None:
            try:
                artifact = build(pdg, rules, chosen, making, look)
            except CycleError as unordered:
                from ostinato.compiler.watching import find_cycle

                raise find_cycle(pdg) or unordered from None
            directory = programs.store(key, artifact)
        else:
            if look is not None:
                look(artifact.price, artifact.place)
            directory = programs.directory_of(key)
        artifact = replace(artifact, claims=claims)  # their texts are no part of the key
        yield Variant(runtime(artifact, directory, key, chosen.threads), request), making


def _team(pdg: Pdg, options: Options) -> AbstractContextManager[Team | None]:
    """Processes that compile a large program's kernels: they start while it is rewritten."""
    if len(pdg.nodes()) < LARGE or not runtime_of(target_of(options.target)).has_units:
        return nullcontext()
    return Team(options.threads or available_cores())


def runtime_of(target: Target) -> type[Executable]:
    """What runs the code of a target."""
    from ostinato.runtime.run.device_executor import DeviceExecutable

    return {"host": Executable, "device": DeviceExecutable}[target.runtime]


def _drawn(request: Request) -> Drawn:
    """A program as written and as compiled; it is rewritten again, to the same result."""
    from ostinato.pdg.half_storage import encoded
    from ostinato.report.drawing.mathematics import equations
    from ostinato.report.graph import Fact, graph

    optimized = optimize_pdg(encoded(request.pdg), request.rules, request.options)
    report = optimized.report
    facts = {n: Fact(report.origins.get(n, ()), price) for n, price in report.prices.items()}
    before = graph("as written", "written", request.pdg, {}, line_at)
    after = graph("as compiled", "compiled", optimized.pdg, facts, line_at)
    return Drawn(equations(request.pdg), (before, after))


def _curve(request: Request, extents: Mapping[str, int]) -> MemoryCurve:
    from ostinato.compiler.limit_costs import memory_curve

    return memory_curve(request, extents)


def _key(pdg: Pdg, rules: RuleSet | None, options: Options) -> str:
    """Everything that decides the artifact: program, rules, options, compiler, machine."""
    workers = available_workers(options)
    chosen = "all" if rules is None else spell(tuple(tuple(texts_of(r).values()) for r in rules))
    target = target_of(options.target)
    asked = chosen, repr(options), str(options.by_extents), options.streamed, str(workers)
    about = *asked, code_digest(), repr(target), target.digest()
    given = expanded(with_added(pdg, options.passes))
    return fingerprint(pdg, *about, *(() if given is pdg else (fingerprint(given),)))

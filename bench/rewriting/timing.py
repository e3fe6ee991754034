"""The second phase: running every compiled form, in turns."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Protocol, cast

from bench.rewriting.compiling import FormRecord
from bench.rewriting.corpus import Case
from ostinato.codegen.cost.estimate import estimate
from ostinato.codegen.planning.plan import Plan
from ostinato.compiler.arguments import signature
from ostinato.compiler.compiled import Compiled
from ostinato.compiler.options import Options, Request
from ostinato.compiler.results import Beside
from ostinato.compiler.variants import Look, Variant, Variants
from ostinato.machine.profile import Profile
from ostinato.runtime.cache import programs
from ostinato.runtime.cache.programs import Later
from ostinato.runtime.run.artifact import Artifact
from ostinato.runtime.run.executor import Executable

M_MMAP_THRESHOLD, MAPPED_BYTES = -3, 1 << 16  # of the GNU C library: arrays from 64 KiB on
SAMPLE_S = 4e-3  # shorter runs are repeated within a sample


class Run(Protocol):
    """Something to time."""

    def __call__(self) -> None: ...

    def forget(self) -> None:
        """Give the memory of runs back."""


@dataclass(frozen=True, slots=True)
class FormRun:
    """A compiled form with its arguments."""

    compiled: Compiled
    arguments: Mapping[str, object]

    def __call__(self) -> None:
        self.compiled(**self.arguments)

    def forget(self) -> None:
        self.compiled.executable.release()


@dataclass(frozen=True, slots=True)
class Sampling:
    """How runs are timed; ``clock`` gives seconds."""

    count: int = 9
    clock: Callable[[], float] = time.perf_counter

    def medians(self, runs: Sequence[Run]) -> list[float]:
        """Nanoseconds of each run; they take turns, so that drift of the machine hits all alike.

        Every sample has memory of its own: where its pages lie changes the time of equal code.
        """
        repeats: list[int] = []
        for run in runs:
            run()
            repeats.append(max(1, round(SAMPLE_S / max(self.seconds(run, 1), 1e-6))))
        taken: list[list[float]] = [[] for _ in runs]
        for _ in range(self.count):
            for k, run in enumerate(runs):
                run.forget()
                run()
                taken[k].append(self.seconds(run, repeats[k]) * 1e9)
        return [statistics.median(each) for each in taken]

    def seconds(self, run: Run, repeats: int) -> float:
        started = self.clock()
        for _ in range(repeats):
            run()
        return (self.clock() - started) / repeats


@dataclass(frozen=True, slots=True)
class Timed:
    """One form: nanoseconds as predicted from its schedule, from its e-nodes, and as measured."""

    program: str
    form: str
    predicted_ns: float
    rewritten_ns: float
    measured_ns: float


def use_new_memory() -> bool:
    """Give every large array memory of its own, which goes back to the system when it is freed.

    Otherwise it depends on what was freed before whether a result gets memory that was used, and
    equal forms differ. False where the allocator cannot be told.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES) == 1


def time_forms(
    records: Sequence[FormRecord],
    cases: Mapping[str, Case],
    threads: int,
    sampling: Sampling,
    profile: Profile,
    show: Callable[[str], None],
) -> list[Timed]:
    """The median of some samples of every form, and what the profile predicts for it."""
    out: list[Timed] = []
    for name, group in groupby(records, lambda record: record.program):
        if name in cases:
            out += _timed(list(group), cases[name], threads, sampling, profile)
            show(f"{name}: chosen {out[-1].measured_ns / 1e6:.2f} ms")
    return out


def _priced(
    artifact: Artifact, profile: Profile, extents: Mapping[str, int], workers: int
) -> float:
    """The estimate of the artifact's plan, by another profile than it was compiled with."""
    found = artifact.price.function if isinstance(artifact.price, Later) else artifact.price
    price = cast("partial[Mapping[str, float]]", found)
    return estimate(cast(Plan, price.args[0]), profile, extents, workers).total


def _only(form: Variant, _: Mapping[str, int] | str, __: Look | None = None) -> Variant:
    """The form itself, for any extents and for streams."""
    return form


def _timed(
    records: Sequence[FormRecord], case: Case, threads: int, sampling: Sampling, profile: Profile
) -> list[Timed]:
    program = case.build()
    arguments = case.arguments(program)
    runs: list[Run] = []
    predicted: list[float] = []
    for record in records:
        artifact = programs.load(record.key)
        if artifact is None:
            raise FileNotFoundError(f"{case.name}: compile the forms first, with --compile-only")
        executable = Executable(artifact, programs.directory_of(record.key), record.key, threads)
        beside = Beside(program.lengths, program.hosts, program.notes)
        form = Variant(executable, Request(program.pdg, None, Options()))
        itself = partial(_only, form)
        variants = Variants(form, itself, itself, 1)
        compiled = Compiled(variants, signature(program.pdg), beside)
        runs.append(FormRun(compiled, arguments))
        workers = executable.workers(case.extents)
        predicted.append(_priced(artifact, profile, case.extents, workers))
    measured = sampling.medians(runs)
    return [
        Timed(case.name, r.form, p, r.rewritten_ns, m)
        for r, p, m in zip(records, predicted, measured, strict=True)
    ]

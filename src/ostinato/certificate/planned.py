"""The schedule of an extracted program: made again, with all its proofs, and printed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from ostinato.certificate.record import Certificate, Schedule
from ostinato.compiler import Options, Rewritten, code_digest, plan_of
from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.index import Dim
from ostinato.pdg.node import Pdg


class Misplanned(Exception):
    """The schedule is not that of the extracted program; the text shows the first other line."""


@dataclass(frozen=True)
class _Extracted:
    """A program with axes as planning takes it."""

    pdg: Pdg
    batched: dict[str, tuple[Dim, ...]]


def planned(program: Rewritten, options: Options, artifact: str) -> Schedule:
    """The schedule of a rewritten program under these options, of which threads are given."""
    from ostinato.codegen.emit.program import emit

    plan, _ = plan_of(program, options)
    digest = hashlib.sha256(emit(plan).encode()).hexdigest()
    hints, widths = dict(sorted(options.hints.items())), dict(sorted(options.widths.items()))
    lines = tuple(str(plan).splitlines())
    return Schedule(lines, hints, widths, options.threads, digest, artifact)


def check_schedule(certificate: Certificate) -> str:
    """Plan the extracted program again and compare; planning proves order and storage with isl.

    Errors: Misplanned.
    """
    said = certificate.schedule
    options = Options(threads=said.workers, hints=said.hints, widths=said.widths)
    try:
        program = _Extracted(certificate.extracted, dict(certificate.batched))
        made = planned(program, options, said.artifact)
    except (OstinatoError, AssertionError) as problem:
        raise Misplanned(f"the extracted program has no such schedule: {problem}") from problem
    if made.plan != said.plan:
        raise Misplanned(_first_difference(certificate, made))
    same = made.source_sha256 == said.source_sha256
    about = "kernels alike" if same else "kernels are those of another machine or version"
    return f"{len(made.plan)} lines alike, {about}"


def _first_difference(certificate: Certificate, made: Schedule) -> str:
    if certificate.made_with.get("compiler") != code_digest():
        return "the schedule is that of another version of the compiler: use that to verify it"
    said = certificate.schedule.plan
    pairs = zip(said, made.plan, strict=False)
    k = next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(said), len(made.plan)))
    line = said[k].strip() if k < len(said) else "no more lines"
    return f"line {k + 1} of the schedule is `{line}`, which the extracted program does not have"

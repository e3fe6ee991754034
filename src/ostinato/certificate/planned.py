"""The schedule of an extracted program: made again, with all its proofs, and printed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from ostinato.certificate.order import check_order, order_data
from ostinato.certificate.record import Certificate, Schedule
from ostinato.certificate.timeline import steps_of
from ostinato.options import Options
from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.index import Dim
from ostinato.pdg.node import Pdg
from ostinato.stages import Rewritten, code_digest, plan_of


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
    return Schedule(
        lines, steps_of(plan), hints, widths, options.threads, options.exact, digest, artifact
    )


def check_schedule(certificate: Certificate) -> str:
    """Prove the order that is written down, then plan the extracted program again and compare.

    Planning itself proves with isl that no slot is overwritten while it is needed.
    Errors: Misordered; Misplanned.
    """
    said = certificate.schedule
    about = check_order(said.order)
    options = Options(threads=said.workers, hints=said.hints, widths=said.widths, exact=said.exact)
    try:
        program = _Extracted(certificate.extracted, dict(certificate.batched))
        made = planned(program, options, said.artifact)
    except (OstinatoError, AssertionError) as problem:
        raise Misplanned(f"the extracted program has no such schedule: {problem}") from problem
    if made.plan != said.plan:
        raise Misplanned(_first_difference(certificate, made))
    if order_data(made.order) != order_data(said.order):
        raise Misplanned("the order of statements is not that of the schedule")
    same = made.source_sha256 == said.source_sha256
    kernels = "kernels alike" if same else "kernels are those of another machine or version"
    return f"{about}; {len(made.plan)} lines of the plan alike, {kernels}"


def _first_difference(certificate: Certificate, made: Schedule) -> str:
    if certificate.made_with.get("compiler") != code_digest():
        return "the schedule is that of another version of the compiler: use that to verify it"
    said = certificate.schedule.plan
    pairs = zip(said, made.plan, strict=False)
    k = next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(said), len(made.plan)))
    line = said[k].strip() if k < len(said) else "no more lines"
    return f"line {k + 1} of the schedule is `{line}`, which the extracted program does not have"

"""The schedule of an extracted program: made again, with all its proofs, and printed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ostinato.certificate.arena_proof import check_places, check_shared
from ostinato.certificate.document import Certificate, Schedule
from ostinato.certificate.emitted import check_driver
from ostinato.certificate.machine import Emission, emission_of
from ostinato.certificate.order import check_order
from ostinato.certificate.slots import Misplaced, check_storage, storage_of
from ostinato.certificate.spelled import timeline_data
from ostinato.certificate.timeline import layouts_of, timeline_of
from ostinato.certificate.transfer_proof import check_transfers
from ostinato.compiler.code_digest import code_digest
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import Rewritten, plan_of
from ostinato.machine.profile import TYPICAL_EXTENT
from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.index import Dim
from ostinato.pdg.node import Pdg

SMALL = 3  # the first of the small extents for which a certificate shows an arena


class Misplanned(Exception):
    """The schedule is not that of the extracted program; the text shows the first other line."""


@dataclass(frozen=True)
class _Extracted:
    """A program with axes as planning takes it."""

    pdg: Pdg
    batched: dict[str, tuple[Dim, ...]]
    separate: tuple[Dim, ...]


def planned(program: Rewritten, options: Options) -> Schedule:
    """The schedule of a rewritten program under these options, of which threads are given."""
    from ostinato.codegen.emit.generated_module import emit
    from ostinato.codegen.planning.show import show_plan

    plan, _ = plan_of(program, options)
    digest = hashlib.sha256(emit(plan).encode()).hexdigest()
    hints, widths = dict(sorted(options.hints.items())), dict(sorted(options.widths.items()))
    lines = tuple(show_plan(plan).splitlines())
    extents, most = _extents(program, plan.extents, hints), options.memory_limit * options.spill
    layouts = layouts_of(plan, options.threads, extents, most)
    return Schedule(
        lines,
        timeline_of(plan),
        tuple(layouts),
        hints,
        widths,
        options.threads,
        options.exact,
        options.memory_limit,
        options.spill,
        options.storage,
        options.without,
        plan.checked,
        digest,
    )


def _extents(
    program: Rewritten, names: Sequence[str], hints: Mapping[str, int]
) -> tuple[dict[str, int], ...]:
    """The hinted extents, and small ones that are all different."""
    least = program.pdg.minimum_extents
    typical = {name: max(hints.get(name, TYPICAL_EXTENT), least.get(name, 1)) for name in names}
    small = {name: max(SMALL + k, least.get(name, 1)) for k, name in enumerate(names)}
    return typical, small


def check_waiting(certificate: Certificate) -> str:
    """Prove the order that is written down.

    Errors: Misordered.
    """
    return check_order(certificate.schedule.order.steps)


def check_memory(certificate: Certificate) -> str:
    """Prove that barriers, slots and arenas that are written down lose no value.

    Errors: Misplaced.
    """
    said = certificate.schedule
    storage = storage_of(said.order.steps, said.order.memory)
    about = check_storage(storage)
    about += f"; {check_shared(storage, (*said.order.memory.given, *said.order.memory.kept))}"
    if not said.layouts:
        raise Misplaced("no arena is written down")
    _check_limit(said)
    moved = 0
    for layout in said.layouts:
        check_places(storage, said.order.memory, layout, said.workers)
        moved += check_transfers(said.order, layout, said.workers)
    return f"{about}; {len(said.layouts)} arenas, {moved} transfers"


def _check_limit(said: Schedule) -> None:
    """At the hinted extents what workers share takes no more than the limit of memory.

    Where histories may lie in a file, all that does not takes no more.
    """
    first = said.layouts[0]
    in_memory = first.memory + first.room
    shared = in_memory if said.spill else first.total - said.workers * first.stride
    if 0 < said.memory_limit < shared:
        raise Misplaced(f"{shared:,} bytes are more than the limit of {said.memory_limit:,}")


def check_schedule(certificate: Certificate) -> str:
    """Plan the extracted program again and compare with what is written down.

    Errors: Misplanned.
    """
    said = certificate.schedule
    if certificate.compiler != code_digest():
        fact = "the schedule is that of another version of the compiler"
        raise Misplanned(f"{fact}: use that to verify it")
    try:
        made = planned(_extracted(certificate), options_of(said))
    except (OstinatoError, AssertionError) as problem:
        raise Misplanned(f"the extracted program has no such schedule: {problem}") from problem
    if made.plan != said.plan:
        raise Misplanned(_first_difference(certificate, made))
    if timeline_data(made.order) != timeline_data(said.order):
        raise Misplanned("order and memory of the statements are not those of the schedule")
    if made.layouts != said.layouts:
        raise Misplanned("the arenas are not those of the schedule")
    if made.source_sha256 != said.source_sha256:
        raise Misplanned("the kernels are those of another program, machine or version")
    return f"{len(made.plan)} lines of the plan and all kernels alike"


def emitted_again(certificate: Certificate) -> Emission:
    """The functions of the extracted program, planned again."""
    plan, constants = plan_of(_extracted(certificate), options_of(certificate.schedule))
    return emission_of(certificate.source, plan, constants)


def check_emitted(certificate: Certificate, emission: Emission) -> str:
    """Compare the driver with the schedule.

    Errors: Misemitted.
    """
    table = [name for name, _ in emission.artifact.interface.tensors]
    order, extents = certificate.schedule.order, emission.plan.extents
    return check_driver(emission.functions, order, extents, table)


def options_of(said: Schedule) -> Options:
    """The options that a schedule is said to follow from."""
    return Options(
        threads=said.workers,
        hints=said.hints,
        widths=said.widths,
        exact=said.exact,
        memory_limit=said.memory_limit,
        spill=said.spill,
        storage=said.storage,
        without=said.without,
        checks=("addresses",) if said.checked else False,
    )


def _extracted(certificate: Certificate) -> _Extracted:
    axes, separate = dict(certificate.batched), certificate.separate
    return _Extracted(certificate.extracted, axes, separate)


def _first_difference(certificate: Certificate, made: Schedule) -> str:
    said = certificate.schedule.plan
    pairs = zip(said, made.plan, strict=False)
    k = next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(said), len(made.plan)))
    line = said[k].strip() if k < len(said) else "no more lines"
    return f"line {k + 1} of the schedule is `{line}`, which the extracted program does not have"

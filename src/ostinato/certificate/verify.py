"""Checking a certificate, with none of the code that rewrote the program."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial

from ostinato.certificate.document import Certificate
from ostinato.certificate.equality import Unequal, check_equality
from ostinato.certificate.extracted import Misbuilt, check_structure
from ostinato.certificate.fitted import Misemitted
from ostinato.certificate.loop_runs import check_loops
from ostinato.certificate.machine import Emission, machine_code, own_cache
from ostinato.certificate.order import Misordered
from ostinato.certificate.prepared import Changed, check_prepared
from ostinato.certificate.replay import (
    Misplanned,
    check_emitted,
    check_memory,
    check_schedule,
    check_waiting,
    emitted_again,
)
from ostinato.certificate.rule_proofs import Unproved, check_exact, check_rules, least_exact
from ostinato.certificate.runs import Different, Promise, check_results, check_runs, trials
from ostinato.certificate.slots import Misplaced
from ostinato.certificate.verdict import Finding, Verdict
from ostinato.codegen.loops.checker import InvariantError
from ostinato.codegen.loops.memory import Trap
from ostinato.compiler.program import Program
from ostinato.pdg.demand.check import check
from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.functions import Array
from ostinato.pdg.half_storage import encoded
from ostinato.pdg.node import Host, Pdg
from ostinato.pdg.text.fingerprint import describe
from ostinato.rewrite.registry import every_rule
from ostinato.runtime.run.execution import Bound

REFUSALS = (
    Unproved, Changed, Unequal, Misbuilt, Misordered, Misplaced, Misplanned, Misemitted, Different,
    InvariantError, Trap,
)  # fmt: skip


def check_certificate(certificate: Certificate, program: Program | None = None) -> Verdict:
    """Run every check, also those after one that fails."""
    return Verdict(tuple(findings(checks_of(certificate, program))))


def checks_of(
    certificate: Certificate, program: Program | None = None
) -> tuple[tuple[str, Callable[[], str]], ...]:
    """Every check by name; each raises one of `REFUSALS`, or says what it has shown."""
    source = encoded(certificate.source)
    prepared = certificate.prepared or source
    own = [("program", lambda: _is_about(certificate, program))] if program else []
    made = cache(partial(emitted_again, certificate))
    return (
        *own,
        ("rules", lambda: _rules(certificate)),
        ("cases", lambda: _prepared(certificate, source)),
        ("equality", lambda: _equal(certificate, prepared)),
        ("terms", lambda: check_structure(certificate, prepared)),
        ("definedness", lambda: _defined(certificate)),
        ("order", lambda: check_waiting(certificate)),
        ("storage", lambda: check_memory(certificate)),
        ("schedule", lambda: check_schedule(certificate)),
        ("driver", lambda: check_emitted(certificate, made())),
        ("loops", lambda: check_loops(certificate.source, made(), _promise(certificate))),
        ("runs", lambda: _runs(certificate, source, made)),
    )


def findings(checks: tuple[tuple[str, Callable[[], str]], ...]) -> Iterator[Finding]:
    """What each check finds, one after the other."""
    for name, run in checks:
        started = time.perf_counter()
        try:
            holds, about = True, run()
        except REFUSALS as problem:
            holds, about = False, str(problem)
        except Exception as problem:  # whatever a forged certificate may provoke
            holds, about = False, f"it cannot be checked: {type(problem).__name__}: {problem}"
        yield Finding(name, holds, about, time.perf_counter() - started)


def _is_about(certificate: Certificate, program: Program) -> str:
    """The source is that program, or it with its checks as outputs."""
    from ostinato.compiler.watching import checked

    said = describe(certificate.source)
    if said == describe(program.pdg):
        return "the source is the program"
    if said == describe(checked(program.pdg, program.notes)[0]):
        return "the source is the program with its checks"
    raise Misbuilt("the source is another program than the one given")


def _rules(certificate: Certificate) -> str:
    if certificate.schedule.exact:
        check_exact(certificate.rules)
    return check_rules(certificate.rules, every_rule())


def _prepared(certificate: Certificate, source: Pdg) -> str:
    if certificate.prepared is None:
        return "those of the source"
    return check_prepared(source, certificate.prepared)


def _equal(certificate: Certificate, source: Pdg) -> str:
    if certificate.terms:
        return check_equality(certificate, source)
    if certificate.rules:
        raise Unequal("rules are named, but there are no terms that they made")
    return "nothing was rewritten"


def _defined(certificate: Certificate) -> str:
    """Every value that the extracted program demands exists, for all extents."""
    try:
        check(certificate.source)
        check(certificate.extracted, is_rewritten=True)
    except (OstinatoError, AssertionError) as problem:
        raise Misbuilt(f"a program demands what is not defined: {problem}") from problem
    return "every read inside its tensor, every needed point covered, for all extents"


def _promise(certificate: Certificate) -> Promise:
    return Promise(least_exact(certificate.rules), certificate.schedule.storage)


def _runs(certificate: Certificate, source: Pdg, made: Callable[[], Emission]) -> str:
    """Runs of both programs, and of the machine code with the first and the last special inputs."""
    found, promise = tuple(trials(source)), _promise(certificate)
    about = check_runs(found, certificate.extracted, promise.exact)
    if any(isinstance(node.op, Host) for node in certificate.source.nodes()):
        return f"{about}; no machine code run: the program calls Python functions"

    if encoded(certificate.source) is not certificate.source:
        found = tuple(trials(certificate.source))
    few = (found[0], *found[-2:])
    with own_cache():
        executable = machine_code(made(), certificate.schedule.workers)

        def run(bound: Bound) -> dict[str, Array]:
            inputs = {**bound.inputs, **executable.artifact.constants}
            return executable.run(replace(bound, inputs=inputs))

        ran = check_results("the machine code", certificate.source, few, run, promise)
    return f"{about}; machine code {ran}"

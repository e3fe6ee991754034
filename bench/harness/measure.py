"""Run a suite: its cases one after the other, the programs of a case in turns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path

from bench.harness.machine import machine
from bench.harness.neighbours import Neighbours
from bench.harness.peers import FOLDER, Missing, Peer, find
from bench.harness.rows import Refusal, Report, Row
from bench.harness.sampling import Refused, Spread, alternate, spread
from bench.harness.served import CORES, Sample, Served
from bench.harness.suite import Case, Entry, Suite, is_better_low

Say = Callable[[str], None]
Wanted = Mapping[str, frozenset[str]]
KEPT = "kept"  # a unit: the part of its figure without neighbours


def measure(
    suite: Suite, rounds: int, say: Say, wanted: Wanted | None = None, folder: Path = FOLDER
) -> Report:
    """Return the rows of the cases that have the wanted sizes.

    A peer that is not installed is left out, which is said once. A program that fails is refused,
    and the others go on.
    """
    cases = [case for case in suite.cases if case.has(wanted or {})]
    entries = [entry for case in cases for entry in case.entries]
    peers = {name: find(name, folder) for name in dict.fromkeys(entry.peer for entry in entries)}
    found: dict[str, Peer] = {}
    versions: dict[str, str] = {}
    for name, peer in peers.items():
        match peer:
            case Missing():
                say(peer.reason)
            case Peer():
                found[name] = peer
                versions |= peer.versions
    described = machine(versions)
    made: list[Row | Refusal] = []
    for case in cases:
        say(f"{suite.name}: {case.program} {shown(case.size)}")
        budget_s = suite.budget_s / sum(len(each.beside) or 1 for each in cases)
        made.extend(measure_case(suite.name, case, rounds, found, budget_s))
    rows = tuple(each for each in made if isinstance(each, Row))
    return Report(described, rows, tuple(each for each in made if isinstance(each, Refusal)))


def shown(size: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in size.items())


def measure_case(
    suite: str,
    case: Case,
    rounds: int,
    peers: Mapping[str, Peer],
    budget_s: float = math.inf,
) -> list[Row | Refusal]:
    """Return the rows of one case, measured in processes that live as long as it.

    The budget is that of one measurement of all its programs.
    """
    entries = {str(n): each for n, each in enumerate(case.entries) if each.peer in peers}
    with ExitStack() as processes:
        programs = {
            name: processes.enter_context(
                Served(
                    peers[entry.peer].python,
                    entry.factory,
                    {**case.size, **entry.size, **entry.given},
                )
            )
            for name, entry in entries.items()
        }
        if case.beside:
            return list(measure_beside(suite, case, rounds, (entries, programs), budget_s))
        samples = alternate(programs, rounds, case.warm_up, budget_s=budget_s)
    rows: list[tuple[Entry, Sequence[Sample]]] = []
    refused: list[Refusal] = []
    for name, entry in entries.items():
        found = samples[name]
        if isinstance(found, Refused):
            size = {**case.size, **entry.size}
            refused.append(Refusal(suite, named(case, entry), entry.system, size, found.reason))
        else:
            rows.append((entry, found))
    return [*rows_of(suite, case, rows), *refused]


def measure_beside(
    suite: str,
    case: Case,
    rounds: int,
    both: tuple[Mapping[str, Entry], Mapping[str, Served]],
    budget_s: float,
) -> Iterator[Row | Refusal]:
    """Yield the worst samples of running programs beside neighbours, and what part they keep.

    The processors that they had are a median.
    """
    entries, served = both
    programs = {name: partial(each.with_cores, case.unit) for name, each in served.items()}
    quiet: dict[str, float] = {}
    is_warm = False
    for place in case.beside:
        with Neighbours(place.neighbours, place.own_sessions):
            warm_up = case.warm_up and not is_warm
            samples = alternate(programs, rounds, warm_up, budget_s=budget_s)
        is_warm = True
        kept: list[Row] = []
        for name, entry in entries.items():
            size = {**case.size, **place.size, **entry.size}
            sampled = samples[name]
            if isinstance(sampled, Refused):
                yield Refusal(suite, case.program, entry.system, size, sampled.reason)
                continue
            for unit, values in by_unit(sampled, case.unit).items():
                found = spread(values) if unit == CORES else worst(values, unit)
                yield row_from(suite, case.program, entry.system, size, unit, found)
                if unit != case.unit:
                    continue
                before = quiet.setdefault(name, found.median)
                ratio = Spread(*(each / before for each in astuple(found)))
                if place.neighbours and not is_better_low(unit):
                    kept.append(row_from(suite, case.program, entry.system, size, KEPT, ratio))
        yield from kept


def worst(values: Sequence[float], unit: str) -> Spread:
    """Return the worst of some samples in the place of the median."""
    found = spread(values)
    return replace(found, median=found.high if is_better_low(unit) else found.low)


def named(case: Case, entry: Entry) -> str:
    """Return the name of a program in rows, with that of its form."""
    return f"{case.program}/{entry.form}" if entry.form else case.program


def rows_of(suite: str, case: Case, sampled: Iterable[tuple[Entry, Sequence[Sample]]]) -> list[Row]:
    """Return a row for each program and unit, and for systems with several forms the best one."""
    rows: list[Row] = []
    forms: dict[tuple[str, str], list[Row]] = {}
    for entry, samples in sampled:
        size = {**case.size, **entry.size}
        for unit, values in by_unit(samples, case.unit).items():
            row = row_from(suite, named(case, entry), entry.system, size, unit, spread(values))
            rows.append(row)
            if entry.form:
                forms.setdefault((entry.system, unit), []).append(row)
    for (_, unit), found in forms.items():
        best = (min if is_better_low(unit) else max)(found, key=lambda row: row.value)
        rows.append(renamed(best, case.program))
    return rows


def by_unit(samples: Sequence[Sample], unit: str) -> dict[str, list[float]]:
    """Return the samples of each unit; a bare number is of the given one."""
    values: dict[str, list[float]] = {}
    for sample in samples:
        for name, value in (sample if isinstance(sample, dict) else {unit: sample}).items():
            values.setdefault(name, []).append(value)
    return values


def row_from(
    suite: str,
    program: str,
    system: str,
    size: Mapping[str, int | str],
    unit: str,
    found: Spread,
) -> Row:
    return Row(suite, program, system, size, found.median, unit, found.low, found.high)


def renamed(row: Row, program: str) -> Row:
    found = Spread(row.value, row.low, row.high)
    return row_from(row.suite, program, row.system, row.size, row.unit, found)

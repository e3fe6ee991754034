"""A certificate as one record, and its file: readable, canonical, with a sum against damage."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from itertools import chain
from pathlib import Path
from typing import Any, cast

from ostinato.certificate.extracted_terms import Term, check_used, read_terms, terms_data
from ostinato.certificate.order import Layout, Timeline
from ostinato.certificate.spelled import read_record, record_data
from ostinato.pdg.errors import ArgumentError, CertificateError, to_write
from ostinato.pdg.functions import HALVES
from ostinato.pdg.index import Dim, Slice
from ostinato.pdg.node import Pdg
from ostinato.pdg.text.serial import program_data, read_program
from ostinato.pdg.text.spelling import (
    Plain,
    Spelling,
    Unreadable,
    entries,
    fields,
    is_list,
    is_record,
    items,
    text,
)
from ostinato.rewrite.engine.rule import Rule, texts_of
from ostinato.rewrite.terms.term import read_fact, read_term

FORMAT = "ostinato certificate"
VERSION = 12
_NAMES: tuple[str, ...] = (
    "format", "version", "compiler", "dims", "source", "prepared", "rules", "hints", "terms",
    "roots", "extracted", "schedule", "sum",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hints:
    """What steered the rules: true or not, no equality depends on it.

    - ``nest``: dimensions as vector axes nest, outermost first;
    - ``wanted``: dimensions that values should become axes over, by node of the source;
    - ``free``: dimensions of which all points exist before recurrences run, by node;
    - ``ranges``: what rules were told of that the extracted terms do not name;
    - ``joined``: nodes that stand one behind the other along an axis, for one product of all.
    """

    nest: tuple[Dim, ...]
    wanted: Mapping[int, tuple[Dim, ...]]
    free: Mapping[int, tuple[Dim, ...]]
    ranges: tuple[Slice, ...] = ()
    joined: tuple[tuple[int, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Roots:
    """The terms of the outputs and of the cases of the recurrences that they need, by name."""

    outputs: Mapping[str, int]
    definitions: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The printed plan, its order and memory, its options, and a digest of its kernels.

    ``layouts`` are the arena at a few extents; ``checked`` kernels compare every address.
    """

    plan: tuple[str, ...]
    order: Timeline
    layouts: tuple[Layout, ...]
    hints: Mapping[str, int]
    widths: Mapping[str, int]
    workers: int
    exact: bool
    memory_limit: int
    spill: bool
    storage: str
    without: tuple[str, ...]
    checked: bool
    source_sha256: str


@dataclass(frozen=True)
class Certificate:
    """Everything that a certificate says.

    ``compiler`` is a digest of the code that made it: only that makes the same plan again.
    ``prepared`` is the source with its cases drawn anew, where that was done before rules ran.
    ``batched`` are the dimensions that became leading axes of recurrences, outermost first, and
    ``separate`` those of which points may be computed side by side besides.
    Without ``terms`` nothing was rewritten: the extracted program is the source.
    """

    compiler: str
    dims: tuple[Dim, ...]
    source: Pdg
    prepared: Pdg | None
    rules: tuple[Rule, ...]
    hints: Hints
    terms: tuple[Term, ...]
    roots: Roots
    extracted: Pdg
    batched: Mapping[str, tuple[Dim, ...]]
    separate: tuple[Dim, ...]
    schedule: Schedule


def to_data(certificate: Certificate) -> dict[str, Plain]:
    """A certificate as plain data, complete with its sum."""
    c, names = certificate, Spelling()
    body: dict[str, Plain] = {
        "format": FORMAT,
        "version": VERSION,
        "compiler": c.compiler,
        "dims": [],  # known once everything else is written
        "source": program_data(c.source, names),
        "prepared": None if c.prepared is None else program_data(c.prepared, names),
        "rules": [_rule_data(rule) for rule in c.rules],
        "hints": record_data(c.hints, names),
        "terms": terms_data(c.terms, names),
        "roots": record_data(c.roots, names),
        "extracted": {
            "batched": {name: [names.name(d) for d in axes] for name, axes in c.batched.items()},
            "separate": [names.name(d) for d in c.separate],
            "program": program_data(c.extracted, names),
        },
        "schedule": record_data(c.schedule, names),
    }
    body["dims"] = names.dims()
    return {**body, "sum": sum_of(body)}


def _rule_data(rule: Rule) -> Plain:
    values = texts_of(rule).items()
    return {name: list(v) if isinstance(v, tuple) else v for name, v in values}


def sum_of(body: Mapping[str, Plain]) -> str:
    """A digest of everything but itself: it finds damage, it proves nothing."""
    kept = {name: value for name, value in body.items() if name != "sum"}
    line = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(line.encode()).hexdigest()


def to_text(data: Mapping[str, Plain]) -> str:
    """JSON with one line per node, term, rule and line of the plan."""
    return _layer(data, 0, 3) + "\n"


def _layer(data: Plain, depth: int, deepest: int) -> str:
    """Lists and records from the outside down to a depth take a line per element."""
    if depth < deepest and is_record(data) and data:
        lines = [f"{json.dumps(k)}: {_layer(v, depth + 1, deepest)}" for k, v in data.items()]
        return _lines("{}", lines, depth)
    if depth < deepest and is_list(data) and data:
        return _lines("[]", [json.dumps(v) for v in data], depth)
    return json.dumps(data)


def _lines(brackets: str, lines: Sequence[str], depth: int) -> str:
    indent = "\n" + " " * depth
    return brackets[0] + ",".join(f"{indent} {line}" for line in lines) + indent + brackets[1]


def write(certificate: Certificate, path: Path) -> None:
    """Write a certificate file.

    Errors: CertificateError if the file cannot be written.
    """
    try:
        path.write_text(to_text(to_data(certificate)), encoding="utf-8")
    except OSError as problem:
        fact = f"the certificate `{path}` cannot be written: {problem.strerror}"
        raise CertificateError(fact, to_write(problem)) from None


def read(path: Path) -> Certificate:
    """Read a certificate file; nothing in it is believed yet.

    Errors: CertificateError if it is no certificate, of another version, or damaged.
    """
    try:
        return _from_data(_loaded(path))
    except (Unreadable, RecursionError) as problem:
        raise _refused(f"`{path}`", problem) from None


def _loaded(path: Path) -> Plain:
    try:
        found: Plain = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once)
    except OSError as problem:
        fact = f"the certificate `{path}` cannot be read: {problem.strerror}"
        raise CertificateError(fact, "Give the path of a certificate file.") from None
    except ValueError as problem:
        raise Unreadable(f"it is no JSON ({problem})") from None
    return found


def _once(pairs: list[tuple[str, Plain]]) -> dict[str, Plain]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Unreadable(f"a field stands twice in {[name for name, _ in pairs]}")
    return found


def _refused(what: str, problem: Exception) -> CertificateError:
    remedy = "Write it again with `program.compile(certificate=path)`."
    return CertificateError(f"{what} is no intact certificate: {problem}", remedy)


def from_data(data: Plain) -> Certificate:
    """The record of a certificate's plain data.

    Errors: CertificateError.
    """
    try:
        return _from_data(data)
    except (Unreadable, RecursionError) as problem:
        raise _refused("this", problem) from None


def _from_data(data: Plain) -> Certificate:
    kind = entries(data, "the certificate").get("format"), entries(data, "it").get("version")
    if kind != (FORMAT, VERSION):
        raise Unreadable(f"it is {kind[0]!r} version {kind[1]!r}, not {FORMAT!r} version {VERSION}")
    values: dict[str, Plain] = dict(
        zip(_NAMES, fields(data, "the certificate", *_NAMES), strict=True)
    )
    if values["sum"] != sum_of(values):
        raise Unreadable("its sum does not fit its contents")
    names = Spelling.read_dims(values["dims"])
    source = read_program(values["source"], names, "the source")
    prepared = values["prepared"]
    extracted = values["extracted"], "extracted"
    batched, separate, program = fields(*extracted, "batched", "separate", "program")
    axes = {name: _dims(d, names, name) for name, d in entries(batched, "batched").items()}
    found = Certificate(
        text(values["compiler"], "the compiler"),
        tuple(names.names),
        source,
        None if prepared is None else read_program(prepared, names, "the prepared program"),
        tuple(_read_rule(rule, k) for k, rule in enumerate(items(values["rules"], "the rules"))),
        read_record(Hints, values["hints"], "the hints", names),
        read_terms(values["terms"], names),
        read_record(Roots, values["roots"], "the roots", names),
        read_program(program, names, "the extracted program"),
        axes,
        _dims(separate, names, "separate"),
        _read_schedule(values["schedule"], names),
    )
    roots = (*found.roots.outputs.values(), *chain(*found.roots.definitions.values()))
    check_used(found.terms, roots)
    if _nodes(to_data(found)) != _nodes(values):
        raise Unreadable("it has nodes that nothing refers to, or one of them twice")
    return found


def _nodes(data: Plain) -> list[int]:
    """How many nodes each program of a certificate has, in the order of the file."""
    if not is_record(data):
        return []
    own = [len(items(data["nodes"], "nodes"))] if "nodes" in data else []
    return own + [count for value in data.values() for count in _nodes(value)]


def _dims(data: Plain, names: Spelling, what: str) -> tuple[Dim, ...]:
    return tuple(names.dim(d, what) for d in items(data, what))


def _read_rule(data: Plain, k: int) -> Rule:
    what = f"rule {k}"
    names = [f.name for f in dataclass_fields(Rule)]
    found = dict(zip(names, fields(data, what, *names), strict=True))
    values: dict[str, object] = {}
    try:
        for name, value in found.items():
            if name in ("when", "also", "bits"):
                values[name] = tuple(read_fact(text(v, what)) for v in items(value, what))
            else:
                said = text(value, what)
                values[name] = read_term(said) if name in ("left", "right") else said
        return Rule(**cast(dict[str, Any], values))
    except ValueError as problem:
        raise Unreadable(f"{what}: {problem}") from None
    except ArgumentError as problem:  # a word that is none of a field's
        raise Unreadable(f"{what}: {problem.fact}") from None


def _read_schedule(data: Plain, names: Spelling) -> Schedule:
    found = read_record(Schedule, data, "the schedule", names)
    if found.spill and not found.memory_limit:
        raise Unreadable("histories lie in a file without a limit of memory")
    if found.storage not in ("float32", *HALVES):
        raise Unreadable(f"what is kept has the type {found.storage!r}")
    return found

"""The certificate of a compilation: what rewriting chose and from what, and the plan."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ostinato.certificate.document import Certificate, Hints, Roots, Schedule
from ostinato.certificate.equality import Unequal, check_equality
from ostinato.certificate.extracted_terms import Field, Recurrent, Shape, Term, is_leaf_number
from ostinato.certificate.replay import planned
from ostinato.compiler.code_digest import code_digest
from ostinato.compiler.options import Request
from ostinato.compiler.pipeline import optimize_pdg
from ostinato.pdg.errors import CertificateError
from ostinato.pdg.half_storage import encoded
from ostinato.pdg.index import Dim, Slice
from ostinato.pdg.node import Concat, Node, Pdg
from ostinato.pdg.pass_record import ADDED
from ostinato.pdg.text.serial import numbered
from ostinato.rewrite.engine.egglog_session import Cell
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.extract.export import ENode
from ostinato.rewrite.load.tables import Loaded
from ostinato.rewrite.optimize import Evidence, Optimized
from ostinato.rewrite.registry import RuleSet, every_rule
from ostinato.rewrite.terms.signature import SIGNATURE
from ostinato.runtime.cache.programs import directory_of
from ostinato.runtime.run.executor import Executable


@dataclass(frozen=True)
class Compilation:
    """What a certificate is about: what was asked for, and the results."""

    source: Pdg
    rules: RuleSet
    optimized: Optimized
    schedule: Schedule


def certificate_of(request: Request, executable: Executable) -> Certificate:
    """Return the certificate of a compiled program; its rewriting and planning run again.

    Errors: CertificateError if they do not give the compiled program.
    """
    if unproved := [name for name in ADDED if name not in request.options.without]:
        fact = f"no certificate covers the pass `{unproved[0]}`, which the program added"
        raise CertificateError(fact, f'Compile with without=["{unproved[0]}"].')
    rules = every_rule() if request.rules is None else request.rules
    options = replace(request.options, threads=request.options.threads or executable.threads)
    optimized = optimize_pdg(encoded(request.pdg), rules, options)
    schedule = planned(optimized, options)
    found = hashlib.sha256(executable.artifact.source.encode()).hexdigest()
    if schedule.source_sha256 != found:
        fact = "the compiled program is not what compiling it again gives"
        remedy = f"Remove {directory_of(executable.key)} and compile again."
        raise CertificateError(fact, remedy)
    return certify(Compilation(request.pdg, rules, optimized, schedule))


def certify(made: Compilation) -> Certificate:
    """Return the certificate of a compilation.

    It names the rules that made the chosen terms. If these are not enough to show that the terms
    are equal to the source, it names every rule that fired, and then also says all that the rules
    were told of, which takes longer to check.
    """
    optimized = made.optimized
    if optimized.evidence is None:
        return _certificate(made, (), (), Roots({}, {}), Hints((), {}, {}))
    terms, roots, makers = _terms(optimized.evidence)
    source = optimized.evidence.loaded.pdg
    hints = _hints(optimized.evidence.loaded, numbered(source))
    few = tuple(rule for rule in made.rules if rule.name in makers)
    fired = tuple(rule for rule in made.rules if optimized.report.rules.get(rule.name))
    found = _certificate(made, few, terms, roots, hints)
    for each in (found, replace(found, rules=fired)):
        try:
            check_equality(each, source)
        except Unequal:
            continue
        return each
    told = _told(optimized.evidence.loaded, hints, numbered(source))
    return replace(found, rules=fired, hints=told)


def _certificate(
    made: Compilation,
    rules: tuple[Rule, ...],
    terms: tuple[Term, ...],
    roots: Roots,
    hints: Hints,
) -> Certificate:
    optimized = made.optimized
    return Certificate(
        compiler=code_digest(),
        dims=hints.nest or made.source.dims(),
        source=made.source,
        prepared=_prepared(made),
        rules=rules,
        hints=hints,
        terms=terms,
        roots=roots,
        extracted=optimized.pdg,
        batched=optimized.batched,
        separate=optimized.separate,
        schedule=made.schedule,
    )


def _prepared(made: Compilation) -> Pdg | None:
    """The program that the rules began with, if it is not the source."""
    evidence = made.optimized.evidence
    if evidence is None or evidence.loaded.pdg is encoded(made.source):
        return None
    return None if evidence.loaded.pdg == encoded(made.source) else evidence.loaded.pdg


def _terms(evidence: Evidence) -> tuple[tuple[Term, ...], Roots, frozenset[str]]:
    """The chosen terms, operands first, which of them are roots, and the rules that made them."""
    selection, loaded = evidence.selection, evidence.loaded
    roots = [*selection.outputs, *selection.definitions.values()]
    numbers: dict[int, int] = {}
    terms: list[Term] = []
    makers: set[str] = set()
    for number in selection.terms.reachable(roots):
        item = selection.terms.items[number]
        enode = item.enode
        makers.update(evidence.graph.origins.get((enode.op, enode.fields), ()))
        numbers[number] = len(terms)
        terms.append(Term(enode.op, _fields(evidence, enode), tuple(numbers[k] for k in item.kids)))
    names = [name for name, _ in loaded.pdg.outputs]
    outputs = {n: numbers[t] for n, t in zip(names, selection.outputs, strict=True)}
    definitions: dict[str, tuple[int, ...]] = {}
    for (rec, _), term in selection.definitions.items():
        name = loaded.tables.recs[rec].name
        definitions[name] = (*definitions.get(name, ()), numbers[term])
    return tuple(terms), Roots(outputs, definitions), frozenset(makers)


def _fields(evidence: Evidence, enode: ENode) -> tuple[Field | Shape, ...]:
    letters = SIGNATURE[enode.op]
    pairs = list(zip(letters, enode.fields, strict=True))
    kept = [(letter, cell) for letter, cell in pairs if letter != "T"]
    return tuple(
        _field(evidence, (enode.op, letter, k), cell) for k, (letter, cell) in enumerate(kept)
    )


def _field(evidence: Evidence, at: tuple[str, str, int], cell: Cell) -> Field | Shape:
    op, letter, place = at
    tables = evidence.loaded.tables
    match letter:
        case "S":
            return str(cell)
        case "D":
            return tables.dims_in(int(cell))[0]
        case "A":
            return tables.attributes[int(cell)]
        case "H":
            return evidence.graph.shapes[int(cell)]
        case "N" if op == "rec":
            known = tables.recs[int(cell)]
            return Recurrent(known.name, known.axes)
        case "N" if is_leaf_number(op, place):
            return tables.leaves[int(cell)]
        case _:
            return int(cell)


def _hints(loaded: Loaded, nodes: Sequence[Node]) -> Hints:
    """What steered the rules, by the number of the source's nodes."""
    tables = loaded.tables
    nest = tuple(tables.dims_in(bit)[0] for bit in sorted(tables.nest, key=tables.nest.__getitem__))
    place = {node: k for k, node in enumerate(nodes)}
    of = {number: place[node] for node, number in loaded.ids.items() if node in place}

    def by_node(relation: str) -> Mapping[int, tuple[Dim, ...]]:
        rows = loaded.rows.get(relation, ())
        return {of[int(n)]: tables.dims_in(int(mask)) for n, mask in rows if int(n) in of}

    return Hints(nest, by_node("raw_want"), by_node("raw_free"))


def _told(loaded: Loaded, hints: Hints, nodes: Sequence[Node]) -> Hints:
    """Hints with the ranges and the joined operands that the rules began with."""
    place = {node: k for k, node in enumerate(nodes)}
    joined = tuple(
        (-node.op.axis, tuple(place[x] for x in node.args))
        for node in loaded.ids
        if isinstance(node.op, Concat) and node not in place and place.keys() >= set(node.args)
    )
    ranges = tuple(each for each in loaded.tables.attributes if isinstance(each, Slice))
    return replace(hints, ranges=ranges, joined=joined)

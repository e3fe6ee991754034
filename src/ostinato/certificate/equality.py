"""The equality of source and extracted program, in an e-graph with nothing but the named rules.

Rules run until every root of the extracted program is in the class of its counterpart in the
source: the outputs, and every case of every recurrence that they need, which for a recurrence with
axes is the case of the source at all points of these. So whatever solves the source's equations
solves the extracted ones; since those have one solution (see `ostinato.certificate.order`), the
outputs are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ostinato.certificate.document import Certificate
from ostinato.certificate.egraph_rows import (
    Rows,
    add_hints,
    add_program,
    add_terms,
    define_twins,
    sliced,
)
from ostinato.certificate.index_facts import Numbers
from ostinato.certificate.rule_proofs import Unproved, check_texts
from ostinato.pdg.index import Dim, Expr, product
from ostinato.pdg.node import Pdg
from ostinato.pdg.separate import loops_of, separate_dims
from ostinato.pdg.text.serial import numbered
from ostinato.rewrite.engine.egglog_session import Cell, Engine, EngineError, Session
from ostinato.rewrite.engine.language import program
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.relations.sexpr import heads
from ostinato.rewrite.terms.signature import HEADS

MOST_ROUNDS = 200  # as many as rewriting may take: what deeper networks need grows with their depth
MOST_ROWS = 1_000_000


class Unequal(Exception):
    """The extracted program was not shown to be equal to the source; the text names the root."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Terms that must turn out equal, and what they are."""

    about: str
    source: int
    extracted: int


def check_equality(certificate: Certificate, source: Pdg) -> str:
    """Show that the extracted terms equal the source; ``source`` has the bits of halves.

    Errors: Unequal.
    """
    _check_rules(certificate.rules)
    _check_batched(source, certificate.batched)
    rows = Rows(Numbers(certificate.dims))
    add_program(rows, source)
    define_twins(rows, source, certificate.batched)
    pairs = _pairs(rows, certificate, source)
    _check_hints(certificate, source)
    add_hints(rows, certificate.hints, numbered(source), loops_of(separate_dims(source)))
    try:
        with Session(program(certificate.rules)) as engine:
            return _saturate(engine, rows, pairs)
    except EngineError as problem:
        raise Unequal(f"the rules contradict each other on this program ({problem.fact})") from None


def _check_rules(rules: Sequence[Rule]) -> None:
    """Refuse rules whose text is more than a rule, before it is run."""
    try:
        check_texts(rules)
    except Unproved as problem:
        raise Unequal(str(problem)) from None
    check_relations(rules)


def check_relations(rules: Sequence[Rule]) -> None:
    """Refuse rules that ask for facts that nobody here can decide."""
    for rule in rules:
        for fact in rule.when:
            for head in heads(fact.tree):
                if not (head in HEADS or head in _COMPARED):
                    raise Unequal(f"the rule `{rule.name}` asks for `{head}`, which is not known")


_COMPARED = frozenset(("=", "!=", "<", "<="))


def _check_batched(source: Pdg, batched: Mapping[str, tuple[Dim, ...]]) -> None:
    """A dimension may become an axis where each point of it has the same cases and shape."""
    for name, axes in batched.items():
        equation = source.equations.get(name)
        if equation is None:
            raise Unequal(f"`{name}` has axes, but no equations in the source")
        fixed = {d for size in equation.rec.shape for d in size.dims}
        fixed |= {d for cond, _ in equation.cases for d in cond.dims}
        wrong = [d for d in axes if d not in equation.rec.domain or d in fixed]
        if wrong or len(set(axes)) < len(axes) or not axes:
            names = ", ".join(f"`{d}`" for d in wrong or axes)
            raise Unequal(f"{names} cannot be axes of `{name}`")


def _check_hints(certificate: Certificate, source: Pdg) -> None:
    hints, count = certificate.hints, len(numbered(source))
    if set(hints.nest) != set(certificate.dims) or len(hints.nest) != len(certificate.dims):
        raise Unequal("`nest` does not name every dimension once")
    joined = chain(*(places for _, places in hints.joined))
    if any(k >= count for k in (*hints.wanted, *hints.free, *joined)):
        raise Unequal("a hint is about a node that the source does not have")


def _pairs(rows: Rows, certificate: Certificate, source: Pdg) -> list[Pair]:
    """Every output, and every case of every recurrence, on both sides."""
    numbers = add_terms(rows, certificate.terms)
    roots = certificate.roots
    if [name for name, _ in source.outputs] != list(roots.outputs):
        raise Unequal(f"the outputs are {list(roots.outputs)}, not those of the source")

    def term(number: int, about: str) -> int:
        if number >= len(numbers):
            raise Unequal(f"{about} is term {number} of {len(numbers)}")
        return numbers[number]

    out = [
        Pair(f"the output `{name}`", rows.nodes[node], term(roots.outputs[name], f"`{name}`"))
        for name, node in source.outputs
    ]
    for name, extracted in roots.definitions.items():
        equation = source.equations.get(name)
        if equation is None or len(equation.cases) != len(extracted):
            raise Unequal(f"`{name}` does not have the cases of the source")
        axes = certificate.batched.get(name, ())
        for k, ((_, right), number) in enumerate(zip(equation.cases, extracted, strict=True)):
            about = f"case {k} of `{name}`"
            out.append(Pair(about, sliced(rows, rows.nodes[right], axes), term(number, about)))
    return out


def _saturate(engine: Engine, rows: Rows, pairs: Sequence[Pair]) -> str:
    """Run rules in rounds until all pairs are equal."""
    engine.insert(rows.everything())
    engine.run("load")
    for rounds in range(MOST_ROUNDS):
        updated = _unite_sizes(engine, rows.numbers)
        engine.execute("(run-schedule (saturate (run analysis)))")
        missing = _unequal(engine, pairs)
        if not missing:
            size = engine.size()
            return f"{len(pairs)} roots equal after {rounds} rounds, {size} rows"
        for ruleset in ("normal", "seed", "spread", "rewrite"):
            updated |= _run(engine, ruleset)
        if not updated:
            raise Unequal(f"{missing[0].about} is not shown to be that of the source")
        if engine.size() > MOST_ROWS:
            break
    limit = f"{MOST_ROUNDS} rounds and {MOST_ROWS} rows"
    raise Unequal(f"the programs are not shown to be equal within {limit}")


def _run(engine: Engine, ruleset: str) -> bool:
    """Run rules once, or until nothing is new, then analyses; says whether anything was new."""
    is_new = again = engine.run(ruleset).updated
    while again and ruleset in ("normal", "spread") and engine.size() <= MOST_ROWS:
        again = engine.run(ruleset).updated
    engine.execute("(run-schedule (saturate (run analysis)))")
    return is_new


def _unequal(engine: Engine, pairs: Sequence[Pair]) -> list[Pair]:
    classes = {inputs[0]: out for inputs, out in engine.tables(["node"])["node"].rows}
    return [pair for pair in pairs if classes[pair.source] != classes[pair.extracted]]


def _unite_sizes(engine: Engine, numbers: Numbers) -> bool:
    """Products of sizes are what they are by arithmetic: each is united with its value."""
    tables = engine.tables(["size", "times"])
    exprs = {k: e for e, k in numbers.known.items() if isinstance(e, Expr)}
    texts: dict[Cell, tuple[str, Expr]] = {}
    for (k,), out in tables["size"].rows:
        texts.setdefault(out, (f"(size {k})", exprs[int(k)]))
    commands: list[str] = []
    for (a, b), out in _in_order(list(tables["times"].rows), texts):
        value = product((texts[a][1], texts[b][1]))
        if value not in numbers.known:
            commands.append(f"(set (mask {numbers.of(value)}) {numbers.mask(value.dims)})")
        k = numbers.of(value)
        if out not in texts:
            texts[out] = f"(size {k})", value
            commands.append(f"(union (times {texts[a][0]} {texts[b][0]}) (size {k}))")
    if commands:
        engine.execute("\n".join(commands))
    return bool(commands)


def _in_order(
    pending: list[tuple[tuple[Cell, ...], Cell]], known: Mapping[Cell, object]
) -> Iterator[tuple[tuple[Cell, ...], Cell]]:
    """Products after their factors; ``known`` grows while this runs."""
    while pending:
        ready = [row for row in pending if all(part in known for part in row[0])]
        if not ready:
            return
        yield from ready
        pending = [row for row in pending if row not in ready]

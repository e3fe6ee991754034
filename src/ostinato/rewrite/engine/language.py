"""The program for egglog: sorts, how rows become terms, analyses, and the text of rules."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import cache, lru_cache
from typing import Literal

from ostinato.rewrite.engine.analyses import DECLARATIONS, analyses, idle_terms, variables
from ostinato.rewrite.engine.egglog_session import Program
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.relations import RELATIONS
from ostinato.rewrite.terms.signature import SIGNATURE
from ostinato.rewrite.terms.term import Expression, Fact, Operand, Term, Variable, written

_SORT = {"S": "String", "N": "i64", "D": "i64", "A": "i64", "H": "H", "T": "T"}

_DECLARATIONS = """
(sort T) (sort H) (sort Z)
(constructor node (i64) T :unextractable) (constructor hnode (i64) H :unextractable)
(relation raw_nil (i64)) (relation raw_cons (i64 i64 i64))
(relation raw_facts (i64 i64 i64))
(ruleset load) (ruleset analysis) (ruleset views) (ruleset idle) (ruleset normal) (ruleset seed)
(ruleset spread) (ruleset always)
"""

# A rule that asks for a relation which is empty can never fire, but trying it takes as long as if
# it could.
GATES = tuple(relation.name for relation in RELATIONS.values() if relation.gate)

_LOADING = """
(rule ((raw_nil i)) ((union (hnode i) (nil))) :ruleset load :name "load/nil")
(rule ((raw_cons i z h)) ((union (hnode i) (cons (size z) (hnode h)))) :ruleset load
  :name "load/cons")
(rule ((raw_facts i d h)) ((set (dom (node i)) d) (set (shape (node i)) (hnode h)))
  :ruleset load :name "load/facts")
"""


def _load_rule(op: str) -> str:
    fields = variables(op)
    wrap = {"T": "(node {})", "H": "(hnode {})"}
    args = [wrap.get(c, "{}").format(v) for c, v in zip(SIGNATURE[op], fields, strict=True)]
    raw = f"(raw_{op} i {' '.join(fields)})"
    head = f"(union (node i) ({op} {' '.join(args)}))"
    return f'(rule ({raw}) ({head}) :ruleset load :name "load/{op}")'


def rule_text(rule: Rule) -> str:
    """A rule in egglog's language; every operator that it adds is noted with the rule's name.

    An operator that stands in several places is made once: egglog's memory grows with the text.
    """
    alike: list[str] = []
    seen: set[str] = set()
    left = _apart(rule.left, seen, alike)
    types = {x for fact in rule.when for x in _types_of(fact)}
    when = [_apart_in(_single(fact), seen, alike, types) for fact in rule.when]
    facts = " ".join((f"(= lhs {left})", *alike, *when))
    made: dict[str, str] = {}
    right = _shared(rule.right, made)
    asked: tuple[Expression | Fact, ...] = rule.left, *rule.when
    there = {written(term) for form in asked for term in _operators(form)}
    new = [term for term in _operators(rule.right) if written(term) not in there]
    notes = [_note(_applied(term, made), rule.name) for term in dict.fromkeys(new)]
    also = [_applied(_single(fact, "set"), made) for fact in rule.also]
    lets = [f"(let {name} {term})" for term, name in made.items()]
    actions = " ".join((*lets, f"(union lhs {right})", *notes, *also))
    return f'(rule ({facts}) ({actions}) :ruleset {_ruleset(rule)} :name "{rule.name}")'


def _ruleset(rule: Rule) -> str:
    """The rules of a phase; of the last one, those that the same relation lets in."""
    if rule.phase != "rewrite":
        return rule.phase
    asked = {fact.head for fact in rule.when}
    return next((f"if_{gate}" for gate in GATES if gate in asked), "always")


def opening(name: str, filled: Container[str]) -> str:
    """The command that names the rules of the last phase which can fire.

    ``filled``: the relations that loading gave rows.
    """
    gates = (g for g in GATES if is_open(g, filled))
    return f"(unstable-combined-ruleset {name} {' '.join(('always', *(f'if_{g}' for g in gates)))})"


def is_open(gate: str, filled: Container[str]) -> bool:
    """Whether loading gave the relation of a gate rows, or what makes them."""
    relation = RELATIONS.get(gate)
    sources = (gate, f"raw_{gate}", relation.opened_by if relation else "")
    return any(source in filled for source in sources)


def _shared(term: Operand, made: dict[str, str]) -> str:
    """A term whose operators have names; what they stand for is added, innermost first."""
    if not isinstance(term, Term):
        return written(term)
    text = _applied(term, made)
    return made.setdefault(text, f"made{len(made)}") if term.head in SIGNATURE else text


def _applied(form: Term | Fact, made: dict[str, str]) -> str:
    """A head with fields whose operators have names."""
    return f"({' '.join((form.head, *(_shared(field, made) for field in form.fields)))})"


def _operators(form: Operand | Fact) -> Iterator[Term]:
    """The operators of a term or a fact, innermost first."""
    if isinstance(form, Term | Fact):
        for field in form.fields:
            yield from _operators(field)
    if isinstance(form, Term) and form.head in SIGNATURE:
        yield form


def _note(term: str, rule: str) -> str:
    return f'(why_{term[1:-1]} "{rule}")'


def _apart(term: Operand, seen: set[str], alike: list[str]) -> str:
    """A pattern in which no number occurs twice; ``alike`` takes what says so afterwards.

    egglog would begin with the numbers that parts of a pattern share: with every three slices of
    the same steps, of which hardly any meet in one operator.
    """
    letters = _fields_of(term.head) if isinstance(term, Term) else ""
    if not isinstance(term, Term) or len(term.fields) != len(letters):
        return written(term)  # no operator, or one that egglog refuses
    out = [term.head]
    for field, letter in zip(term.fields, letters, strict=True):
        text = written(field)
        if letter == "T":
            out.append(_apart(field, seen, alike))
        elif letter in "NDA" and isinstance(field, Variable) and text in seen:
            out.append(f"{text}_{len(alike)}")
            alike.append(f"(= 0 (- {text} {out[-1]}))")
        else:
            seen.add(text)
            out.append(text)
    return f"({' '.join(out)})"


def _fields_of(head: str) -> str:
    relation = RELATIONS.get(head)
    if relation is None or not relation.apart:
        return SIGNATURE.get(head, "")
    keys = list(relation.columns.values())[: relation.keyed or None]
    return "".join("T" if kind == "term" else "N" for kind in keys)


def _types_of(fact: Fact) -> Iterator[Operand]:
    """The types for which a fact asks for a number."""
    relation = RELATIONS.get(fact.head)
    pairs = zip(fact.fields, relation.columns.values(), strict=False) if relation else ()
    yield from (field for field, kind in pairs if kind == "type")


def _apart_in(fact: Fact, seen: set[str], alike: list[str], types: Container[Operand]) -> str:
    """The same for a fact about the one inner value of a range, or what a term is along one.

    Of the ``types`` egglog would take every term: there are two or three.
    """
    match fact:
        case Fact("=", (Variable() as left, Term("dtype") as right)) if left in types:
            mine = f"{written(left)}_{len(alike)}"
            same = [f"(= 1 (count-matches {a} {b}))" for a, b in ((left, mine), (mine, left))]
            alike += same
            return f"(= {mine} {written(right)})"
        case Fact("=", (left, Term(head) as right)) if head in RELATIONS and RELATIONS[head].apart:
            return f"(= {written(left)} {_apart(right, seen, alike)})"
        case _:
            return str(fact)


def _single(fact: Fact, verb: Literal["=", "set"] = "=") -> Fact:
    """A fact as egglog keeps it: one factor, and one line, of a value is enough.

    A choice between two products would otherwise have every combination of their factors.
    """
    relation = RELATIONS.get(fact.head)
    if relation is None or not relation.keyed or len(fact.fields) != len(relation.columns):
        return fact
    keys, values = fact.fields[: relation.keyed], fact.fields[relation.keyed :]
    found = Term(fact.head, keys)
    value = Term(relation.joined, values) if relation.joined else values[0]
    return Fact("set", (found, value)) if verb == "set" else Fact("=", (value, found))


def program(rules: tuple[Rule, ...], filled: Container[str] | None = None) -> Program:
    """The egglog program: sorts, operators, loading and analyses, then the rules.

    Rules that a relation lets in are declared where it is ``filled`` (by default: all), since
    declaring all of them takes longer than many a saturation.
    """
    groups = _grouped(rules)
    shut = {f"if_{g}" for g in GATES if filled is not None and not is_open(g, filled)}
    gated = [_texts(group) for name, group in groups.items() if name and name not in shut]
    return Program(_base(), _texts(groups[""]), tuple(gated), rules)


@lru_cache(maxsize=16)
def _grouped(rules: tuple[Rule, ...]) -> dict[str, tuple[Rule, ...]]:
    """Rules by the relation that lets them in; those without one by an empty name."""
    out: dict[str, list[Rule]] = {"": []}
    for rule in rules:
        name = _ruleset(rule)
        out.setdefault(name if name.startswith("if_") else "", []).append(rule)
    return {name: tuple(group) for name, group in out.items()}


@lru_cache(maxsize=256)
def _texts(rules: tuple[Rule, ...]) -> tuple[str, ...]:
    return tuple(map(rule_text, rules))


@cache
def _base() -> tuple[str, ...]:
    lines = [
        _DECLARATIONS,
        DECLARATIONS,
        *(d for relation in RELATIONS.values() for d in relation.declarations()),
    ]
    for op, letters in SIGNATURE.items():
        sorts = " ".join(_SORT[c] for c in letters)
        raw = " ".join("String" if c == "S" else "i64" for c in letters)
        lines.append(f"(constructor {op} ({sorts}) T) (relation raw_{op} (i64 {raw}))")
        lines.append(f"(relation why_{op} ({sorts} String))")
    lines += [_load_rule(op) for op in SIGNATURE]
    lines += [*(f"(ruleset if_{gate})" for gate in GATES), opening("rewrite", GATES)]
    lines += [_LOADING, *(r.loading() for r in RELATIONS.values() if r.is_loaded_by_number)]
    lines += [*analyses(), *idle_terms()]
    return tuple(command for line in lines for command in commands(line))


def commands(text: str) -> list[str]:
    """The top-level parenthesised forms of a text."""
    out: list[str] = []
    depth = start = 0
    for k, character in enumerate(text):
        if character == "(":
            start = k if depth == 0 else start
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0:
                out.append(text[start : k + 1])
    return out

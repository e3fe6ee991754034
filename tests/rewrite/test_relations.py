"""Each relation is one complete record, and nothing else lists what relations there are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import ostinato as ot
from ostinato.pdg.node import Pdg
from ostinato.rewrite.engine.language import program
from ostinato.rewrite.load.program_rows import load
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.relations import RELATIONS, saying
from ostinato.rewrite.relations.meanings import Equal, Steps
from ostinato.rewrite.relations.relation import Relation
from ostinato.rewrite.relations.row import in_words
from ostinato.rewrite.relations.sexpr import words
from tests.rewrite import programs
from tests.rewrite.instances import every_instance
from tests.rewrite.instances.instance import Sizes

SOURCE = Path(__file__).parents[2] / "src" / "ostinato"


def test_the_words_of_a_relation_name_its_columns() -> None:
    for relation in RELATIONS.values():
        named = set(re.findall(r"{(\w+)}", relation.words))
        assert named == set(relation.names) - {"e", "d"} | named & {"e", "d"}, relation.words


def test_what_a_relation_says_is_about_its_columns() -> None:
    columns = ("column", "fold", "function", "type", "first", "second", "dimension")
    for relation in RELATIONS.values():
        for claim in relation.says:
            for field in fields(claim):
                found = getattr(claim, field.name)
                if field.name in columns:
                    assert not isinstance(found, str) or found in ("", *relation.names), claim


def test_rules_analyses_or_loading_make_the_rows_of_every_relation() -> None:
    assert [name for name, relation in RELATIONS.items() if not is_made(relation)] == []


def is_made(relation: Relation) -> bool:
    match relation.made:
        case "loading":
            raw = f"raw_{relation.name}" if relation.is_loaded_by_number else relation.name
            return raw in loaded()
        case "rules":
            asserted = (fact for rule in every_rule() for fact in rule.also)
            return any(fact.head == relation.name for fact in asserted)
        case "analysis":
            analyses = (c for c in program(()).base if ":ruleset analysis" in c)
            return any(f"({relation.name} " in c.partition(")) (")[2] for c in analyses)


@cache
def loaded() -> frozenset[str]:
    """The relations that have rows in an instance of a rule."""
    instances = (instance.build(Sizes()) for instance in every_instance())
    every = map(load, (*instances, stopping(), *(build() for build in programs.ALL.values())))
    return frozenset(name for found in every for name, rows in found.rows.items() if rows)


def stopping() -> Pdg:
    """A return that an end of an episode sets to 0."""
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    y = ot.recurrent("y", over=(b, t))
    y[b, -1] = x[b, -1]
    y[b, t] = x + ot.where(x > 1, 0.0, y[b, t + 1])
    return ot.Program(y=y).pdg


def test_a_gate_is_a_relation_that_loading_fills_or_rules_make_from_one() -> None:
    gates = [relation for relation in RELATIONS.values() if relation.gate]
    assert gates and all(r.made == "loading" or r.opened_by in RELATIONS for r in gates)


def test_terms_of_claims_name_columns_and_operators_of_proofs() -> None:
    for name, claim in saying(Equal).items():
        known = {*RELATIONS[name].names, "r'", "other"}
        assert {*words(claim.term)} <= known, claim


def test_ranges_have_the_steps_that_their_words_say() -> None:
    found = {name: steps.ends(0, 3, 10) for name, steps in saying(Steps).items()}
    whole, runs = {"full": (0, 10)}, {"prefix": (0, 4), "suffix": (3, 10), "rest": (4, 10)}
    assert found == {**whole, **runs, "earlier": (0, 3), "shortened": (3, 9), "but_last": (0, 9)}


def test_a_rule_says_its_facts_in_words() -> None:
    assert in_words(("prefix", "d", "s")) == "s is 0 : d + 1"
    assert (
        in_words(("=", "q", ("shifted", "d", "s", "a")))
        == "q is s read at d = a, a constant further"
    )
    assert in_words(("=", 0, ("&", "d", ("dom", "x")))) == ""
    shown = str(every_rule()["incremental/running"])
    assert "\n  when  nearby(d, s, i, a, c)    s is 0 : d + 1, or d : the end if i; a is" in shown
    assert "\n  exact if  exactly(f, g)    the fold f repeats g, which does not round\n" in shown


def test_nothing_else_lists_relations() -> None:
    """Three or more names in one collection, or alternatives of a pattern, are a second table."""
    table = SOURCE / "rewrite" / "relations"
    parts = ("rewrite", "certificate", "inspection", "cli")
    files = [p for part in parts for p in sorted((SOURCE / part).rglob("*.py"))]
    wrong = [
        f"{path.relative_to(SOURCE)}:{line}: {names}"
        for path in files
        if table not in path.parents and "rules" not in path.parts
        for line, names in listed(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not wrong, "\n".join(wrong)


def listed(tree: ast.AST) -> Iterator[tuple[int, list[str]]]:
    """Collections and patterns of at least three names of relations, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Set(elts) | ast.List(elts) | ast.Tuple(elts):
                found = [e.value for e in elts if isinstance(e, ast.Constant)]
            case ast.MatchOr(patterns):
                values = (p.value for p in patterns if isinstance(p, ast.MatchValue))
                found = [v.value for v in values if isinstance(v, ast.Constant)]
            case _:
                continue
        if len(found) > 2 and all(name in RELATIONS for name in found):
            yield node.lineno, [str(name) for name in found]

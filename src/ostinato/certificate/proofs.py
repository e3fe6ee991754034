"""That the named rules are the ones of the table, and true.

A proof takes up to seconds, so what was proved is kept beside the compiled programs, by a digest of
the rule and of everything that proves it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple
from functools import cache as cached
from pathlib import Path
from typing import get_args

from ostinato.certificate.terms import Term
from ostinato.rewrite.prove.prover import Outcome, prove
from ostinato.rewrite.prove.text import parse, show
from ostinato.rewrite.registry import Exactness, Phase, Rule, RuleSet, Validity
from ostinato.runtime import cache

FOLDER = "proofs"
_NAME = re.compile("[a-z][a-z0-9-]*/[A-Za-z0-9][A-Za-z0-9-]*")


class Unproved(Exception):
    """A rule is not the one of the table, or not proved; the text names it."""


def check_makers(rules: Sequence[Rule], terms: Sequence[Term]) -> None:
    """Every rule that is said to have made a term is named.

    Errors: Unproved.
    """
    names = {rule.name for rule in rules}
    for k, term in enumerate(terms):
        unknown = [maker for maker in term.rules if maker not in names]
        if unknown:
            raise Unproved(f"term {k} was made by `{unknown[0]}`, which is not named")


def check_exact(rules: Sequence[Rule]) -> None:
    """A program that keeps every bit was rewritten by rules that do.

    Errors: Unproved.
    """
    kept = {rule.name for rule in RuleSet(tuple(rules)).exact()}
    wrong = [rule for rule in rules if rule.name not in kept]
    if wrong:
        fact = f"the rule `{wrong[0].name}` is {wrong[0].exact}"
        raise Unproved(f"{fact}, but the program is said to keep every bit")


def check_rules(rules: Sequence[Rule], table: RuleSet, afresh: bool = False) -> str:
    """Compare rules with those of the table and prove them; ``afresh``: forget older proofs.

    A rule that is not in the table is a user's own: its proof here is what counts.
    Errors: Unproved.
    """
    known = {rule.name: rule for rule in table}
    if len({rule.name for rule in rules}) < len(rules):
        raise Unproved("a rule is named twice")
    for rule in rules:
        if known.get(rule.name, rule) != rule:
            raise Unproved(f"the rule `{rule.name}` is not the one of the table")
        _check_text(rule)
    outcomes: Counter[Outcome] = Counter()
    kept = 0
    for rule in rules:
        found = None if afresh else _remembered(rule)
        kept += found is not None
        outcome = found or _decided(rule)
        outcomes[outcome] += 1
    parts = [f"{count} {outcome}" for outcome, count in sorted(outcomes.items())]
    own = sum(rule.name not in known for rule in rules)
    more = [f"{kept} of them earlier"] * bool(kept) + [f"{own} a user's own"] * bool(own)
    return ", ".join([" and ".join(reversed(parts)) or "no rules", *more])


def _check_text(rule: Rule) -> None:
    """The prover and the e-graph read the same: one expression, in its only spelling, per text."""
    for text in (rule.left, rule.right, *rule.when, *rule.also):
        try:
            again = show(parse(text))
        except ValueError:
            again = ""
        if again != text:
            raise Unproved(f"`{text}` of the rule `{rule.name}` is not one expression")
    if _NAME.fullmatch(rule.name) is None or rule.phase not in get_args(Phase):
        raise Unproved(f"the rule `{rule.name}` has no proper name or phase")
    if rule.exact not in get_args(Exactness) or rule.valid not in get_args(Validity):
        raise Unproved(f"the rule `{rule.name}` is {rule.exact}, {rule.valid}: no known claims")


def _decided(rule: Rule) -> Outcome:
    verdict = prove(rule)
    if verdict.outcome not in ("proved", "bounded"):
        raise Unproved(f"the rule `{rule.name}` is {verdict.outcome}: {verdict.why}")
    place = _place(rule)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(verdict.outcome, encoding="utf-8")
    except OSError:
        return verdict.outcome  # the next check proves it again
    return verdict.outcome


def _remembered(rule: Rule) -> Outcome | None:
    try:
        text = _place(rule).read_text(encoding="utf-8")
    except OSError:
        return None
    return "proved" if text == "proved" else "bounded" if text == "bounded" else None


def _place(rule: Rule) -> Path:
    return cache.root() / FOLDER / cache.digest(repr(astuple(rule)), prover_digest())


@cached
def prover_digest() -> str:
    """A hash of all code that a proof rests on."""
    total = hashlib.sha256()
    here = Path(__file__).parent.parent
    for path in (
        *sorted((here / "pdg").rglob("*.py")),
        *sorted((here / "rewrite" / "prove").glob("*.py")),
        here / "rewrite" / "lang.py",
        here / "rewrite" / "registry.py",
    ):
        total.update(path.read_bytes())
    return total.hexdigest()

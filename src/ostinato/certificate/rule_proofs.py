"""That the named rules are the ones of the table, one expression per text, and true.

Every process proves them itself: a file that says what was proved could be anybody's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import get_args

from ostinato.rewrite.engine.rule import Exactness, Phase, Rule, Validity
from ostinato.rewrite.prove.prover import Outcome, prove
from ostinato.rewrite.registry import RuleSet
from ostinato.rewrite.relations.sexpr import parse, show

_NAME = re.compile("[a-z][a-z0-9-]*/[A-Za-z0-9][A-Za-z0-9-]*")


class Unproved(Exception):
    """A rule is not the one of the table, or not proved; the text names it."""


def check_texts(rules: Sequence[Rule]) -> None:
    """The prover and the e-graph read the same: one expression, in its only spelling, per text.

    Errors: Unproved.
    """
    for rule in rules:
        _check_text(rule)


def _check_text(rule: Rule) -> None:
    for form in (rule.left, rule.right, *rule.when, *rule.also):
        try:
            is_one = show(parse(str(form))) == str(form)
        except ValueError:
            is_one = False
        if not is_one:
            raise Unproved(f"`{form}` of the rule `{rule.name}` is not one expression")
    if _NAME.fullmatch(rule.name) is None or rule.phase not in get_args(Phase):
        raise Unproved(f"the rule `{rule.name}` has no proper name or phase")
    if rule.exact not in get_args(Exactness) or rule.valid not in get_args(Validity):
        raise Unproved(f"the rule `{rule.name}` is {rule.exact}, {rule.valid}: no known claims")


def check_exact(rules: Sequence[Rule]) -> None:
    """A program that keeps every bit was rewritten by rules that do.

    Errors: Unproved.
    """
    kept = {rule.name for rule in RuleSet(tuple(rules)).exact()}
    wrong = [rule for rule in rules if rule.name not in kept]
    if wrong:
        fact = f"the rule `{wrong[0].name}` is {wrong[0].exact}"
        raise Unproved(f"{fact}, but the program is said to keep every bit")


def least_exact(rules: Sequence[Rule]) -> str:
    """What all of some rules promise together: the least of their classes."""
    found: set[str] = {rule.exact for rule in rules}
    order = ("distributes", "skips zeros", "reassociates", "zero signs")
    return next((kind for kind in order if kind in found), "exact")


def check_rules(rules: Sequence[Rule], table: RuleSet) -> str:
    """Compare rules with those of the table and prove them.

    A rule that is not in the table is a user's own: its proof here is what counts.
    Errors: Unproved.
    """
    known = {rule.name: rule for rule in table}
    if len({rule.name for rule in rules}) < len(rules):
        raise Unproved("a rule is named twice")
    for rule in rules:
        found = known.get(rule.name, rule)
        if rule not in (found, found.to_the_bit):
            raise Unproved(f"the rule `{rule.name}` is not the one of the table")
    check_texts(rules)
    _check_names(rules, known)
    outcomes = Counter(_decided(rule) for rule in rules)
    parts = [f"{count} {outcome}" for outcome, count in sorted(outcomes.items())]
    own = sum(rule.name not in known for rule in rules)
    more = [f"{own} a user's own"] * bool(own)
    return ", ".join([" and ".join(reversed(parts)) or "no rules", *more])


def _check_names(rules: Sequence[Rule], known: Mapping[str, Rule]) -> None:
    """A rule of the table goes by its own name."""
    named = {_law(rule): rule.name for rule in known.values()}
    for rule in rules:
        if rule.name not in known and _law(rule) in named:
            raise Unproved(f"the rule `{rule.name}` is `{named[_law(rule)]}` by another name")


def _law(rule: Rule) -> tuple[object, ...]:
    return rule.left, rule.right, rule.when, rule.also, rule.phase


@cache
def _decided(rule: Rule) -> Outcome:
    """What this process has found of a rule."""
    verdict = prove(rule)
    if verdict.outcome not in ("proved", "bounded"):
        raise Unproved(f"the rule `{rule.name}` is {verdict.outcome}: {verdict.why}")
    return verdict.outcome

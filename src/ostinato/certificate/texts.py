"""Texts of rules hold one expression each: the e-graph would run whatever else stands in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import get_args

from ostinato.rewrite.engine.rule import Exactness, Phase, Rule, Validity
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

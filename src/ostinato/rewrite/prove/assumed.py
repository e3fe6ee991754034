"""What a proof takes as given: the facts of a rule that other parts of the compiler answer for."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.engine.rule import REAL, Rule
from ostinato.rewrite.relations import RELATIONS
from ostinato.rewrite.relations.sexpr import Tree, parse

_NUMBERS = {
    "exact": "every rounding",
    "zero signs": "every rounding, zeros without a sign",
    **dict.fromkeys(REAL, "real numbers"),
}


def assumptions(rule: Rule) -> tuple[str, ...]:
    """What numbers are, where points lie, and the analyses of which the law uses an answer.

    >>> from ostinato.rewrite.registry import every_rule
    >>> assumptions(every_rule()["incremental/suffix-sum"])
    ('real numbers', 'points inside the box', 'ranges', 'ranks', 'shapes', 'types', \
'values of constants')
    """
    asked = (RELATIONS.get(head) for fact in rule.when for head in _heads(parse(fact)))
    topics = {relation.topic for relation in asked if relation is not None} - {""}
    inside = () if rule.valid == "everywhere" else ("points inside the box",)
    return (_NUMBERS[rule.exact], *inside, *sorted(topics))


def _heads(tree: Tree) -> Iterator[str]:
    if isinstance(tree, tuple) and tree:
        yield str(tree[0])
        for part in tree[1:]:
            yield from _heads(part)

"""What the facts of rules say, of what kinds their fields are, and what a proof takes as given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ostinato.rewrite.engine.rule import REAL, Rule
from ostinato.rewrite.relations import RELATIONS
from ostinato.rewrite.relations.meanings import Equal
from ostinato.rewrite.relations.relation import Kind
from ostinato.rewrite.relations.row import row
from ostinato.rewrite.relations.sexpr import Tree, heads
from ostinato.rewrite.terms.signature import SIGNATURE


def equations(fact: Tree, before: Mapping[str, Tree]) -> tuple[Tree, ...]:
    """A fact that names what a term is, as what it says of the term; any other as it is.

    ``before``: the terms that read a recurrence one step earlier.
    """
    found = row(fact)
    claims = found.claims(Equal) if found is not None else []
    if found is None or not claims:
        return (fact,)
    more: dict[str, Tree] = {}
    if "r" in found.cells:
        more["r'"] = before.get(found["r"], f"{found['r']}'")
    return tuple(("equal", found.cells[c.column], found.term(c.term, more)) for c in claims)


def _operators() -> Iterator[tuple[str, tuple[Kind, ...]]]:
    """The operators of proofs, which stand in claims only, and what their operands are."""
    for relation in RELATIONS.values():
        kinds = dict(zip(relation.names, relation.kinds, strict=True))
        for claim in relation.says:
            if isinstance(claim, Equal):
                for head, *names in _applications(claim.term):
                    if str(head) not in SIGNATURE:
                        yield str(head), tuple(kinds[str(n)] for n in names if str(n) in kinds)


def _applications(tree: Tree) -> Iterator[tuple[Tree, ...]]:
    if isinstance(tree, tuple):
        yield tree
        for part in tree[1:]:
            yield from _applications(part)


# What the fields of relations, functions and operators of proofs are.
FIELDS: dict[str, tuple[Kind, ...]] = {
    **{name: tuple(relation.columns.values()) for name, relation in RELATIONS.items()},
    **dict(_operators()),
}


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
    asked = (RELATIONS.get(head) for fact in rule.when for head in heads(fact.tree))
    topics = {relation.topic for relation in asked if relation is not None} - {""}
    inside = () if rule.valid == "everywhere" else ("points inside the box",)
    return (_NUMBERS[rule.exact], *inside, *sorted(topics))

"""Relations: all that rules may ask about terms, and that loading, analyses or rules make true.

In the order of the gates, the rarest first: a rule belongs to the first one that it asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from ostinato.rewrite.relations.about_points import CONDITIONS, CUTS, RECURRENCES, STEPS
from ostinato.rewrite.relations.about_ranges import (
    COUNTED,
    FOLLOWING,
    HALVES,
    HELD,
    KEPT,
    ORDERS,
    PARTS,
    TILES,
    WINDOWS,
)
from ostinato.rewrite.relations.about_terms import DEPENDENCE, MATRICES, NUMBERS, SHAPES, WEIGHTS
from ostinato.rewrite.relations.meanings import Claim
from ostinato.rewrite.relations.relation import Relation

C = TypeVar("C", bound=Claim)

RELATIONS: dict[str, Relation] = {
    relation.name: relation
    for group in (
        *(
            TILES,
            KEPT,
            WINDOWS,
            ORDERS,
            HELD,
            FOLLOWING,
            CONDITIONS,
            COUNTED,
            STEPS,
            HALVES,
            MATRICES,
            WEIGHTS,
        ),
        *(PARTS, CUTS, RECURRENCES, NUMBERS, DEPENDENCE, SHAPES),
    )
    for relation in group
}


def saying(kind: type[C]) -> Mapping[str, C]:
    """The relations that make a claim of a kind, each with the first one that it makes."""
    if kind not in _SAYING:
        found: dict[str, Claim] = {}
        for relation in RELATIONS.values():
            for claim in relation.says:
                if isinstance(claim, kind):
                    found.setdefault(relation.name, claim)
        _SAYING[kind] = found
    return cast("Mapping[str, C]", _SAYING[kind])


_SAYING: dict[type, Mapping[str, Claim]] = {}

"""Integer sets and relations: the only door to islpy. Import it where a check runs, not before."""

from ostinato.pdg.isl.relations import Relation, anonymous, lex_later, pairs, relation
from ostinato.pdg.isl.sets import (
    Interval,
    LowerBounds,
    Sample,
    Set,
    box_cond,
    condition_set,
    domain_set,
    proves,
    universe,
)

__all__ = [
    "Interval",
    "LowerBounds",
    "Relation",
    "Sample",
    "Set",
    "anonymous",
    "box_cond",
    "condition_set",
    "domain_set",
    "lex_later",
    "pairs",
    "proves",
    "relation",
    "universe",
]

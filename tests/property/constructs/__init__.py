"""The constructs that invented programs are made of, one topic per module."""

from tests.property.constructs import (
    arrays,
    attention,
    chains,
    computed,
    conditions,
    draws,
    empties,
    ends,
    extents,
    gradients,
    halves,
    huge,
    integers,
    outside,
    pairs,
    pointwise,
    products,
    prompts,
    reads,
    recurrences,
    sized,
    slices,
    specials,
    spellings,
    tables,
    whole,
)
from tests.property.constructs.table import TABLE, Construct, Step, Workshop

TAME = {name: each for name, each in TABLE.items() if not each.wild}

__all__ = [
    "TABLE", "TAME", "Construct", "Step", "Workshop", "arrays", "attention", "chains", "computed",
    "conditions", "draws", "empties", "ends", "extents", "gradients", "halves", "huge", "integers",
    "outside", "pairs", "pointwise", "products", "prompts", "reads", "recurrences", "sized",
    "slices", "specials", "spellings", "tables", "whole",
]  # fmt: skip

"""The constructs that invented programs are made of, one topic per module."""

from tests.property.constructs import (
    arrays,
    attention,
    computed,
    conditions,
    draws,
    ends,
    extents,
    gradients,
    halves,
    integers,
    pointwise,
    products,
    reads,
    recurrences,
    slices,
    whole,
)
from tests.property.constructs.table import TABLE, Construct, Step, Workshop

__all__ = [
    "TABLE", "Construct", "Step", "Workshop", "arrays", "attention", "computed", "conditions",
    "draws", "ends", "extents", "gradients", "halves", "integers", "pointwise", "products", "reads",
    "recurrences", "slices", "whole",
]  # fmt: skip

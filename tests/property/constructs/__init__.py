"""The constructs that invented programs are made of, one topic per module."""

from tests.property.constructs import (
    arrays,
    computed,
    conditions,
    draws,
    extents,
    gradients,
    halves,
    integers,
    pointwise,
    reads,
    recurrences,
    slices,
    whole,
)
from tests.property.constructs.table import TABLE, Construct, Step, Workshop

__all__ = [
    "TABLE", "Construct", "Step", "Workshop", "arrays", "computed", "conditions", "draws",
    "extents", "gradients", "halves", "integers", "pointwise", "reads", "recurrences", "slices",
    "whole",
]  # fmt: skip

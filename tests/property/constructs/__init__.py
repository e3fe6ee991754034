"""The constructs that invented programs are made of, one topic per module."""

from tests.property.constructs import (
    arrays,
    conditions,
    draws,
    gradients,
    integers,
    pointwise,
    reads,
    recurrences,
    slices,
)
from tests.property.constructs.table import TABLE, Construct, Step, Workshop

__all__ = [
    "TABLE", "Construct", "Step", "Workshop", "arrays", "conditions", "draws", "gradients",
    "integers", "pointwise", "reads", "recurrences", "slices",
]  # fmt: skip

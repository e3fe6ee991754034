"""How sure a mean over seeds is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SAMPLES = 1000
Numbers = npt.NDArray[np.float64]


def interval(values: Numbers, coverage: float = 0.95) -> tuple[Numbers, Numbers]:
    """Return between which numbers the mean along the first axis lies, by the bootstrap.

    The same values have the same interval: the samples are drawn with a fixed seed. Of one value
    nothing is known but itself.
    Source: Efron 1979, Bootstrap methods.

    >>> low, high = interval(np.array([1.0, 2.0, 3.0, 4.0]))
    >>> float(low), float(high)
    (1.5, 3.5)
    """
    chosen = np.random.default_rng(0).integers(0, len(values), (SAMPLES, len(values)))
    means = values[chosen].mean(axis=1)
    edge = (1.0 - coverage) / 2.0
    low, high = np.quantile(means, [edge, 1.0 - edge], axis=0)
    return low, high

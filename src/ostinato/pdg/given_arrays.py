"""What arrays of others may hold: arguments of runs, literals, and results of Python functions."""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt

from ostinato.pdg.functions import Array


def masked(value: object) -> int:
    """Return how many elements a masked array hides, 0 for anything else."""
    mask: object = getattr(value, "mask", None)
    is_mask = isinstance(mask, np.ndarray | np.bool_)
    return int(np.sum(cast(npt.NDArray[np.bool_], mask))) if is_mask else 0


def converted(array: Array, dtype: str) -> Array | None:
    """An array in another type, itself if it has that one, or None if its values do not fit.

    Integers stay what they are, and floats become infinite only where they were.

    >>> converted(np.array([1, 2]), "int32"), converted(np.array([2**40]), "int32")
    (array([1, 2], dtype=int32), None)
    >>> converted(np.array([1e39]), "float32"), converted(np.array([np.inf]), "float32")
    (None, array([inf], dtype=float32))
    """
    with np.errstate(over="ignore"):
        out = array.astype(dtype, copy=False)
    if out is array:
        return out
    if out.dtype.kind == "f" or out.dtype.name == "bfloat16":
        return out if (np.isfinite(out) | ~np.isfinite(array)).all() else None
    return out if np.array_equal(out, array) else None

"""Arrays of numbers that a user writes down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ostinato.language.shown import is_a, shown
from ostinato.pdg.errors import DtypeError
from ostinato.pdg.given_arrays import masked
from ostinato.pdg.node import Node


def numbers(value: object, where: str) -> npt.NDArray[Any]:
    """Return an array or nested lists as an array of numbers.

    Errors: DtypeError for rows of different lengths, texts, objects, and lists of tensors.

    >>> numbers([[1, 2], [3, 4]], "").shape
    (2, 2)
    """
    items = cast(Sequence[object], value) if is_a(value, list, tuple) else ()
    held = next((x for x in items if isinstance(getattr(x, "node", None), Node)), None)
    if held is not None:
        fact = f"{shown(value)} is a list that holds the tensor {shown(held)}"
        raise DtypeError(fact, "Join tensors by ot.stack, or give them one by one.", where)
    if hidden := masked(value):
        fact = f"a masked array hides {hidden} of its elements"
        raise DtypeError(fact, "Give x.filled(value): a tensor has a number everywhere.", where)
    try:
        array: npt.NDArray[Any] = np.asarray(value)
    except (ValueError, OverflowError):  # of rows of different lengths
        array = np.empty(0, object)
    if array.dtype.kind in "biuf" or str(array.dtype) == "bfloat16":  # its kind is void
        return array
    fact = f"{shown(value)} is no array of numbers"
    raise DtypeError(fact, "Give booleans, integers or floats, as many in each row.", where)

"""Element types: promotion, scalars beside tensors, arrays that a user writes down."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, cast

import numpy as np
import numpy.typing as npt

from ostinato.language.shown import is_a, shown
from ostinato.pdg import build
from ostinato.pdg.build import Shape
from ostinato.pdg.constant import Scalar
from ostinato.pdg.errors import DtypeError, guess
from ostinato.pdg.functions import HALVES, INTS, computed_in
from ostinato.pdg.given_arrays import masked
from ostinato.pdg.node import Dtype, Node

Operand = Node | Scalar
DtypeName = Annotated[str, 'the name of a dtype, such as "float32"']

# int32 with float32 gives float32 (NumPy says float64): programs stay in the type they chose.
LARGEST = 2**1023  # of the integers that become floats
SMALL = 2**15  # finite in every float type
PROMOTION: tuple[Dtype, ...] = ("bool", "int32", "int64", "float32", "float64")
DTYPES: tuple[Dtype, ...] = (*PROMOTION, "uint32", *HALVES)


def check_dtype(name: str, where: str) -> Dtype:
    """Return a dtype by its name; DtypeError if there is none."""
    for dtype in DTYPES:
        if dtype == name:
            return dtype
    remedy = f"{guess(name, DTYPES)}Use one of {', '.join(DTYPES)}."
    raise DtypeError(f"there is no dtype `{name}`", remedy, where)


def promote(dtypes: Iterable[Dtype], where: str = "") -> Dtype:
    """Return the common type of tensors: the later one in `PROMOTION`, halves as float32."""
    given = set(dtypes)
    if len(given) == 1:
        return next(iter(given))
    found: set[Dtype] = {computed_in(dtype) for dtype in given}
    if "uint32" in found:
        others = ", ".join(sorted(found - {"uint32"}))
        raise DtypeError(f"uint32 meets {others}", "Cast one of them with `.cast`.", where)
    return max(found, key=PROMOTION.index)


def scalar_dtype(value: Scalar) -> Dtype:
    """Return the dtype of a Python scalar that stands alone."""
    if isinstance(value, bool):
        return "bool"
    return "int32" if isinstance(value, int) else "float32"


def common_dtype(operands: Sequence[Operand], where: str = "") -> Dtype:
    """Return the type operands meet in: a scalar changes the kind of a type, not its width.

    Halves meet in float32, alone too: they are for storage.
    """
    tensors: list[Dtype] = [computed_in(x.dtype) for x in operands if isinstance(x, Node)]
    scalars: list[Dtype] = [scalar_dtype(x) for x in operands if not isinstance(x, Node)]
    if not tensors:
        return promote(scalars)
    dtype = promote(tensors, where)
    for scalar in scalars:
        if scalar == "float32" and not dtype.startswith("float"):
            dtype = "float32"
        elif scalar == "int32" and dtype == "bool":
            dtype = "int32"
    return dtype


def accepted(dtype: Dtype, accepts: Sequence[Dtype]) -> Dtype:
    """Return the first type from ``dtype`` upwards that a function takes, or ``dtype`` itself."""
    dtype = computed_in(dtype)
    if dtype in accepts:
        return dtype
    first = "float32" if dtype == "uint32" else dtype  # it meets no other integer
    for wider in PROMOTION[PROMOTION.index(first) :]:
        if wider in accepts:
            return wider
    return dtype


def literal(values: Scalar | Sequence[Scalar], dtype: Dtype, shape: Shape, where: str) -> Node:
    """Return a constant; DtypeError for a number that a type cannot hold, or only as infinity."""
    found = values if isinstance(values, Sequence) else (values,)
    bad = next((v for v in found if not _fits(v, dtype)), None)
    if bad is not None:
        has_integer = dtype != "int64" and (isinstance(bad, int) or math.isfinite(bad))
        remedy = "Use int64 or a float type." if has_integer else "Use a float type."
        if dtype not in INTS:
            wider = "float64, " if _fits(bad, "float64") else ""
            remedy = f"Use {wider}a smaller number, or math.inf."
        number = shown(bad) if abs(bad) >= LARGEST else f"the number {bad}"
        raise DtypeError(f"{number} does not fit {dtype}", remedy, where)
    return build.const(values, dtype, shape)


def is_finite(values: npt.NDArray[np.float64], dtype: Dtype) -> bool:
    """Whether finite numbers stay so in a float type.

    >>> is_finite(np.asarray([1e38, 1.0]), "float32"), is_finite(np.asarray(1e39), "float32")
    (True, False)
    """
    if dtype == "float64":
        return True
    with np.errstate(over="ignore"):
        return not np.isinf(values.astype(np.float32).astype(dtype)).any()


def _fits(value: Scalar, dtype: Dtype) -> bool:
    if dtype == "bool":
        return True
    if dtype not in INTS:
        if abs(value) <= SMALL or (isinstance(value, float) and not math.isfinite(value)):
            return True
        is_float = isinstance(value, float) or abs(value) <= LARGEST
        return is_float and is_finite(np.asarray(float(value)), dtype)
    info = np.iinfo(dtype)
    is_whole = isinstance(value, int) or math.isfinite(value)
    return is_whole and info.min <= int(value) <= info.max


def convert(x: Operand, dtype: Dtype, rank: int = 0, where: str = "") -> Node:
    """Return an operand in a dtype; a scalar becomes a constant with ``rank`` axes of size 1."""
    if isinstance(x, Node):
        return build.map_node("cast", [x], dtype, where=where)
    return literal(x, dtype, (build.ONE,) * rank, where)


def convert_all(operands: Sequence[Operand], dtype: Dtype, where: str = "") -> list[Node]:
    """Return operands in one dtype; scalars get the rank of the tensors beside them."""
    rank = max((x.rank for x in operands if isinstance(x, Node)), default=0)
    return [convert(x, dtype, rank, where) for x in operands]


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

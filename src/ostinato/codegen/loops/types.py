"""Types of expressions: integers of up to 32 bits become 64 bits in arithmetic, as Numba has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from ostinato.pdg.errors import UnreadableError
from ostinato.pdg.node import Dtype

SUFFIX: dict[Dtype, str] = {
    "float32": "f32",
    "float64": "f64",
    "int32": "i32",
    "int64": "i64",
    "uint16": "u16",
    "uint32": "u32",
}
Float = Literal["float32", "float64"]
FLOATS: tuple[Float, ...] = ("float32", "float64")
ITEM_BYTES: Final[Mapping[str, int]] = {
    "bool": 1,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float32": 4,
    "float64": 8,
}
"""Size of one element in memory, by dtype."""
SIGNED = ("int32", "int64")


def common(x: str, y: str) -> str:
    """The type that two types have in common."""
    if x == y:
        return x
    both = {x, y}
    if both == {"float32", "float64"}:
        return "float64"
    if both & {*FLOATS}:
        if both & {"bool", "uint16", "uint64"}:
            raise UnreadableError(f"a {x} with a {y}")
        return "float64"
    if "bool" in both:
        return x if y == "bool" else y
    if "uint64" in both:
        if both & {*SIGNED}:
            raise UnreadableError(f"a {x} with a {y}")
        return "uint64"
    if "int64" in both or both == {"int32", "uint32"}:
        return "int64"
    return "uint32" if "uint32" in both else "int32"


def promoted(x: str, y: str) -> str:
    """The type of arithmetic on two types."""
    found = common(x, y)
    if found in FLOATS:
        return found
    return "uint64" if found.startswith("uint") else "int64"

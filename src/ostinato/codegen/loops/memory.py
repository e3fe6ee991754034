"""The arena as the interpreter of the loop IR sees it: every wrong access is a trap.

Each byte knows the tensor that it holds, and which items of the current phase wrote and read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

STORED = {"bool": "uint8"}  # what lies in memory for a type; of all others itself
NOBODY = 0
UNWRITTEN = 0xFF  # bytes of which a float is NaN, and an integer -1


@dataclass(frozen=True, slots=True)
class Poison:
    """What was never written: it may be computed with, but decide nothing and reach no result.

    Tiles have slots for rows that do not exist, and whole tiles are faster than what remains. An
    integer that is limited to the range from ``least`` to ``most`` may say where to read, if it may
    be read everywhere there; what is read there is none either.
    """

    least: int | None = None
    most: int | None = None

    def __repr__(self) -> str:
        return "a value that was never written"

    def __bool__(self) -> bool:
        raise Trap(f"decides by {self!r}")

    def __int__(self) -> int:
        raise Trap(f"finds a place by {self!r}")

    __index__ = __int__

    def bounded(self, kind: str, by: int) -> Poison:
        """The "minimum" or "maximum" of it and of a number."""
        ends = [by if x is None else x for x in (self.least, self.most)]
        if kind == "minimum":
            return Poison(None if self.least is None else min(self.least, by), min(ends[1], by))
        return Poison(max(ends[0], by), None if self.most is None else max(self.most, by))


POISON = Poison()


def unwritten(op: str, x: Any, y: Any) -> Poison:
    """Arithmetic on two numbers of which one at least was never written."""
    one, other = _ends(x), _ends(y)
    if one is None or other is None:
        return POISON
    (a, b), (c, d) = one, other
    match op:
        case "+":
            return Poison(a + c, b + d)
        case "-":
            return Poison(a - d, b - c)
        case "*":
            found = [p * q for p in one for q in other]
            return Poison(min(found), max(found))
        case "//" if c == d > 0:
            return Poison(a // c, b // c)
        case "%" if c == d > 0:
            return Poison(a % c, b % c) if a // c == b // c else Poison(0, c - 1)
        case _:
            return POISON


def _ends(x: Any) -> tuple[int, int] | None:
    """Between which integers a number lies, if that is known."""
    if isinstance(x, Poison):
        return None if x.least is None or x.most is None else (x.least, x.most)
    return (int(x), int(x)) if is_integer(x) else None


def is_integer(x: object) -> bool:
    return isinstance(x, int | np.integer)


@cache
def _width(dtype: str) -> int:
    return np.dtype(STORED.get(dtype, dtype)).itemsize


class Trap(Exception):
    """An access that machine code would make without a word: it says which."""


@dataclass(frozen=True)
class ByteRange:
    """The bytes of a tensor; of a local one those of the first worker."""

    first: int
    end: int
    is_local: bool = False


@dataclass
class Memory:
    """One arena.

    Items of a phase may be done by any worker in any order: what one of them wrote, no other one
    may read or write before the next phase, and what it read, none may write.
    """

    size: int
    areas: Mapping[str, ByteRange]
    item: int = NOBODY + 1
    numbers: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.bytes = np.full(self.size, UNWRITTEN, np.uint8)
        self.holds = np.full(self.size, -1, np.int32)  # the number of a tensor
        self.writer = np.zeros(self.size, np.int32)
        self.reader = np.zeros(self.size, np.int32)
        self.numbers = {name: k for k, name in enumerate(self.areas)}

    def put(self, tensor: str, values: npt.NDArray[Any]) -> None:
        """Give an input its values."""
        first = self.areas[tensor].first
        raw = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
        self.bytes[first : first + raw.size] = raw
        self.holds[first : first + raw.size] = self.numbers[tensor]

    def next_item(self) -> None:
        """Begin with another item: what a worker keeps for itself never leaves one."""
        self.item += 1
        for area in self.areas.values():
            if area.is_local:
                self.holds[area.first : area.end] = -1
                self.writer[area.first : area.end] = self.reader[area.first : area.end] = NOBODY

    def barrier(self) -> None:
        """End a phase."""
        self.writer.fill(NOBODY)
        self.reader.fill(NOBODY)

    def at(self, address: int, among: Iterable[str]) -> str:
        """The tensor that an address belongs to: those of a kernel never overlap."""
        for name in among:
            area = self.areas[name]
            if area.first <= address < area.end:
                return name
        raise Trap(f"byte {address} belongs to no tensor of the kernel")

    def read(self, tensor: str, offset: int | Poison, dtype: str) -> np.generic | Poison:
        """The element at an offset, which counts elements from the arena's start."""
        if isinstance(offset, Poison) and offset.least is not None and offset.most is not None:
            for end in (offset.least, offset.most):
                self._place(tensor, end, dtype, "reads")
            return POISON
        where = self._place(tensor, offset, dtype, "reads")
        self._alone(self.writer[where], tensor, where, "reads what another item wrote")
        self.reader[where] = self.item
        if {self.numbers[tensor]} != set(self.holds[where].tolist()):
            return POISON
        found: np.generic = self.bytes[where].view(STORED.get(dtype, dtype))[0]
        return np.bool_(found) if dtype == "bool" else found

    def write(self, tensor: str, offset: int, dtype: str, value: object) -> None:
        """Store an element."""
        where = self._place(tensor, offset, dtype, "writes")
        self._alone(self.writer[where], tensor, where, "writes what another item wrote")
        self._alone(self.reader[where], tensor, where, "writes what another item read")
        self.writer[where], self.holds[where] = self.item, self.numbers[tensor]
        if isinstance(value, Poison):
            self.holds[where], self.bytes[where] = -1, UNWRITTEN
        else:
            self.bytes[where] = np.array([value], STORED.get(dtype, dtype)).view(np.uint8)

    def _place(self, tensor: str, offset: int | Poison, dtype: str, does: str) -> slice:
        width, area = _width(dtype), self.areas[tensor]
        first = int(offset) * width
        if not area.first <= first <= area.end - width:
            places = f"[{area.first}, {area.end})"
            raise Trap(f"{does} byte {first}, outside of `{tensor}`, which has {places}")
        return slice(first, first + width)

    def _alone(self, who: npt.NDArray[Any], tensor: str, where: slice, does: str) -> None:
        if not {NOBODY, self.item}.issuperset(who.tolist()):
            fact = "no barrier is between them"
            raise Trap(f"{does}: `{tensor}` at byte {where.start}, and {fact}")

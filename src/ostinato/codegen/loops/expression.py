"""Expressions of the loop IR and their types.

``str`` writes them as Python, with the parentheses that it needs. Integers of up to 32 bits become
64 bits in arithmetic, as Numba has it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ostinato.pdg.errors import UnreadableError

SUFFIX: Mapping[str, str] = {
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
SIGNED: tuple[Literal["int32", "int64"], ...] = ("int32", "int64")


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


# How tightly an expression binds: that of a sum may stand in a comparison as it is.
ATOM, UNARY, PRODUCT, SUM, SHIFT, BOTH, ONE_OF, EITHER, COMPARISON, LOGIC = range(9, -1, -1)

_LEVELS = {
    **dict.fromkeys(("*", "/", "//", "%"), PRODUCT),
    **dict.fromkeys(("+", "-"), SUM),
    ">>": SHIFT,
    "&": BOTH,
    "^": ONE_OF,
    "|": EITHER,
}


Sign = Literal["<", "<=", ">", ">=", "==", "!="]


class Expression:
    """A value of a kernel or of a driver; Python's operators make others of it.

    >>> print((Name("x") + 1) * 2 < Name("y"))
    (x + 1) * 2 < y
    """

    __slots__ = ()

    def __add__(self, other: Given) -> Expression:
        return binary("+", self, other)

    def __sub__(self, other: Given) -> Expression:
        return binary("-", self, other)

    def __mul__(self, other: Given) -> Expression:
        return binary("*", self, other)

    def __mod__(self, other: Given) -> Expression:
        return binary("%", self, other)

    def __floordiv__(self, other: Given) -> Expression:
        return binary("//", self, other)

    def __and__(self, other: Given) -> Expression:
        return binary("&", self, other)

    def __lt__(self, other: Given) -> Expression:
        return compare("<", self, other)

    def __gt__(self, other: Given) -> Expression:
        return compare(">", self, other)

    def __ge__(self, other: Given) -> Expression:
        return compare(">=", self, other)

    @property
    def level(self) -> int:
        return ATOM

    def within(self, level: int) -> str:
        """The text, in parentheses if its operator binds less tightly than ``level``."""
        return str(self) if self.level >= level else f"({self})"


@dataclass(frozen=True, slots=True)
class Name(Expression):
    """A parameter, a variable, or a definition of the module."""

    id: str

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """A Python number: a bool, an int64 or a float64.

    >>> print(Constant(True), Constant(-3), Constant(0.5), Constant(-math.inf), Constant(math.nan))
    True -3 0.5 -np.inf np.nan
    """

    value: float

    def __str__(self) -> str:
        if isinstance(self.value, float) and not math.isfinite(self.value):
            if math.isnan(self.value):
                return "np.nan"
            return "np.inf" if self.value > 0 else "-np.inf"
        return repr(self.value)

    @property
    def level(self) -> int:
        return UNARY if str(self).startswith("-") else ATOM


@dataclass(frozen=True, slots=True)
class Negative(Expression):
    """``-of``."""

    of: Expression

    def __str__(self) -> str:
        return f"-{self.of.within(UNARY)}"

    @property
    def level(self) -> int:
        return UNARY


@dataclass(frozen=True, slots=True)
class Binary(Expression):
    """``left op right``; operators of one level group to the left."""

    op: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        level = self.level
        return f"{self.left.within(level)} {self.op} {self.right.within(level + 1)}"

    @property
    def level(self) -> int:
        return _LEVELS[self.op]


@dataclass(frozen=True, slots=True)
class Compare(Expression):
    """``left op right``."""

    op: Sign
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{self.left.within(EITHER)} {self.op} {self.right.within(EITHER)}"

    @property
    def level(self) -> int:
        return COMPARISON


@dataclass(frozen=True, slots=True)
class Logic(Expression):
    """Conditions joined by ``and`` or by ``or``."""

    op: str
    of: tuple[Expression, ...]

    def __str__(self) -> str:
        return f" {self.op} ".join(each.within(COMPARISON) for each in self.of)

    @property
    def level(self) -> int:
        return LOGIC


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """``not of``."""

    of: Expression

    def __str__(self) -> str:
        return f"not {self.of.within(COMPARISON)}"

    @property
    def level(self) -> int:
        return LOGIC


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A call of a primitive, of a definition of the module, or of a type."""

    function: str
    args: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.args))})"


@dataclass(frozen=True, slots=True)
class Item(Expression):
    """A word of an array of int64."""

    array: Expression
    index: Expression

    def __str__(self) -> str:
        return f"{self.array}[{self.index}]"


@dataclass(frozen=True, slots=True)
class Tuple(Expression):
    """Several values: arguments of a primitive, or what several names are given at once."""

    of: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.of))}{',' if len(self.of) == 1 else ''})"


def operands(of: Expression) -> tuple[Expression, ...]:
    """The expressions that an expression is made of."""
    match of:
        case Negative(x) | Not(x):
            return (x,)
        case Binary(_, left, right) | Compare(_, left, right):
            return (left, right)
        case Call(_, parts) | Logic(_, parts) | Tuple(parts):
            return parts
        case Item(array, index):
            return (array, index)
        case _:
            return ()


Given: TypeAlias = Expression | str | int  # a name and a number stand for themselves


def given(x: Given) -> Expression:
    """An expression; a text is a name."""
    if isinstance(x, Expression):
        return x
    return Name(x) if isinstance(x, str) else Constant(x)


def binary(op: str, left: Given, right: Given) -> Expression:
    return Binary(op, given(left), given(right))


def compare(op: Sign, left: Given, right: Given) -> Expression:
    return Compare(op, given(left), given(right))


def call(function: str, *args: Given) -> Call:
    return Call(function, tuple(map(given, args)))


def item(array: Given, index: Given) -> Item:
    return Item(given(array), given(index))

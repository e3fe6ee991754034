"""What one thread does: loads and stores as accesses to the arena by type, or its variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ostinato.codegen.cuda.rewriting import rewritten, within
from ostinato.codegen.cuda.touches import accesses
from ostinato.codegen.loops.expression import (
    FLOATS,
    SUFFIX,
    Binary,
    Call,
    Constant,
    Expression,
    Item,
    Name,
    Negative,
    call,
    compare,
)
from ostinato.codegen.loops.expression import given as expression
from ostinato.codegen.loops.statements import Do, For, Function, Let, Nothing, Statement, Write

ARENA = "arena"
SUFFIXES: Mapping[str, str] = {"bool": "bool", **{str(k): v for k, v in SUFFIX.items()}}
_FLOAT = re.compile(r"(^|_)f(32|64)$")  # what a function returns, unless it is a cast
Given = Expression | str | int


@dataclass
class OneThread:
    """Writes the statements of a kernel as one thread runs them."""

    function: Function

    def __post_init__(self) -> None:
        self.accesses = accesses(self.function)
        self.floats: set[str] = set()
        self.kept: dict[tuple[str, Expression], str] = {}  # places that are variables of a thread

    def private(self, of: Statement) -> Statement:
        """A statement that one thread runs by itself."""
        made = within(self.plain(of), self.private)
        return replace(made, binding="serial") if isinstance(made, For) else made

    def plain(self, of: Statement) -> Statement:
        """A statement with loads and stores as accesses to the arena by type."""
        match of:
            case Do(Call(function, (_, index, value))) if self._is_store(function):
                dtype, name = self.accesses[function].dtype, self.variable(function, index)
                if name is not None:
                    return Let((name,), typed(dtype, self.value(value)))
                view = Name(f"{ARENA}.{dtype}")
                return Write(view, self.value(index), self.value(value))
            case Do(Call("prefetch")):
                return Nothing("the hardware has many loads under way")
            case Let((name,), value) if self.is_float(value):
                self.floats.add(name)
                return rewritten(of, self.change)
            case _:
                return rewritten(of, self.change)

    def is_float(self, of: Expression) -> bool:
        """Whether an expression is a float: a kernel gives a name values of one type."""
        match of:
            case Name(name):
                return name in self.floats
            case Constant(value):
                return isinstance(value, float)
            case Call("where", (_, chosen, _)):
                return self.is_float(chosen)
            case Call(function, _) if function in self.accesses:
                return self.accesses[function].dtype in FLOATS
            case Call(function, _):
                is_cast = function.startswith("cast_") or function.endswith("_bits_f32")
                return function == "rounded_product" or (
                    _FLOAT.search(function) is not None and not is_cast
                )
            case Binary("/", _, _):
                return True
            case Binary(_, left, right):
                return self.is_float(left) or self.is_float(right)
            case Negative(x):
                return self.is_float(x)
            case Item(Name(name), _):
                return name.removeprefix(f"{ARENA}.") in FLOATS
            case _:
                return False

    def _is_store(self, function: str) -> bool:
        return function in self.accesses and self.accesses[function].is_store

    def value(self, of: Given) -> Expression:
        made = rewritten(Let(("x",), expression(of)), self.change)
        assert isinstance(made, Let)
        return made.value

    def change(self, of: Expression) -> Expression:
        match of:
            case Call(function, (_, index)) if function in self.accesses:
                dtype, name = self.accesses[function].dtype, self.variable(function, index)
                if name is not None:
                    return Name(name)
                found = Item(Name(f"{ARENA}.{dtype}"), index)
                return compare("!=", found, 0) if dtype == "bool" else found
            case Binary("*", left, right) if self.function.exact and self.is_float(of):
                return call("rounded_product", left, right)
            case _:
                return of

    def variable(self, function: str, index: Expression) -> str | None:
        """The variable that holds what a load or store is about."""
        return self.kept.get((self.accesses[function].tensor, index))


def typed(dtype: str, of: Expression) -> Expression:
    """A value of a type."""
    return call(SUFFIXES[dtype], of)

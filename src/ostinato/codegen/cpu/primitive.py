"""Functions that generated code calls: written as LLVM instructions, or in the loop IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, Protocol

from ostinato.codegen.cpu.llvm import Builder
from ostinato.codegen.cpu.llvm_text import Value
from ostinato.pdg.node import Dtype

Argument = Dtype | Literal["array", "indices"]
Result = Dtype | Literal["void"]
Emit = Callable[[Builder, list[Value]], Value | None]


class Primitive(Protocol):
    """A function of generated code; only compiled code can call it."""

    def __call__(self, *args: object) -> Any: ...


@dataclass(frozen=True, eq=False)
class Written:
    """A function of generated code, written as LLVM instructions.

    Its ``room`` are int64 words that stay its own while the function that calls it runs.
    """

    name: str
    result: Result
    arguments: tuple[Argument, ...]
    emit: Emit
    room: int = 0

    def __call__(self, *args: object) -> NoReturn:
        """Refuse: there is no such function in Python."""
        raise TypeError(f"only compiled code can call {self.name}")


@dataclass(frozen=True, eq=False)
class Inner:
    """A function of generated code, written in Python; it returns at its end only.

    A subroutine stays a function of its module, one for all its calls.
    """

    function: Callable[..., Any]
    is_subroutine: bool = False

    def __call__(self, *args: object) -> NoReturn:
        """Refuse: what it calls has no meaning in Python."""
        raise TypeError(f"only compiled code can call {self.function.__name__}")


def primitive(
    name: str, result: Result, arguments: Sequence[Argument], emit: Emit, room: int = 0
) -> Primitive:
    """Return a function of generated code whose body ``emit`` writes as LLVM instructions.

    A number is cast to the named type at the call. ``emit`` sees an array as the address of its
    first element, and a tuple of indices as that many int64 values, all in one flat list, which
    begins with the address of its ``room``, if it has any.
    """
    return Written(name, result, tuple(arguments), emit, room)


def inner(function: Callable[..., Any]) -> Primitive:
    """Return a function of generated code that is written in Python, as generated code is."""
    return Inner(function)


def subroutine(function: Callable[..., Any]) -> Primitive:
    """Return one that takes arrays and int64 numbers, returns an int64, and is not inlined."""
    return Inner(function, is_subroutine=True)


def _emit_where(builder: Builder, args: list[Value]) -> Value:
    return builder.select(*args)


where: Primitive = Written("where", "void", (), _emit_where)
"""``where(condition, x, y)`` without a branch; both sides are cast to their common type."""

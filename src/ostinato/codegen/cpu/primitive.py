"""Functions that generated code calls: written as LLVM instructions, or in the loop IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ostinato.codegen.cpu.llvm import Builder
from ostinato.codegen.cpu.llvm_text import Value
from ostinato.codegen.loops.expression import Expression
from ostinato.codegen.loops.statements import Block, Body
from ostinato.pdg.node import Dtype

Argument = Dtype | Literal["array", "indices"]
Result = Dtype | Literal["array", "void"]
Emit = Callable[[Builder, list[Value]], Value | None]


class _CompiledOnly:
    name: str

    def __call__(self, *args: object) -> Any:
        """Refuse: there is no such function in Python."""
        raise TypeError(f"only compiled code can call {self.name}")


@dataclass(frozen=True, eq=False)
class Written(_CompiledOnly):
    """A function of generated code, whose body ``emit`` writes as LLVM instructions.

    A number is cast to the named type at the call. ``emit`` sees an array as the address of its
    first element, and a tuple of indices as that many int64 values, all in one flat list, which
    begins with the address of its ``room``, if it has any: int64 words that stay its own while the
    function that calls it runs.
    """

    name: str
    result: Result
    arguments: tuple[Argument, ...]
    emit: Emit
    room: int = 0


@dataclass(frozen=True, eq=False)
class Inner(_CompiledOnly):
    """A function of generated code, written in the loop IR; it returns at its end only.

    A subroutine stays a function of its module, one for all its calls.
    """

    name: str
    result: Result
    parameters: Mapping[str, Argument]
    body: Body
    value: Expression | None
    calls: Mapping[str, object]  # by the names that they have in the body
    is_subroutine: bool = False

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return tuple(self.parameters.values())


Primitive: TypeAlias = Written | Inner


def in_llvm(result: Result, *arguments: Argument) -> Callable[[Emit], Written]:
    """Decorate what writes a function's body as LLVM instructions."""
    return lambda emit: Written(emit.__name__, result, arguments, emit)


def inner(
    result: Result,
    parameters: Mapping[str, Argument],
    calls: Mapping[str, object] | None = None,
    is_subroutine: bool = False,
) -> Callable[[Callable[[Block], Expression | None]], Inner]:
    """Decorate what writes a function's statements and gives what it returns.

    A subroutine takes arrays and int64 numbers, and returns an int64.

    >>> from ostinato.codegen.loops.expression import Name
    >>> @inner("int64", {"x": "int64"})
    ... def double(out: Block) -> Expression:
    ...     return Name("x") * 2
    >>> double.name, str(double.value)
    ('double', 'x * 2')
    """

    def made(write: Callable[[Block], Expression | None]) -> Inner:
        out = Block()
        value = write(out)
        return Inner(
            write.__name__, result, parameters, out.body, value, calls or {}, is_subroutine
        )

    return made


where = Written("where", "void", (), lambda builder, args: builder.select(*args))
"""``where(condition, x, y)`` without a branch; both sides are cast to their common type."""

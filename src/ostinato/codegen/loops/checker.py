"""What holds of every function of the loop IR, checked after emission."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ostinato.codegen.loops.expression import Call, Expression, Name, operands
from ostinato.codegen.loops.numba_source import show
from ostinato.codegen.loops.statements import (
    Add,
    Body,
    Break,
    For,
    Function,
    If,
    Let,
    Statement,
    While,
    values,
)

BUILTIN = frozenset(("min", "max"))


class InvariantError(AssertionError):
    """A function that is none: it says which statement."""


def check(functions: Sequence[Function], primitives: Collection[str]) -> None:
    """Every name has a value where it is used, whatever way leads there.

    ``primitives`` are the functions that a target has. A variable that one side of a choice gives
    has no value after it; a loop may have no turn. Indices of loops are given by them alone.
    Errors: InvariantError.
    """
    for function in functions:
        _Checker(function, frozenset(primitives) | BUILTIN).run()


class _Checker:
    def __init__(self, function: Function, primitives: frozenset[str]) -> None:
        self.function, self.primitives = function, primitives
        self.indices: list[str] = []
        self.loops = 0

    def run(self) -> None:
        known = {name for name, _ in self.function.parameters}
        made: set[str] = set()
        for each in self.function.definitions:
            if each.maker not in self.primitives:
                raise InvariantError(f"{self.function.name}: no primitive `{each.maker}`")
            if missing := [x.id for x in each.args if isinstance(x, Name) and x.id not in made]:
                raise InvariantError(f"{self.function.name}: `{missing[0]}` is not defined")
            made.update(each.names)
        self.functions = self.primitives | made
        self.body(self.function.body, known)

    def body(self, body: Body, known: set[str]) -> set[str]:
        """The names that have a value after the statements."""
        known = set(known)
        for statement in body:
            try:
                known = self.statement(statement, known)
            except InvariantError as failure:
                if str(failure).startswith(self.function.name):
                    raise
                line = next(iter(show((statement,))), "")
                raise InvariantError(f"{self.function.name}: {failure}, in `{line}`") from None
        return known

    def statement(self, statement: Statement, known: set[str]) -> set[str]:
        for each in values(statement):
            self.value(each, known)
        match statement:
            case Let(names):
                return known | {self.given(name) for name in names}
            case Add(name):
                self.value(Name(name), known)
                self.given(name)
            case For(index, _, body):
                self.indices.append(self.given(index))
                self.inside(body, known | {index})
                self.indices.pop()
            case While(_, body):
                self.inside(body, known)
            case If(_, then, other):
                return self.body(then, known) & self.body(other, known)
            case Break() if not self.loops:
                raise InvariantError("no loop to leave")
            case _:
                pass
        return known

    def inside(self, body: Body, known: set[str]) -> None:
        self.loops += 1
        self.body(body, known)
        self.loops -= 1

    def given(self, name: str) -> str:
        if name in self.indices:
            raise InvariantError(f"`{name}` is assigned in its loop")
        return name

    def value(self, of: Expression, known: set[str]) -> None:
        if isinstance(of, Name) and of.id not in known:
            raise InvariantError(f"`{of.id}` has no value here")
        if isinstance(of, Call) and of.function not in self.functions:
            raise InvariantError(f"`{of.function}` is no function")
        for each in operands(of):
            self.value(each, known)

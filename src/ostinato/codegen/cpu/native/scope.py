"""What names mean inside one function of generated code, and the blocks where they do."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from ostinato.codegen.cpu.llvm import Builder
from ostinato.codegen.cpu.llvm_text import I64, KINDS, Block, Type, Value
from ostinato.codegen.cpu.native.numbers import Number
from ostinato.codegen.loops.statements import Add, For, If, Let, Statement, While
from ostinato.pdg.errors import UnreadableError


@dataclass(frozen=True, slots=True)
class Memory:
    """The address of bytes or of int64 words."""

    value: Value
    element: Type = I64


Meaning: TypeAlias = "Number | Memory | tuple[Meaning, ...] | object"


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that is assigned more than once: a place in memory, which LLVM makes registers of."""

    dtype: str
    place: Value


@dataclass
class Scope:
    """The names of a function that is being written, innermost block last.

    A name that is assigned once means its value, up to the end of the block that assigns it; one
    that is assigned at several places is a variable of the whole function.
    """

    builder: Builder
    around: Mapping[str, object]  # what the names of the module mean
    often: frozenset[str]  # names that are assigned at several places
    blocks: list[dict[str, Meaning]] = field(default_factory=lambda: [{}])
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    after: list[Block] = field(default_factory=list[Block])  # where `break` leads

    @contextmanager
    def block(self) -> Generator[None]:
        self.blocks.append({})
        try:
            yield
        finally:
            self.blocks.pop()

    def __getitem__(self, name: str) -> Meaning:
        if name in self.variables:
            variable = self.variables[name]
            return Number(variable.dtype, self.builder.load(variable.place))
        for block in reversed(self.blocks):
            if name in block:
                return block[name]
        if name not in self.around:
            raise UnreadableError(f"`{name}` has no value here")
        return self.around[name]

    def bind(self, name: str, value: Meaning) -> None:
        if name not in self.often:
            self.blocks[-1][name] = value
            return
        if not isinstance(value, Number):
            raise UnreadableError(f"`{name}` is assigned twice and is no number")
        if name not in self.variables:
            with self.builder.goto_entry_block():
                place = self.builder.alloca(KINDS[value.dtype])
            self.variables[name] = Variable(value.dtype, place)
        variable = self.variables[name]
        if variable.dtype != value.dtype:
            raise UnreadableError(f"`{name}` is a {variable.dtype} and a {value.dtype}")
        self.builder.store(value.value, variable.place)


def assigned_often(body: Sequence[Statement]) -> frozenset[str]:
    """The names that statements assign at several places, or again: ``x += 1``."""
    once: set[str] = set()
    often: set[str] = set()
    waiting = [*body]
    while waiting:
        match waiting.pop():
            case Let(given, _):
                names = {*given}
            case Add(name, _):
                names = {name}
                often.add(name)
            case If(_, then, other):
                waiting += [*then, *other]
                continue
            case For(body=inside) | While(body=inside):
                waiting += inside
                continue
            case _:
                continue
        often |= names & once
        once |= names
    return frozenset(often)

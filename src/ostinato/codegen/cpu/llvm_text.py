"""LLVM modules as text: types, values, blocks and functions, and what of each is already known."""

from __future__ import annotations

import hashlib
import importlib
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

THIS = "ostinato.this"
"""The name of a `Part` while it is written; others of its module begin with it."""

_ZEROS = frozenset(("0", "0x0"))


@dataclass(frozen=True, slots=True)
class Type:
    """An LLVM type: its text, what its lanes or its addresses hold, and how many lanes it has."""

    text: str
    of: Type | None = None
    lanes: int = 0

    def as_pointer(self) -> Type:
        return Type("ptr", self)

    @property
    def element(self) -> Type:
        """What a lane of a vector is, what an address leads to, what a function returns."""
        assert self.of is not None, f"{self.text} has no elements"
        return self.of

    @property
    def is_float(self) -> bool:
        return (self.of if self.lanes and self.of else self) in (F32, F64)


def bits_type(count: int) -> Type:
    """Return the type of whole numbers of so many bits."""
    return Type(f"i{count}")


def vector_type(element: Type, lanes: int) -> Type:
    """Return the type of ``lanes`` elements, or of one scalar when ``lanes`` is 0."""
    return Type(f"<{lanes} x {element.text}>", element, lanes) if lanes else element


I1, I8, I16, I32, I64, I128 = map(bits_type, (1, 8, 16, 32, 64, 128))
F32, F64, VOID = map(Type, ("float", "double", "void"))
BITS = {"bool": 1, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64, "uint64": 64}
KINDS = {**{dtype: bits_type(bits) for dtype, bits in BITS.items()}, "float32": F32, "float64": F64}
"""The type of a number, which a bool of one bit is, too."""


class Value:
    """The result of an instruction, an argument or a constant: how an instruction names it."""

    __slots__ = ("ref", "type")

    def __init__(self, kind: Type, ref: str) -> None:
        self.type, self.ref = kind, ref

    def __str__(self) -> str:
        return f"{self.type.text} {self.ref}"


class Constant(Value):
    """A literal; ``number`` is its value if it is one number."""

    __slots__ = ("number",)

    def __init__(self, kind: Type, ref: str, number: float | None = None) -> None:
        super().__init__(kind, ref)
        self.number = number


def constant(kind: Type, value: float | list[int] | list[float]) -> Value:
    """Return a literal of the type; a vector type takes a list, one number per lane."""
    if not isinstance(value, list):
        return Constant(kind, _literal(kind, value), value)
    lanes = [_literal(kind.element, each) for each in value]
    if len({*lanes}) == 1:
        lane = lanes[0].strip()
        return Constant(kind, "zeroinitializer" if lane in _ZEROS else _in_all(kind, lane))
    return Constant(kind, f"<{', '.join(f'{kind.element.text} {lane}' for lane in lanes)}>")


def _literal(kind: Type, value: float) -> str:
    if kind == F32:
        (value,) = struct.unpack("f", struct.pack("f", value))
    elif kind != F64:
        return str(int(value))
    return f"{int.from_bytes(struct.pack('>d', value)):#16x}"


def _in_all(kind: Type, literal: str) -> str:
    return f"splat ({kind.element.text} {literal})" if kind.lanes else literal


def zero(kind: Type) -> Value:
    """Return 0, in every lane."""
    if kind.is_float:
        return Constant(kind, _in_all(kind, "0.0"))
    return constant(kind, [0] * kind.lanes if kind.lanes else 0)


def undefined(kind: Type) -> Value:
    """Return a value that is about to be overwritten."""
    return Constant(kind, _in_all(kind, "undef"))


def i64(value: int) -> Value:
    return constant(I64, value)


def known(value: Value) -> int | None:
    """The number that a value always is, if that is known and whole."""
    number = value.number if isinstance(value, Constant) else None
    return number if isinstance(number, int) else None


class Instruction(Value):
    """An instruction that may still be told more: a load, a store or a place in memory."""

    __slots__ = ("align", "metadata", "text")

    def __init__(self, kind: Type, ref: str, text: str) -> None:
        super().__init__(kind, ref)
        self.text, self.align = text, 0
        self.metadata: list[str] = []

    def set_metadata(self, name: str, node: str) -> None:
        self.metadata.append(f", !{name} {node}")

    def line(self) -> str:
        align = f", align {self.align}" if self.align else ""
        return f"  {self.text}{align}{''.join(self.metadata)}"


class Phi(Value):
    """A value that depends on the block before."""

    __slots__ = ("incoming",)

    def __init__(self, kind: Type, ref: str) -> None:
        super().__init__(kind, ref)
        self.incoming: list[str] = []

    def add_incoming(self, value: Value, block: Block) -> None:
        self.incoming.append(f"[{value.ref}, %{block.name}]")

    def line(self) -> str:
        return f"  {self.ref} = phi {self.type.text} {', '.join(self.incoming)}"


class Block:
    """A basic block, the block that every way to it leads through, and what is known here."""

    def __init__(self, parent: Function, name: str) -> None:
        self.parent, self.name = parent, name
        self.lines: list[str | Instruction | Phi] = []
        self.end = ""
        self.before: Block | None = None
        self.depth = 0
        self.known: dict[str, Value] = {}

    @property
    def is_terminated(self) -> bool:
        return bool(self.end)

    def reached_from(self, block: Block) -> None:
        """Note a way to this block; a way back from what it leads to changes nothing."""
        if self.before is None:
            if self is not self.parent.blocks[0]:
                self.before, self.depth = block, block.depth + 1
            return
        self.before = _common(self.before, block)
        self.depth = self.before.depth + 1

    def find(self, text: str) -> Value | None:
        """What was computed by these words in this block or on every way to it."""
        block: Block | None = self if text in self.parent.computed else None
        while block is not None:
            found = block.known.get(text)
            if found is not None:
                return found
            block = block.before
        return None

    def text(self) -> Iterator[str]:
        yield f"{self.name}:"
        yield from (line if isinstance(line, str) else line.line() for line in self.lines)
        yield self.end or "  unreachable"


def _common(one: Block, other: Block) -> Block:
    """The last block that all ways to both lead through."""
    while one is not other:
        if one.depth >= other.depth and one.before is not None:
            one = one.before
        else:
            assert other.before is not None, "all blocks are reached from the first one"
            other = other.before
    return one


class Function(Value):
    """A function: external until it has a block."""

    __slots__ = (
        *("args", "attributes", "blocks", "computed", "count", "linkage", "module", "name"),
        "result",
    )

    def __init__(
        self, module: Module, name: str, result: Type, args: Sequence[Type], *attributes: str
    ) -> None:
        super().__init__(function_type(result), f'@"{name}"')
        self.module, self.name, self.result, self.attributes = module, name, result, attributes
        self.args = [Value(each, f"%a{k}") for k, each in enumerate(args)]
        self.blocks: list[Block] = []
        self.computed: set[str] = set()  # words that some block knows
        self.linkage = ""
        self.count = 0
        module.globals[name] = self

    def append_basic_block(self, name: str = "") -> Block:
        made = Block(self, f"{name or 'block'}.{len(self.blocks)}")
        self.blocks.append(made)
        return made

    def number(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def text(self) -> str:
        told = "".join(f" {each}" for each in self.attributes)
        if not self.blocks:
            kinds = ", ".join(each.type.text for each in self.args)
            return f"declare {self.result.text} {self.ref}({kinds}){told}\n"
        given = ", ".join(map(str, self.args))
        linkage = f"{self.linkage} " if self.linkage else ""
        head = f"define {linkage}{self.result.text} {self.ref}({given}){told} {{"
        return "\n".join((head, *(line for block in self.blocks for line in block.text()), "}\n"))


def function_type(result: Type) -> Type:
    """Return the type of addresses of functions with such a result."""
    return Type("ptr", Type("function", result))


@dataclass(frozen=True)
class Part:
    """A function that is compiled by itself, so that kernels and programs can share it.

    Its symbol is a digest of its module's text.
    """

    symbol: str
    text: str

    @classmethod
    def of(cls, text: str) -> Part:
        """The part that a text with the function `THIS` is."""
        symbol = f"ostinato.part.{hashlib.sha256(text.encode()).hexdigest()[:32]}"
        return cls(symbol, text.replace(THIS, symbol))


class Module:
    """A module under construction; its floats have the ``freedom`` of all kernels, or none.

    ``parts`` are the functions that are modules of their own, which several modules may share.
    ``marks`` say how `ostinato.runtime.machine_code.optimise` compiles it and its parts.
    """

    def __init__(
        self,
        freedom: Sequence[str] = (),
        parts: dict[str, Part] | None = None,
        marks: Sequence[str] = (),
    ) -> None:
        self.freedom, self.marks = frozenset(freedom), tuple(marks)
        self.parts = {} if parts is None else parts
        self.free = "".join(f"{flag} " for flag in sorted(freedom))
        self.globals: dict[str, Function] = {}
        self.nodes: dict[str, str] = {}
        self.words: dict[str, Sequence[int]] = {}  # tables of constants
        self.kept: list[Function] = []  # functions that only attributes name

    def add_metadata(self, operands: Sequence[str]) -> str:
        """The number of a node of metadata: texts, and numbers of others; equal ones are one."""
        return self.node(", ".join(x if x.startswith("!") else f'!"{x}"' for x in operands))

    def node(self, text: str) -> str:
        return self.nodes.setdefault(text, f"!{len(self.nodes)}")

    def vector_loop(self) -> str:
        """What tells LLVM to unroll a loop as vectors only.

        By default short loops become one number after the other before anybody looks for vectors.
        """
        unrolled = self.node('!"llvm.loop.unroll.disable"')
        done = self.node('!"llvm.loop.isvectorized", i32 1')
        then = self.node(f'!"llvm.loop.vectorize.followup_all", {done}')
        itself = f"!{len(self.nodes)}"  # first of its own operands, so that no two are one
        return self.node(f"{itself}, {unrolled}, {then}")

    def rolled_loop(self) -> str:
        """What tells LLVM to leave a loop as it is."""
        unrolled = self.node('!"llvm.loop.unroll.disable"')
        return self.node(f"!{len(self.nodes)}, {unrolled}")

    def apart(self, name: str, write: Callable[[Module], object]) -> str:
        """The symbol of a function that is written in a module of its own when first asked for.

        ``write`` names it `THIS`. The name and the freedom of floats decide what it is.
        """
        key = f"{self.free}{name}"
        if key not in self.parts:
            inner = Module(sorted(self.freedom), self.parts, self.marks)
            write(inner)
            self.parts[key] = Part.of(str(inner))
        return self.parts[key].symbol

    def __str__(self) -> str:
        nodes = (f"{number} = !{{{text}}}" for text, number in self.nodes.items())
        head = f'target triple = "{_triple()}"\n'
        marks = (*(f"!ostinato.{mark} = !{{}}" for mark in self.marks), "")
        functions = (each.text() for each in self.globals.values())
        return "\n".join((head, *self._data(), *functions, *nodes, *marks))

    def _data(self) -> Iterator[str]:
        for name, words in self.words.items():
            given = ", ".join(f"i64 {word}" for word in words)
            yield f"@{name} = internal constant [{len(words)} x i64] [{given}]"
        if self.kept:
            given = ", ".join(f"ptr {each.ref}" for each in self.kept)
            kind = f'appending global [{len(self.kept)} x ptr] [{given}], section "llvm.metadata"'
            yield f"@llvm.compiler.used = {kind}"


@cache
def _triple() -> str:
    return str(importlib.import_module("llvmlite.binding").get_process_triple())

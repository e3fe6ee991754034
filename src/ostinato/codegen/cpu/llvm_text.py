"""LLVM functions written as text: llvmlite's builder without its objects, several times faster.

Types and constants are llvmlite's, so that a primitive serves both builders. Whole numbers,
addresses and casts that were computed on every way to a place are not computed there again: LLVM
would find the same, later and more slowly.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from typing import cast as typed

from ostinato.codegen.cpu.part import Part

_ir = importlib.import_module("llvmlite.ir")
_BIT = _ir.IntType(1)
_FLOATS = ("float", "double")
_ZEROS = frozenset(("0", "0x0"))
_SIGNED = {"<": "slt", "<=": "sle", ">": "sgt", ">=": "sge", "==": "eq", "!=": "ne"}
_UNSIGNED = {**_SIGNED, "<": "ult", "<=": "ule", ">": "ugt", ">=": "uge"}
_ORDERED = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "one"}
_UNORDERED = {"<": "ult", "<=": "ule", ">": "ugt", ">=": "uge", "==": "ueq", "!=": "une"}


def spelled(kind: Any) -> str:
    """The text of a type; all pointers are alike."""
    try:
        found: str = kind.spelled_
    except AttributeError:
        found = kind.spelled_ = "ptr" if kind.is_pointer else str(kind)
    return found


def referred(value: Any) -> str:
    """How an instruction names a value: a constant by its number."""
    try:
        found: str = value.ref
    except AttributeError:
        found = value.ref = _literal(value)
    return found


def _literal(constant: Any) -> str:
    lanes: object = constant.constant
    if isinstance(lanes, list | tuple):
        parts = {str(each.get_reference()).strip() for each in typed(Sequence[Any], lanes)}
        if parts <= _ZEROS:
            return "zeroinitializer"
        if len(parts) == 1:
            return f"splat ({spelled(constant.type.element)} {parts.pop()})"
    text: str = constant.get_reference()
    return text


class Value:
    """The result of an instruction, or an argument."""

    __slots__ = ("ref", "type")

    def __init__(self, kind: Any, ref: str) -> None:
        self.type, self.ref = kind, ref


class Instruction(Value):
    """An instruction that may still be told more: a load, a store or a place in memory."""

    __slots__ = ("align", "metadata", "text")

    def __init__(self, kind: Any, ref: str, text: str) -> None:
        super().__init__(kind, ref)
        self.text, self.align = text, 0
        self.metadata: list[str] = []

    def set_metadata(self, name: str, node: Node) -> None:
        self.metadata.append(f", !{name} {node.ref}")

    def __str__(self) -> str:
        align = f", align {self.align}" if self.align else ""
        return f"  {self.text}{align}{''.join(self.metadata)}"


class Phi(Value):
    """A value that depends on the block before."""

    __slots__ = ("incoming",)

    def __init__(self, kind: Any, ref: str) -> None:
        super().__init__(kind, ref)
        self.incoming: list[str] = []

    def add_incoming(self, value: Any, block: Block) -> None:
        self.incoming.append(f"[{referred(value)}, %{block.name}]")

    def __str__(self) -> str:
        return f"  {self.ref} = phi {spelled(self.type)} {', '.join(self.incoming)}"


class Node:
    """Metadata with a number."""

    __slots__ = ("ref",)

    def __init__(self, ref: str) -> None:
        self.ref = ref


class Block:
    """A basic block, the block that every way to it leads through, and what is known here."""

    def __init__(self, parent: Function, name: str) -> None:
        self.parent, self.name = parent, name
        self.lines: list[object] = []
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
        block: Block | None = self
        while block is not None:
            found = block.known.get(text)
            if found is not None:
                return found
            block = block.before
        return None


def _common(one: Block, other: Block) -> Block:
    """The last block that all ways to both lead through."""
    while one is not other:
        if one.depth >= other.depth and one.before is not None:
            one = one.before
        else:
            assert other.before is not None, "all blocks are reached from the first one"
            other = other.before
    return one


class Function:
    """A function: external until it has a block."""

    def __init__(self, module: Module, kind: Any, name: str) -> None:
        self.module, self.function_type, self.name = module, kind, name
        self.ref = f'@"{name}"'
        self.type = kind.as_pointer()
        self.args = [Value(each, f"%a{k}") for k, each in enumerate(kind.args)]
        self.blocks: list[Block] = []
        self.linkage = ""
        self.attributes: tuple[str, ...] = ()
        self.count = 0
        module.globals[name] = self

    def append_basic_block(self, name: str = "") -> Block:
        made = Block(self, f"{name or 'block'}.{len(self.blocks)}")
        self.blocks.append(made)
        return made

    def number(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def __str__(self) -> str:
        result = spelled(self.function_type.return_type)
        told = "".join(f" {each}" for each in self.attributes)
        if not self.blocks:
            kinds = ", ".join(map(spelled, self.function_type.args))
            return f"declare {result} {self.ref}({kinds}){told}\n"
        given = ", ".join(f"{spelled(a.type)} {a.ref}" for a in self.args)
        linkage = f"{self.linkage} " if self.linkage else ""
        head = f"define {linkage}{result} {self.ref}({given}){told} {{"
        return "\n".join((head, *self._lines(), "}\n"))

    def _lines(self) -> Iterator[str]:
        for block in self.blocks:
            yield f"{block.name}:"
            yield from map(str, block.lines)
            yield block.end or "  unreachable"


class Module:
    """A module under construction; its floats have the ``freedom`` of all kernels, or none.

    ``parts`` are the functions that are modules of their own, which several modules may share.
    """

    def __init__(
        self, triple: str, freedom: Sequence[str] = (), parts: dict[str, Part] | None = None
    ) -> None:
        self.triple, self.freedom = triple, frozenset(freedom)
        self.parts = {} if parts is None else parts
        self.free = "".join(f"{flag} " for flag in sorted(freedom))
        self.globals: dict[str, Function] = {}
        self.nodes: dict[str, Node] = {}
        self.words: dict[str, Sequence[int]] = {}  # tables of constants
        self.kept: list[Function] = []  # functions that only attributes name
        self.checked = False  # whether `ostinato.runtime.build.addresses` is to check it

    def add_metadata(self, operands: Sequence[str | Node]) -> Node:
        """A node of metadata; equal ones are one."""
        return self.node(", ".join(f'!"{x}"' if isinstance(x, str) else x.ref for x in operands))

    def node(self, text: str) -> Node:
        return self.nodes.setdefault(text, Node(f"!{len(self.nodes)}"))

    def vector_loop(self) -> Node:
        """What tells LLVM to unroll a loop as vectors only.

        By default short loops become one number after the other before anybody looks for vectors.
        """
        unrolled = self.node('!"llvm.loop.unroll.disable"')
        done = self.node('!"llvm.loop.isvectorized", i32 1')
        then = self.node(f'!"llvm.loop.vectorize.followup_all", {done.ref}')
        itself = f"!{len(self.nodes)}"  # first of its own operands, so that no two are one
        return self.node(f"{itself}, {unrolled.ref}, {then.ref}")

    def apart(self, name: str, write: Callable[[Module], object]) -> str:
        """The symbol of a function that is written in a module of its own when first asked for.

        ``write`` names it `part.THIS`. The name and the freedom of floats decide what it is.
        """
        key = f"{self.free}{name}"
        if key not in self.parts:
            inner = Module(self.triple, sorted(self.freedom), self.parts)
            inner.checked = self.checked
            write(inner)
            self.parts[key] = Part.of(str(inner))
        return self.parts[key].symbol

    def __str__(self) -> str:
        nodes = (f"{node.ref} = !{{{text}}}" for text, node in self.nodes.items())
        head = f'target triple = "{self.triple}"\n'
        marks = ("!ostinato.checked = !{}", "") if self.checked else ("",)
        return "\n".join((head, *self._data(), *map(str, self.globals.values()), *nodes, *marks))

    def _data(self) -> Iterator[str]:
        for name, words in self.words.items():
            given = ", ".join(f"i64 {word}" for word in words)
            yield f"@{name} = internal constant [{len(words)} x i64] [{given}]"
        if self.kept:
            given = ", ".join(f"ptr {each.ref}" for each in self.kept)
            kind = f'appending global [{len(self.kept)} x ptr] [{given}], section "llvm.metadata"'
            yield f"@llvm.compiler.used = {kind}"


Binary = Callable[[Any, Any, Any], Value]


def _whole(op: str) -> Binary:
    """An operation on whole numbers."""

    def write(self: Builder, lhs: Any, rhs: Any) -> Value:
        text = f"{op} {spelled(lhs.type)} {referred(lhs)}, {referred(rhs)}"
        return self.pure(lhs.type, text)

    return write


def _real(op: str) -> Binary:
    """An operation on floats."""

    def write(self: Builder, lhs: Any, rhs: Any) -> Value:
        text = f"{op} {self.free}{spelled(lhs.type)} {referred(lhs)}, {referred(rhs)}"
        return self.made(lhs.type, text)

    return write


def _cast(op: str) -> Binary:
    """Another type for a value."""

    def write(self: Builder, value: Any, kind: Any) -> Value:
        if spelled(value.type) == spelled(kind):
            return value if not kind.is_pointer else Value(kind, referred(value))
        text = f"{op} {spelled(value.type)} {referred(value)} to {spelled(kind)}"
        return self.pure(kind, text)

    return write


class Builder:
    """Writes instructions at the end of a block: the part of llvmlite's IRBuilder that we use."""

    def __init__(self, block: Block) -> None:
        self.block, self.function = block, block.parent
        self.module, self.free = block.parent.module, block.parent.module.free

    # ------------------------------------------------------------ lines

    def pure(self, kind: Any, text: str) -> Value:
        """What depends on its operands alone, and is the same each time."""
        found = self.block.find(text)
        if found is None:
            found = self.block.known[text] = self.made(kind, text)
        return found

    def made(self, kind: Any, text: str) -> Value:
        ref = self.function.number()
        self.block.lines.append(f"  {ref} = {text}")
        return Value(kind, ref)

    def told(self, kind: Any, text: str, ref: str = "") -> Instruction:
        made = Instruction(kind, ref, f"{ref} = {text}" if ref else text)
        self.block.lines.append(made)
        return made

    # ------------------------------------------------------------ blocks

    def append_basic_block(self, name: str = "") -> Block:
        return self.function.append_basic_block(name)

    def position_at_end(self, block: Block) -> None:
        self.block = block

    @contextmanager
    def goto_entry_block(self) -> Generator[None]:
        here, self.block = self.block, self.function.blocks[0]
        yield
        self.block = here

    @contextmanager
    def if_then(self, pred: Any, likely: bool | None = None) -> Generator[Block]:
        then, end = self.append_basic_block("if"), self.append_basic_block("endif")
        self.cbranch(pred, then, end)
        if likely is not None:
            weights = "i32 99, i32 1" if likely else "i32 1, i32 99"
            node = self.module.node(f'!"branch_weights", {weights}')
            self.block.end += f", !prof {node.ref}"
        with self._inside(then, end):
            yield end
        self.position_at_end(end)

    @contextmanager
    def if_else(
        self, pred: Any
    ) -> Generator[tuple[AbstractContextManager[None], AbstractContextManager[None]]]:
        names = ("if", "else", "endif")
        then, other, end = (self.append_basic_block(name) for name in names)
        self.cbranch(pred, then, other)
        yield self._inside(then, end), self._inside(other, end)
        self.position_at_end(end)

    @contextmanager
    def _inside(self, block: Block, end: Block) -> Generator[None]:
        self.position_at_end(block)
        yield
        if not self.block.is_terminated:
            self.branch(end)

    def _close(self, text: str, *targets: Block) -> None:
        assert not self.block.is_terminated, "a block ends once"
        self.block.end = text
        for target in targets:
            target.reached_from(self.block)

    def branch(self, target: Block) -> None:
        self._close(f"  br label %{target.name}", target)

    def cbranch(self, cond: Any, truebr: Block, falsebr: Block) -> None:
        ways = f"label %{truebr.name}, label %{falsebr.name}"
        self._close(f"  br i1 {referred(cond)}, {ways}", truebr, falsebr)

    def ret_void(self) -> None:
        self._close("  ret void")

    def ret(self, value: Any) -> None:
        self._close(f"  ret {spelled(value.type)} {referred(value)}")

    def phi(self, kind: Any) -> Phi:
        made = Phi(kind, self.function.number())
        self.block.lines.append(made)
        return made

    # ------------------------------------------------------------ numbers

    fadd, fsub, fmul, fdiv, frem = map(_real, ("fadd", "fsub", "fmul", "fdiv", "frem"))
    sub, mul, sdiv, udiv = map(_whole, ("sub", "mul", "sdiv", "udiv"))
    srem, urem, shl, lshr, ashr = map(_whole, ("srem", "urem", "shl", "lshr", "ashr"))
    and_, or_, xor = map(_whole, ("and", "or", "xor"))
    trunc, zext, sext = map(_cast, ("trunc", "zext", "sext"))
    fpext, fptrunc, bitcast = map(_cast, ("fpext", "fptrunc", "bitcast"))
    uitofp, sitofp, fptosi, fptoui = map(_cast, ("uitofp", "sitofp", "fptosi", "fptoui"))
    inttoptr, ptrtoint = map(_cast, ("inttoptr", "ptrtoint"))

    def add(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Value:
        op = " ".join(("add", *flags))
        text = f"{op} {spelled(lhs.type)} {referred(lhs)}, {referred(rhs)}"
        return self.pure(lhs.type, text)

    def fneg(self, arg: Any) -> Value:
        return self.made(arg.type, f"fneg {spelled(arg.type)} {referred(arg)}")

    def not_(self, value: Any) -> Value:
        count = getattr(value.type, "count", 0)
        ones = _ir.Constant(value.type, [-1] * count if count else -1)
        made: Value = self.xor(value, ones)
        return made

    def _compared(self, op: str, lhs: Any, rhs: Any) -> tuple[Any, str]:
        count = getattr(lhs.type, "count", 0)
        kind = _ir.VectorType(_BIT, count) if count else _BIT
        return kind, f"{op} {spelled(lhs.type)} {referred(lhs)}, {referred(rhs)}"

    def icmp_signed(self, op: str, lhs: Any, rhs: Any) -> Value:
        return self.pure(*self._compared(f"icmp {_SIGNED[op]}", lhs, rhs))

    def icmp_unsigned(self, op: str, lhs: Any, rhs: Any) -> Value:
        return self.pure(*self._compared(f"icmp {_UNSIGNED[op]}", lhs, rhs))

    def fcmp_ordered(self, op: str, lhs: Any, rhs: Any) -> Value:
        return self.made(*self._compared(f"fcmp {self.free}{_ORDERED[op]}", lhs, rhs))

    def fcmp_unordered(self, op: str, lhs: Any, rhs: Any) -> Value:
        sign = _UNORDERED.get(op, op)
        return self.made(*self._compared(f"fcmp {self.free}{sign}", lhs, rhs))

    def select(self, cond: Any, lhs: Any, rhs: Any) -> Value:
        given = (f"{spelled(x.type)} {referred(x)}" for x in (cond, lhs, rhs))
        make = self.made if spelled(lhs.type).rstrip(">").endswith(_FLOATS) else self.pure
        return make(lhs.type, f"select {', '.join(given)}")

    # ------------------------------------------------------------ vectors

    def insert_element(self, vector: Any, value: Any, index: Any) -> Value:
        given = (f"{spelled(x.type)} {referred(x)}" for x in (vector, value, index))
        return self.made(vector.type, f"insertelement {', '.join(given)}")

    def extract_element(self, vector: Any, index: Any) -> Value:
        given = (f"{spelled(x.type)} {referred(x)}" for x in (vector, index))
        return self.made(vector.type.element, f"extractelement {', '.join(given)}")

    def shuffle_vector(self, lhs: Any, rhs: Any, mask: Any) -> Value:
        given = (f"{spelled(x.type)} {referred(x)}" for x in (lhs, rhs, mask))
        kind = _ir.VectorType(lhs.type.element, mask.type.count)
        return self.made(kind, f"shufflevector {', '.join(given)}")

    # ------------------------------------------------------------ memory

    def alloca(self, kind: Any, size: Any = None) -> Instruction:
        count = "" if size is None else f", {spelled(size.type)} {referred(size)}"
        return self.told(
            kind.as_pointer(), f"alloca {spelled(kind)}{count}", self.function.number()
        )

    def load(self, pointer: Any) -> Instruction:
        kind = pointer.type.pointee
        text = f"load {spelled(kind)}, ptr {referred(pointer)}"
        return self.told(kind, text, self.function.number())

    def store(self, value: Any, pointer: Any) -> Instruction:
        text = f"store {spelled(value.type)} {referred(value)}, ptr {referred(pointer)}"
        return self.told(None, text)

    def gep(self, pointer: Any, indices: Sequence[Any]) -> Value:
        (index,) = indices
        of = f"{spelled(pointer.type.pointee)}, ptr {referred(pointer)}"
        text = f"getelementptr {of}, {spelled(index.type)} {referred(index)}"
        return self.pure(pointer.type, text)

    def atomic_rmw(self, op: str, pointer: Any, value: Any, ordering: str) -> Value:
        given = f"ptr {referred(pointer)}, {spelled(value.type)} {referred(value)}"
        return self.made(value.type, f"atomicrmw {op} {given} {ordering}")

    def load_atomic(self, pointer: Any, ordering: str, align: int) -> Value:
        kind = pointer.type.pointee
        place = f"ptr {referred(pointer)} {ordering}, align {align}"
        return self.made(kind, f"load atomic {spelled(kind)}, {place}")

    def store_atomic(self, value: Any, pointer: Any, ordering: str, align: int) -> None:
        given = f"{spelled(value.type)} {referred(value)}, ptr {referred(pointer)}"
        self.told(None, f"store atomic {given} {ordering}, align {align}")

    def call(self, function: Any, args: Sequence[Any], *, fastmath: Sequence[str] = ()) -> Value:
        """Call a function or what an address leads to; a scalar float has the module's freedom."""
        is_function = isinstance(function, Function)
        kind = function.function_type if is_function else function.type.pointee
        result = spelled(kind.return_type)
        freedom = self.module.freedom if result in _FLOATS else frozenset[str]()
        flags = "".join(f"{flag} " for flag in sorted(freedom.union(fastmath)))
        given = ", ".join(f"{spelled(x.type)} {referred(x)}" for x in args)
        text = f"call {flags}{result} {referred(function)}({given})"
        if result == "void":
            return self.told(kind.return_type, text)
        return self.made(kind.return_type, text)

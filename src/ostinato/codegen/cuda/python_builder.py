"""Elementary functions as Python text: the definitions that the CPU has, written another way.

A definition tells a builder which operations make its value. Here each becomes a line of Python of
numbers whose types are said at every step, since Numba would widen them. Numbers of 128 bits are
pairs of words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partialmethod
from typing import Literal

from ostinato.codegen.cpu.llvm import Builder, Writes
from ostinato.codegen.cpu.llvm_text import (
    F32,
    F64,
    I1,
    I32,
    I64,
    I128,
    Constant,
    Instruction,
    Module,
    Type,
    Value,
    zero,
)
from ostinato.codegen.loops.expression import Sign
from ostinato.codegen.loops.numba_source import INDENT

SPELLED = {"float": "f32", "double": "f64", "i16": "u16", "i32": "i32", "i64": "i64", "i1": "bool"}
"""What makes a number of each type."""
UNSIGNED = {"i16": "u16", "i32": "u32", "i64": "u64"}
WIDE = I128.text


@dataclass
class Library:
    """The functions of a module that are written so far, and its tables of numbers."""

    is_exact: bool = False  # products are rounded before they are added
    texts: dict[str, str] = field(default_factory=dict[str, str])
    tables: dict[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])

    def define(
        self,
        name: str,
        parameters: Sequence[tuple[str, Type]],
        result: str,
        write: Writes,
    ) -> None:
        """Write a function once; ``result`` makes what it returns."""
        if name in self.texts:
            return
        self.texts[name] = ""  # it is being written
        builder = PythonBuilder(self)
        given: list[Value] = []
        for parameter, kind in parameters:
            builder.line(f"{parameter} = {SPELLED[kind.text]}({parameter})")
            given.append(Value(kind, parameter))
        made = write(builder, given)
        builder.line(f"return {result}({spelled(made)})")
        head = f"def {name}({', '.join(parameter for parameter, _ in parameters)}):"
        self.texts[name] = "\n".join(["@device", head, *builder.lines, ""])


def spelled(value: Value) -> str:
    """A value as Python."""
    if not isinstance(value, Constant):
        return value.ref
    kind, number = value.type, value.number
    if number is None:
        assert value.ref == zero(kind).ref, f"no number for {value}"
        number = 0
    if kind in (F32, F64):
        return f"{SPELLED[kind.text]}({_float(float(number))})"
    if kind == I1:
        return str(bool(int(number) & 1))
    bits = int(kind.text[1:])
    whole = int(number) % 2**bits
    if kind.text == WIDE:
        return f"(i64({signed(whole >> 64, 64)}), i64({signed(whole % 2**64, 64)}))"
    return f"{SPELLED[kind.text]}({signed(whole, bits)})"


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf"


def signed(whole: int, bits: int) -> int:
    return whole - 2**bits if whole >= 2 ** (bits - 1) and bits > 16 else whole


class PythonBuilder(Builder):
    """Writes a line of Python for every operation."""

    def __init__(self, library: Library) -> None:
        self.library, self.module, self.free = library, Module(), ""
        self.lines: list[str] = []
        self.depth, self.count = 1, 0
        self.aside = self._aside
        self._known: list[dict[str, Value]] = [{}]
        self._words: dict[str, tuple[Value, Value, bool]] = {}  # see `trunc`

    # ------------------------------------------------------------ lines

    def line(self, text: str) -> None:
        self.lines.append(INDENT * self.depth + text)

    def named(self, kind: Type, text: str) -> Value:
        """Give a value a name; the same words give the same value."""
        for scope in self._known:
            if text in scope:
                return scope[text]
        made = self.fresh(kind, text)
        self._known[-1][text] = made
        return made

    def fresh(self, kind: Type, text: str) -> Value:
        self.count += 1
        made = Value(kind, f"v{self.count}")
        self.line(f"{made.ref} = {text}")
        return made

    def _aside(
        self, name: str, test: Value | None, args: Sequence[Value], kind: Type, write: Writes
    ) -> Value:
        """Call a function of its own, where the test holds; any number elsewhere."""
        parameters = [(f"x{k}", each.type) for k, each in enumerate(args)]
        self.library.define(name, parameters, SPELLED[kind.text], write)
        call = f"{name}({', '.join(map(spelled, args))})"
        if test is None:
            return self.fresh(kind, call)
        found = self.fresh(kind, spelled(args[0]))
        self.line(f"if {spelled(test)}:")
        self.lines.append(f"{INDENT * (self.depth + 1)}{found.ref} = {call}")
        return found

    # ------------------------------------------------------------ loops and places

    def turns(
        self,
        first: Value,
        end: Value,
        step: Value,
        body: Callable[[Value], object],
        is_rolled: bool = False,
    ) -> None:
        self.count += 1
        index = Value(first.type, f"n{self.count}")
        bounds = ", ".join(map(spelled, (first, end, step)))
        self.line(f"for {index.ref} in range({bounds}):")
        self.depth += 1
        self._known.append({})
        body(index)
        self._known.pop()
        self.depth -= 1

    @contextmanager
    def goto_entry_block(self) -> Generator[None]:
        yield  # functions ask for places before anything else

    def alloca(self, kind: Type, count: int = 0, align: int = 0) -> Value:
        assert not count, "arrays have no place in a thread"
        self.count += 1
        return Value(kind.as_pointer(), f"place{self.count}")

    def store(self, value: Value, pointer: Value) -> Instruction:
        self.line(f"{pointer.ref} = {spelled(value)}")
        return Instruction(value.type, "", "")

    def load(self, pointer: Value) -> Instruction:
        found = self.fresh(pointer.type.element, pointer.ref)
        return Instruction(found.type, found.ref, "")

    def gep(self, pointer: Value, index: Value) -> Value:
        table = pointer.ref.removeprefix("@")
        self.library.tables[table] = self.module.words[table]
        return Value(pointer.type, f"{table}[{spelled(index)}]")

    # ------------------------------------------------------------ floats

    def _infix(self, op: str, lhs: Value, rhs: Value) -> Value:
        return self.named(lhs.type, f"{spelled(lhs)} {op} {spelled(rhs)}")

    fadd = partialmethod(_infix, "+")
    fsub = partialmethod(_infix, "-")
    fdiv = partialmethod(_infix, "/")

    def fmul(self, lhs: Value, rhs: Value) -> Value:
        if self.library.is_exact:
            return self.named(lhs.type, f"rounded_product({spelled(lhs)}, {spelled(rhs)})")
        return self._infix("*", lhs, rhs)

    def fneg(self, arg: Value) -> Value:
        return self.named(arg.type, f"-{spelled(arg)}")

    def fcmp_ordered(self, op: Sign, lhs: Value, rhs: Value) -> Value:
        x, y = spelled(lhs), spelled(rhs)
        return self.named(I1, f"{x} < {y} or {x} > {y}" if op == "!=" else f"{x} {op} {y}")

    def fcmp_unordered(self, op: Sign | Literal["uno"], lhs: Value, rhs: Value) -> Value:
        x, y = spelled(lhs), spelled(rhs)
        match op:
            case "!=":
                text = f"{x} != {y}"
            case "uno":
                text = f"{x} != {x}" if x == y else f"{x} != {x} or {y} != {y}"
            case _:
                opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!="}[op]
                return self.not_(self.fcmp_ordered(opposite, lhs, rhs))  # type: ignore[arg-type]  # a sign of the table
        return self.named(I1, text)

    # ------------------------------------------------------------ whole numbers

    def _whole(self, name: str, op: str, lhs: Value, rhs: Value) -> Value:
        x, y, kind = spelled(lhs), spelled(rhs), lhs.type.text
        if kind == WIDE:
            return self.named(I128, f"wide_{name}({x}, {y})")
        return self.named(lhs.type, f"{SPELLED[kind]}({x} {op} {y})")

    def _of_unsigned(self, op: str, lhs: Value, rhs: Value) -> Value:
        kind = lhs.type.text
        x, y = (f"{UNSIGNED[kind]}({spelled(each)})" for each in (lhs, rhs))
        return self.named(lhs.type, f"{SPELLED[kind]}({x} {op} {y})")

    sub = partialmethod(_whole, "sub", "-")
    and_ = partialmethod(_whole, "and", "&")
    or_ = partialmethod(_whole, "or", "|")
    ashr = partialmethod(_whole, "ashr", ">>")
    udiv = partialmethod(_of_unsigned, "//")
    urem = partialmethod(_of_unsigned, "%")

    def add(self, lhs: Value, rhs: Value, flags: Sequence[str] = ()) -> Value:
        return self._whole("add", "+", lhs, rhs)

    def mul(self, lhs: Value, rhs: Value) -> Value:
        made = self._whole("mul", "*", lhs, rhs)
        if lhs.ref in self._words and rhs.ref.isdigit() and int(rhs.ref) < 2**32:
            factor = Value(I32, str(signed(int(rhs.ref), 32)))
            self._words[made.ref] = self._words[lhs.ref][0], factor, False
        return made

    def xor(self, lhs: Value, rhs: Value) -> Value:
        if lhs.type == I1:
            return self.named(I1, f"{spelled(lhs)} != {spelled(rhs)}")
        return self._whole("xor", "^", lhs, rhs)

    def not_(self, value: Value) -> Value:
        return self.named(I1, f"not {spelled(value)}")

    def sdiv(self, lhs: Value, rhs: Value) -> Value:
        return self._called("truncated_quotient", lhs, rhs)

    def shl(self, lhs: Value, rhs: Value) -> Value:
        if lhs.type.text == WIDE:
            return self._called("wide_shl", lhs, rhs)
        return self._whole("shl", "<<", lhs, rhs)

    def lshr(self, lhs: Value, rhs: Value) -> Value:
        if lhs.type.text == WIDE:
            return self._called("wide_lshr", lhs, rhs)
        made = self._of_unsigned(">>", lhs, rhs)
        if lhs.ref in self._words and rhs.ref == "32":
            x, y, _ = self._words[lhs.ref]
            self._words[made.ref] = x, y, True
        return made

    def _called(self, name: str, *args: Value) -> Value:
        return self.named(args[0].type, f"{name}({', '.join(map(spelled, args))})")

    def icmp_signed(self, op: Sign, lhs: Value, rhs: Value) -> Value:
        return self.named(I1, f"{spelled(lhs)} {op} {spelled(rhs)}")

    def icmp_unsigned(self, op: Sign, lhs: Value, rhs: Value) -> Value:
        if op in ("==", "!="):
            return self.icmp_signed(op, lhs, rhs)
        x, y = (f"{UNSIGNED[lhs.type.text]}({spelled(each)})" for each in (lhs, rhs))
        return self.named(I1, f"{x} {op} {y}")

    def select(self, cond: Value, lhs: Value, rhs: Value) -> Value:
        text = f"where({spelled(cond)}, {spelled(lhs)}, {spelled(rhs)})"
        return self.named(lhs.type, text)

    # ------------------------------------------------------------ types

    def trunc(self, value: Value, kind: Type) -> Value:
        """A word of a product of two words is computed in 32 bits, the upper one by itself."""
        x = spelled(value)
        if kind == I32 and value.ref in self._words:
            word, factor, is_upper = self._words[value.ref]
            if is_upper:
                return self._called("upper_word", word, factor)
            return word if factor.ref == "1" else self.mul(word, factor)
        if kind.text == value.type.text:
            return value
        if kind == I1:
            return self.named(I1, f"({x} & 1) != 0")
        if value.type.text == WIDE:
            return self.named(kind, f"{x}[1]")
        return self.named(kind, f"{SPELLED[kind.text]}({x})")

    def zext(self, value: Value, kind: Type) -> Value:
        x, source = spelled(value), value.type.text
        if kind.text == source:
            return value
        if kind.text == WIDE:
            return self.named(kind, f"(i64(0), {x})")
        inner = x if source == "i1" else f"{UNSIGNED[source]}({x})"
        made = self.named(kind, f"{SPELLED[kind.text]}({inner})")
        if value.type == I32 and kind == I64:
            self._words[made.ref] = value, Value(I32, "1"), False
        return made

    def sext(self, value: Value, kind: Type) -> Value:
        x = spelled(value)
        if kind.text == WIDE:
            return self.named(kind, f"({x} >> 63, {x})")
        return self.named(kind, f"{SPELLED[kind.text]}({x})")

    def bitcast(self, value: Value, kind: Type) -> Value:
        if value.type.text == kind.text:
            return value
        name = "bits_of" if value.type in (F32, F64) else f"{SPELLED[kind.text]}_of_bits"
        return self.named(kind, f"{name}({spelled(value)})")

    def fpext(self, value: Value, kind: Type) -> Value:
        return self.named(kind, f"{SPELLED[kind.text]}({spelled(value)})")

    fptrunc = sitofp = fptosi = fpext

    def uitofp(self, value: Value, kind: Type) -> Value:
        x = spelled(value)
        inner = x if value.type == I1 else f"{UNSIGNED[value.type.text]}({x})"
        return self.named(kind, f"{SPELLED[kind.text]}({inner})")

    def fptoui(self, value: Value, kind: Type) -> Value:
        text = f"{SPELLED[kind.text]}({UNSIGNED[kind.text]}({spelled(value)}))"
        return self.named(kind, text)

    # ------------------------------------------------------------ calls

    def call(self, function: Value, args: Sequence[Value], fastmath: Sequence[str] = ()) -> Value:
        """Call an operation that LLVM has by a name, such as ``llvm.fma.f32``."""
        _, name, _ = function.ref.strip('@"').split(".")
        if name in ("ctlz", "fshl") and args[0].type.text == WIDE:
            name = f"wide_{name}"
        given = args[:1] if name.endswith("ctlz") else args
        text = f"{name}({', '.join(map(spelled, given))})"
        return self.named(function.type.element.element, text)

"""Statements and expressions of the loop IR as LLVM instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast as typed

import numpy as np

from ostinato.codegen.cpu.llvm import Builder, emit_range, internal_function, local_array
from ostinato.codegen.cpu.llvm_text import I8, I64, Block, Value, i64
from ostinato.codegen.cpu.native.numbers import (
    Number,
    arithmetic,
    cast,
    cast_literal,
    compare,
    extreme,
    literal,
    negative,
    truth,
)
from ostinato.codegen.cpu.native.scope import Meaning, Memory, Scope, assigned_often
from ostinato.codegen.cpu.primitive import Inner, Written, where
from ostinato.codegen.loops.expression import (
    Binary,
    Call,
    Compare,
    Constant,
    Expression,
    Item,
    Logic,
    Name,
    Negative,
    Not,
    Tuple,
    common,
    operands,
)
from ostinato.codegen.loops.numba_source import show
from ostinato.codegen.loops.statements import (
    Add,
    Break,
    Do,
    For,
    If,
    Let,
    Nothing,
    Remark,
    Return,
    Statement,
    While,
    Write,
)
from ostinato.pdg.errors import UnreadableError

carray = object()
"""Stands for Numba's view of memory: here memory is an address."""

CASTS: dict[object, str] = {
    np.float32: "float32",
    np.float64: "float64",
    np.int32: "int32",
    np.int64: "int64",
    np.uint16: "uint16",
    np.uint32: "uint32",
}


@dataclass
class Writer:
    """Writes the statements of one function, and of those it calls, into its blocks."""

    scope: Scope

    def __post_init__(self) -> None:
        self.b = self.scope.builder

    # ------------------------------------------------------------ statements

    def body(self, statements: Sequence[Statement]) -> None:
        """Write statements; those after a ``return`` or ``break`` are not reached."""
        for statement in statements:
            if self.b.block.is_terminated:
                return
            try:
                self.statement(statement)
            except UnreadableError as failure:
                text = next(iter(show((statement,))), "")
                raise UnreadableError(f"{failure}, in `{text}`") from None

    def statement(self, statement: Statement) -> None:
        match statement:
            case Let((name,), value):
                self.scope.bind(name, self.meaning(value))
            case Let(names, value):
                parts = parts_of(self.meaning(value))
                if len(parts) != len(names):
                    raise UnreadableError("two sides of different length")
                for name, part in zip(names, parts, strict=True):
                    self.scope.bind(name, part)
            case Add(name, value):
                old = self.require_number(self.named(name))
                self.scope.bind(name, arithmetic(self.b, "+", old, self.number(value)))
            case Write(array, index, value):
                word = cast(self.b, self.number(value), "int64").value
                self.b.store(word, self.word(array, index))
            case Do(call):
                self.meaning(call)
            case For(name, bounds, body):
                self.loop(name, bounds, body)
            case While(test, body):
                self.repeat(test, body)
            case If(test, then, other):
                self.choice(test, then, other)
            case Return():
                self.b.ret_void()
            case Break():
                self.b.branch(self.scope.after[-1])
            case Remark() | Nothing():
                pass
            case _:
                raise UnreadableError(f"a statement of kind {type(statement).__name__}")

    def loop(self, name: str, bounds: Sequence[Expression], body: Sequence[Statement]) -> None:
        """``for name in range(...)``."""
        values = [self.integer(each) for each in bounds]
        first, end = (i64(0), values[0]) if len(values) == 1 else values[:2]
        step = values[2] if len(values) == 3 else i64(1)
        lanes = lanes_of(bounds)
        after = self.b.append_basic_block("left")
        if name in self.scope.often:
            raise UnreadableError(f"`{name}` is assigned in its loop")

        def inside(index: Value) -> None:
            with self.scope.block():
                self.scope.bind(name, Number("int64", index))
                self.body(body)

        def lane(index: Value) -> None:
            inside(self.b.add(first, index, flags=("nsw",)))

        self.scope.after.append(after)
        if lanes:
            emit_range(self.b, i64(0), i64(lanes), step, lane)
        else:
            emit_range(self.b, first, end, step, inside)
        self.scope.after.pop()
        self.b.branch(after)
        self.b.position_at_end(after)

    def repeat(self, test: Expression, body: Sequence[Statement]) -> None:
        """``while test: body``."""
        head, inside, after = (
            self.b.append_basic_block(f"while.{each}") for each in ("head", "body", "end")
        )
        self.b.branch(head)
        self.b.position_at_end(head)
        self.b.cbranch(self.condition(test), inside, after)
        self.b.position_at_end(inside)
        self.scope.after.append(after)
        with self.scope.block():
            self.body(body)
        self.scope.after.pop()
        self.go_to(head)
        self.b.position_at_end(after)

    def choice(
        self, test: Expression, then: Sequence[Statement], other: Sequence[Statement]
    ) -> None:
        """``if test: then else: other``."""
        condition = self.condition(test)
        inside, end = (self.b.append_basic_block(f"if.{each}") for each in ("then", "end"))
        orelse = self.b.append_basic_block("if.else") if other else end
        self.b.cbranch(condition, inside, orelse)
        for block, statements in ((inside, then), (orelse, other)):
            if block is end:
                continue
            self.b.position_at_end(block)
            with self.scope.block():
                self.body(statements)
            self.go_to(end)
        self.b.position_at_end(end)

    def go_to(self, block: Block) -> None:
        if not self.b.block.is_terminated:
            self.b.branch(block)

    # ------------------------------------------------------------ expressions

    def meaning(self, of: Expression) -> Meaning:
        match of:
            case Constant(value):
                return literal(value)
            case Name(name):
                return self.named(name)
            case Tuple(parts):
                return tuple(self.meaning(each) for each in parts)
            case Binary(op, left, right):
                return arithmetic(self.b, op, self.number(left), self.number(right))
            case Negative(x):
                return negative(self.b, self.number(x))
            case Not(x):
                return Number("bool", self.b.not_(self.condition(x)))
            case Compare(sign, left, right):
                return compare(self.b, sign, self.number(left), self.number(right))
            case Logic(word, parts):
                return self.both(word, parts)
            case Item(array, index):
                return Number("int64", self.b.load(self.word(array, index)))
            case Call(function, args):
                return self.call(self.function(function), args)
            case _:
                raise UnreadableError(f"an expression of kind {type(of).__name__}")

    def named(self, name: str) -> Meaning:
        found = self.scope[name]
        return literal(found) if isinstance(found, bool | int | float) else found

    def function(self, name: str) -> object:
        builtin = {"min": min, "max": max}.get(name)
        return builtin if builtin is not None else self.scope[name]

    def number(self, of: Expression) -> Number:
        return self.require_number(self.meaning(of))

    def require_number(self, found: Meaning) -> Number:
        if not isinstance(found, Number):
            raise UnreadableError(f"a {type(found).__name__} where a number is needed")
        return found

    def integer(self, of: Expression) -> Value:
        found = self.number(of)
        if found.dtype not in ("int64", "int32", "bool"):
            raise UnreadableError(f"a {found.dtype} as a bound of a loop")
        return cast(self.b, found, "int64").value

    def condition(self, of: Expression) -> Value:
        return truth(self.b, self.number(of))

    def word(self, array: Expression, index: Expression) -> Value:
        """The address of a word of an array of int64."""
        memory = self.meaning(array)
        if not isinstance(memory, Memory) or memory.element is not I64:
            raise UnreadableError(f"an element of {array}")
        return self.b.gep(memory.value, self.integer(index))

    def both(self, word: str, values: Sequence[Expression]) -> Number:
        """``x and y``; what calls nothing and reads nothing can be computed in vain."""
        if not all(map(is_pure, values)):
            raise UnreadableError("a condition that reads memory")
        join = self.b.and_ if word == "and" else self.b.or_
        found = self.condition(values[0])
        for each in values[1:]:
            found = join(found, self.condition(each))
        return Number("bool", found)

    # ------------------------------------------------------------ calls

    def call(self, function: object, given: Sequence[Expression]) -> Meaning:
        if isinstance(function, type) and function in CASTS:
            (of,) = given
            if isinstance(of, Constant):
                return cast_literal(of.value, CASTS[function])
            return cast(self.b, self.number(of), CASTS[function])
        args = [self.meaning(each) for each in given]
        if function is where:
            condition, x, y = (self.require_number(each) for each in args)
            dtype = common(x.dtype, y.dtype)
            sides = (cast(self.b, each, dtype).value for each in (x, y))
            return Number(dtype, self.b.select(truth(self.b, condition), *sides))
        if isinstance(function, Written):
            return self.written(function, args)
        if isinstance(function, Inner):
            return (self.called if function.is_subroutine else self.inlined)(function, args)
        if function is min or function is max:
            return self.extreme(function is max, [self.require_number(each) for each in args])
        if function is carray:
            return args[0]
        raise UnreadableError(f"a call of {function!r}")

    def extreme(self, largest: bool, args: Sequence[Number]) -> Number:
        found = args[0]
        for each in args[1:]:
            found = extreme(self.b, largest, found, each)
        return found

    def written(self, function: Written, args: Sequence[Meaning]) -> Meaning:
        """A call of a primitive."""
        if len(args) != len(function.arguments):
            raise UnreadableError(f"{len(args)} arguments of {function.name}")
        flat = [local_array(self.b, I64, function.room, 64)] if function.room else []
        for kind, given in zip(function.arguments, args, strict=True):
            match kind, given:
                case "array", Memory(value):
                    flat.append(value)
                case "indices", tuple():
                    parts = parts_of(typed(object, given))
                    numbers = (self.require_number(each) for each in parts)
                    flat += [cast(self.b, each, "int64").value for each in numbers]
                case "array" | "indices", _:
                    raise UnreadableError(f"no {kind} as an argument of {function.name}")
                case _:
                    flat.append(cast(self.b, self.require_number(given), kind).value)
        made = function.emit(self.b, flat)
        if made is None:
            return None
        return Memory(made, I8) if function.result == "array" else Number(function.result, made)

    def called(self, function: Inner, args: Sequence[Meaning]) -> Meaning:
        """A call of a subroutine, which this module gets with the first one."""
        flat = [
            each.value
            if isinstance(each, Memory)
            else cast(self.b, self.require_number(each), "int64").value
            for each in args
        ]
        kinds = [value.type for value in flat]
        name, body = f"ostinato.{function.name}", partial(emit_inner, function)
        made = internal_function(self.b.module, name, I64, kinds, body, "noinline", "nounwind")
        return Number("int64", self.b.call(made, flat))

    def inlined(self, function: Inner, args: Sequence[Meaning]) -> Meaning:
        """What a function of the loop IR does, here; its value."""
        often = assigned_often(function.body)
        writer = Writer(Scope(self.b, function.calls, often))
        if often & function.parameters.keys():
            raise UnreadableError(f"{function.name} assigns to a parameter")
        for (name, kind), each in zip(function.parameters.items(), args, strict=True):
            meaning = cast(self.b, each, kind) if isinstance(each, Number) else each
            writer.scope.bind(name, meaning)
        writer.body(function.body)
        return None if function.value is None else writer.meaning(function.value)


def emit_inner(function: Inner, builder: Builder, given: Sequence[Value]) -> None:
    """Write the body of a function of arrays and numbers, with what it returns."""
    writer = Writer(Scope(builder, {}, frozenset()))
    parts: list[Meaning] = [
        Memory(value, value.type.element) if kind == "array" else Number(kind, value)
        for kind, value in zip(function.arguments, given, strict=True)
    ]
    made = writer.inlined(function, parts)
    if function.value is not None:
        builder.ret(cast(builder, writer.require_number(made), function.result).value)


def lanes_of(bounds: Sequence[Expression]) -> int:
    """How many positions ``range(first, first + count)`` has, which are lanes of vectors; or 0."""
    match bounds:
        case [Name(a), Binary("+", Name(b), Constant(int() as count))]:
            return count if a == b else 0
        case _:
            return 0


def parts_of(value: object) -> tuple[Meaning, ...]:
    """The parts of a tuple; of anything else none."""
    return typed("tuple[Meaning, ...]", value) if isinstance(value, tuple) else ()


def is_pure(of: Expression) -> bool:
    """Whether an expression reads no memory, so that it may be computed where it is not needed."""
    if isinstance(of, Item) or isinstance(of, Call) and of.function not in HARMLESS:
        return False
    return all(map(is_pure, operands(of)))


HARMLESS = ("min", "max", "i64", "i32")

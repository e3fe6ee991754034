"""Statements and expressions of generated code as LLVM instructions."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from typing import cast as typed

import numpy as np

from ostinato.codegen.cpu.llvm import (
    I64,
    Builder,
    Inner,
    Value,
    Written,
    emit_range,
    i64,
    new_function,
    where,
)
from ostinato.codegen.cpu.native.numbers import (
    Number,
    UnreadableError,
    arithmetic,
    cast,
    cast_literal,
    common,
    compare,
    extreme,
    literal,
    negative,
    truth,
)
from ostinato.codegen.cpu.native.scope import Meaning, Memory, Scope, assigned_often

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

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Write statements; those after a ``return`` or ``break`` are not reached."""
        for statement in statements:
            if self.b.block.is_terminated:
                return
            try:
                self.statement(statement)
            except UnreadableError as failure:
                text = ast.unparse(statement).partition("\n")[0]
                raise UnreadableError(f"{failure}, in `{text}`") from None

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self.assign(target, self.meaning(value))
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                old = self.number(ast.Name(name, ast.Load()))
                self.scope.bind(name, arithmetic(self.b, op, old, self.number(value)))
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                old = Number("int64", self.b.load(self.word(target)))
                self.assign(target, arithmetic(self.b, op, old, self.number(value)))
            case ast.Expr(value=value):
                self.meaning(value)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=bounds), body=body):
                self.loop(name, bounds, body)
            case ast.While(test=test, body=body):
                self.repeat(test, body)
            case ast.If(test=test, body=body, orelse=other):
                self.choice(test, body, other)
            case ast.Return(value=None):
                self.b.ret_void()
            case ast.Break():
                self.b.branch(self.scope.after[-1])
            case ast.Pass():
                pass
            case _:
                raise UnreadableError(f"a statement of kind {type(node).__name__}")

    def assign(self, target: ast.expr, value: Meaning) -> None:
        match target:
            case ast.Name(id=name):
                self.scope.bind(name, value)
            case ast.Tuple(elts=elements):
                parts = parts_of(value)
                if len(parts) != len(elements):
                    raise UnreadableError("two sides of different length")
                for each, part in zip(elements, parts, strict=True):
                    self.assign(each, part)
            case ast.Subscript():
                wanted = self.require_number(value)
                self.b.store(cast(self.b, wanted, "int64").value, self.word(target))
            case _:
                raise UnreadableError(f"an assignment to a {type(target).__name__}")

    def loop(self, name: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
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

    def repeat(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
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

    def choice(self, test: ast.expr, body: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> None:
        """``if test: body else: other``."""
        condition = self.condition(test)
        then, end = (self.b.append_basic_block(f"if.{each}") for each in ("then", "end"))
        orelse = self.b.append_basic_block("if.else") if other else end
        self.b.cbranch(condition, then, orelse)
        for block, statements in ((then, body), (orelse, other)):
            if block is end:
                continue
            self.b.position_at_end(block)
            with self.scope.block():
                self.body(statements)
            self.go_to(end)
        self.b.position_at_end(end)

    def go_to(self, block: object) -> None:
        if not self.b.block.is_terminated:
            self.b.branch(block)

    # ------------------------------------------------------------ expressions

    def meaning(self, node: ast.expr) -> Meaning:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return literal(value)
            case ast.Constant():
                return None  # a string that says what a function does
            case ast.Name(id=name):
                return self.named(name)
            case ast.Tuple(elts=elements):
                return tuple(self.meaning(each) for each in elements)
            case ast.BinOp(left=left, op=op, right=right):
                return arithmetic(self.b, op, self.number(left), self.number(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                known = plain(node)
                return negative(self.b, self.number(operand)) if known is None else literal(known)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Number("bool", self.b.not_(self.condition(operand)))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return compare(self.b, op, self.number(left), self.number(right))
            case ast.BoolOp(op=op, values=values):
                return self.both(op, values)
            case ast.Subscript():
                return Number("int64", self.b.load(self.word(node)))
            case ast.Call(func=function, args=args, keywords=[]):
                return self.call(self.function(function), args)
            case _:
                known = plain(node)
                if known is None:
                    raise UnreadableError(f"an expression of kind {type(node).__name__}")
                return literal(known)

    def named(self, name: str) -> Meaning:
        found = self.scope[name]
        return literal(found) if isinstance(found, bool | int | float) else found

    def function(self, node: ast.expr) -> object:
        if not isinstance(node, ast.Name):
            raise UnreadableError(f"a call of {ast.unparse(node)}")
        builtin = {"min": min, "max": max}.get(node.id)
        return builtin if builtin is not None else self.scope[node.id]

    def number(self, node: ast.expr) -> Number:
        return self.require_number(self.meaning(node))

    def require_number(self, found: Meaning) -> Number:
        if not isinstance(found, Number):
            raise UnreadableError(f"a {type(found).__name__} where a number is needed")
        return found

    def integer(self, node: ast.expr) -> Value:
        found = self.number(node)
        if found.dtype not in ("int64", "int32", "bool"):
            raise UnreadableError(f"a {found.dtype} as a bound of a loop")
        return cast(self.b, found, "int64").value

    def condition(self, node: ast.expr) -> Value:
        return truth(self.b, self.number(node))

    def word(self, node: ast.Subscript) -> Value:
        """The address of a word of an array of int64."""
        memory = self.meaning(node.value)
        if not isinstance(memory, Memory) or memory.element is not I64:
            raise UnreadableError(f"an element of {ast.unparse(node.value)}")
        return self.b.gep(memory.value, [self.integer(node.slice)])

    def both(self, op: ast.boolop, values: Sequence[ast.expr]) -> Number:
        """``x and y``; what calls nothing and reads nothing can be computed in vain."""
        if not all(map(is_pure, values)):
            raise UnreadableError("a condition that reads memory")
        join = self.b.and_ if isinstance(op, ast.And) else self.b.or_
        found = self.condition(values[0])
        for each in values[1:]:
            found = join(found, self.condition(each))
        return Number("bool", found)

    # ------------------------------------------------------------ calls

    def call(self, function: object, nodes: Sequence[ast.expr]) -> Meaning:
        if isinstance(function, type) and function in CASTS:
            known = plain(nodes[0])
            if known is not None:
                return cast_literal(known, CASTS[function])
            return cast(self.b, self.number(nodes[0]), CASTS[function])
        args = [self.meaning(each) for each in nodes]
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
        flat: list[Value] = []
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
        return None if made is None else Number(function.result, made)

    def called(self, function: Inner, args: Sequence[Meaning]) -> Meaning:
        """A call of a subroutine, which this module gets with the first one."""
        memories = [each.element if isinstance(each, Memory) else None for each in args]
        flat = [
            each.value
            if isinstance(each, Memory)
            else cast(self.b, self.require_number(each), "int64").value
            for each in args
        ]

        def body(inner: Builder, given: list[Value]) -> None:
            inside = Writer(Scope(inner, {}, frozenset()))
            meanings: list[Meaning] = [
                Number("int64", value) if element is None else Memory(value, element)
                for value, element in zip(given, memories, strict=True)
            ]
            inner.ret(inside.require_number(inside.inlined(function, meanings)).value)

        name = f"ostinato.{function.function.__name__}"
        found = self.b.module.globals.get(name)
        if found is None:
            kinds = [value.type for value in flat]
            found = new_function(self.b, name, I64, kinds, body, ("noinline", "nounwind"))
        return Number("int64", self.b.call(found, flat))

    def inlined(self, function: Inner, args: Sequence[Meaning]) -> Meaning:
        """A call of a function written in Python: its statements, here."""
        read = reading(function)
        statements, result = list(read.body), None
        last = statements[-1]
        if isinstance(last, ast.Return):
            result = last.value
            statements.pop()
        often = assigned_often(statements)
        writer = Writer(Scope(self.b, read.around, often))
        if often & {*read.parameters}:
            raise UnreadableError(f"{function.function.__name__} assigns to a parameter")
        for name, value in zip(read.parameters, args, strict=True):
            writer.scope.bind(name, value)
        writer.body(statements)
        return writer.meaning(result) if result is not None else None


@dataclass(frozen=True)
class Reading:
    """A function of generated code that is written in Python."""

    parameters: tuple[str, ...]
    body: tuple[ast.stmt, ...]
    around: Mapping[str, object]


@cache
def _parsed(function: Callable[..., Any]) -> ast.FunctionDef:
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef), f"{function} is no function"
    return node


def reading(function: Inner) -> Reading:
    """The statements of a function, and what its names mean."""
    python = function.function
    node = _parsed(python)
    closed = inspect.getclosurevars(python)
    around = {**closed.globals, **closed.nonlocals}
    return Reading(tuple(a.arg for a in node.args.args), tuple(node.body), around)


def lanes_of(bounds: Sequence[ast.expr]) -> int:
    """How many positions ``range(first, first + count)`` has, which are lanes of vectors; or 0."""
    match bounds:
        case [ast.Name(a), ast.BinOp(ast.Name(b), ast.Add(), ast.Constant(int() as count))]:
            return count if a == b else 0
        case _:
            return 0


def parts_of(value: object) -> tuple[Meaning, ...]:
    """The parts of a tuple; of anything else none."""
    return typed("tuple[Meaning, ...]", value) if isinstance(value, tuple) else ()


def is_pure(node: ast.expr) -> bool:
    """Whether an expression reads no memory, so that it may be computed where it is not needed."""
    allowed = {"min", "max", "i64", "i32"}
    for each in ast.walk(node):
        if isinstance(each, ast.Subscript):
            return False
        if isinstance(each, ast.Call):
            if not isinstance(each.func, ast.Name) or each.func.id not in allowed:
                return False
    return True


def plain(node: ast.expr) -> float | None:
    """The value of a literal number, also behind a sign, and of ``np.inf`` and ``np.nan``."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            found = plain(operand)
            return None if found is None or isinstance(found, bool) else -found
        case ast.Attribute(value=ast.Name(id="np"), attr="inf" | "nan" as name):
            return float(name)
        case _:
            return None

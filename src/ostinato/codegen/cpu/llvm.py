"""The door to llvmlite's instructions, which have no types: the few parts we use, typed.

A `primitive` is a function of generated code whose body we write as LLVM instructions. An argument
of another number type than it names is cast at the call. Both readers of generated code know
primitives: `ostinato.codegen.cpu.native`, and Numba by way of `numba_door`.
"""

import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, Protocol
from typing import cast as typed

from ostinato.codegen.cpu import llvm_text
from ostinato.codegen.cpu.part import THIS
from ostinato.pdg.node import Dtype

ROW = 16  # turns of a loop from which on vectors are faster than numbers one after the other

_ir = importlib.import_module("llvmlite.ir")

Compare = Literal["<", "<=", ">", ">=", "==", "!="]


class Type(Protocol):
    """An LLVM type."""

    def as_pointer(self) -> "Type": ...


class Value(Protocol):
    """An LLVM value."""

    type: Type


class Instruction(Value, Protocol):
    """An LLVM load or store, which can carry an alignment and metadata."""

    align: int

    def set_metadata(self, name: str, node: object) -> None: ...


class Module(Protocol):
    """An LLVM module under construction."""

    globals: dict[str, Value]

    def add_metadata(self, operands: Sequence[object]) -> object: ...


class Phi(Value, Protocol):
    """A value that depends on the block before."""

    def add_incoming(self, value: Value, block: object) -> None: ...


class Primitive(Protocol):
    """A function of generated code; only compiled code can call it."""

    def __call__(self, *args: object) -> Any: ...


class Builder(Protocol):
    """The instructions of llvmlite's IRBuilder that we use."""

    module: Module
    block: Any

    def append_basic_block(self, name: str = ...) -> Any: ...
    def position_at_end(self, block: Any) -> None: ...
    def goto_entry_block(self) -> AbstractContextManager[None]: ...
    def if_then(self, pred: Value, likely: bool | None = ...) -> AbstractContextManager[Any]: ...
    def if_else(self, pred: Value) -> AbstractContextManager[tuple[Any, Any]]: ...
    def branch(self, target: Any) -> Value: ...
    def cbranch(self, cond: Value, truebr: Any, falsebr: Any) -> Value: ...
    def phi(self, kind: Type) -> Phi: ...
    def alloca(self, kind: Type, size: Value | None = ...) -> Value: ...

    def fadd(self, lhs: Value, rhs: Value) -> Value: ...
    def fsub(self, lhs: Value, rhs: Value) -> Value: ...
    def fmul(self, lhs: Value, rhs: Value) -> Value: ...
    def fdiv(self, lhs: Value, rhs: Value) -> Value: ...
    def frem(self, lhs: Value, rhs: Value) -> Value: ...
    def fneg(self, arg: Value) -> Value: ...
    def add(self, lhs: Value, rhs: Value, name: str = ..., flags: Sequence[str] = ...) -> Value: ...
    def sub(self, lhs: Value, rhs: Value) -> Value: ...
    def mul(self, lhs: Value, rhs: Value) -> Value: ...
    def sdiv(self, lhs: Value, rhs: Value) -> Value: ...
    def udiv(self, lhs: Value, rhs: Value) -> Value: ...
    def srem(self, lhs: Value, rhs: Value) -> Value: ...
    def urem(self, lhs: Value, rhs: Value) -> Value: ...
    def shl(self, lhs: Value, rhs: Value) -> Value: ...
    def lshr(self, lhs: Value, rhs: Value) -> Value: ...
    def ashr(self, lhs: Value, rhs: Value) -> Value: ...
    def and_(self, lhs: Value, rhs: Value) -> Value: ...
    def or_(self, lhs: Value, rhs: Value) -> Value: ...
    def xor(self, lhs: Value, rhs: Value) -> Value: ...
    def not_(self, value: Value) -> Value: ...
    def trunc(self, value: Value, type: Type) -> Value: ...
    def zext(self, value: Value, type: Type) -> Value: ...
    def sext(self, value: Value, type: Type) -> Value: ...
    def fpext(self, value: Value, type: Type) -> Value: ...
    def fptrunc(self, value: Value, type: Type) -> Value: ...
    def uitofp(self, value: Value, type: Type) -> Value: ...
    def sitofp(self, value: Value, type: Type) -> Value: ...
    def fptosi(self, value: Value, type: Type) -> Value: ...
    def fptoui(self, value: Value, type: Type) -> Value: ...
    def bitcast(self, value: Value, type: Type) -> Value: ...
    def select(self, cond: Value, lhs: Value, rhs: Value) -> Value: ...
    def icmp_signed(self, op: Compare, lhs: Value, rhs: Value) -> Value: ...
    def icmp_unsigned(self, op: Compare, lhs: Value, rhs: Value) -> Value: ...
    def fcmp_ordered(self, op: Compare, lhs: Value, rhs: Value) -> Value: ...
    def fcmp_unordered(self, op: Compare | Literal["uno"], lhs: Value, rhs: Value) -> Value: ...
    def insert_element(self, vector: Value, value: Value, index: Value) -> Value: ...
    def extract_element(self, vector: Value, index: Value) -> Value: ...
    def shuffle_vector(self, lhs: Value, rhs: Value, mask: Value) -> Value: ...
    def load(self, pointer: Value) -> Instruction: ...
    def store(self, value: Value, pointer: Value) -> Instruction: ...
    def gep(self, pointer: Value, indices: Sequence[Value]) -> Value: ...
    def call(
        self, function: Value, args: Sequence[Value], *, fastmath: Sequence[str] = ()
    ) -> Value: ...
    def atomic_rmw(self, op: str, pointer: Value, value: Value, ordering: str) -> Value: ...
    def load_atomic(self, pointer: Value, ordering: str, align: int) -> Value: ...
    def store_atomic(self, value: Value, pointer: Value, ordering: str, align: int) -> Value: ...
    def ret_void(self) -> Value: ...
    def ret(self, value: Value) -> Value: ...
    def inttoptr(self, value: Value, type: Type) -> Value: ...
    def ptrtoint(self, value: Value, type: Type) -> Value: ...


I1: Type = _ir.IntType(1)
I8: Type = _ir.IntType(8)
I16: Type = _ir.IntType(16)
I32: Type = _ir.IntType(32)
I64: Type = _ir.IntType(64)
I128: Type = _ir.IntType(128)
F32: Type = _ir.FloatType()
F64: Type = _ir.DoubleType()
VOID: Type = _ir.VoidType()


def bits_type(count: int) -> Type:
    """Return the type of whole numbers of so many bits."""
    made: Type = _ir.IntType(count)
    return made


def vector_type(element: Type, lanes: int) -> Type:
    """Return the type of ``lanes`` elements, or of one scalar when ``lanes`` is 0."""
    made: Type = _ir.VectorType(element, lanes) if lanes else element
    return made


def constant(kind: Type, value: float | list[int] | list[float]) -> Value:
    """Return a literal of the type; a vector type takes a list, one number per lane."""
    key = f"{llvm_text.spelled(kind)} {value!r}"
    made = _CONSTANTS.get(key)
    if made is None:
        made = _CONSTANTS[key] = _ir.Constant(kind, value)
    return made


_CONSTANTS: dict[str, Value] = {}
"""Those that were asked for before: making one of a vector takes long."""


def undefined(kind: Type) -> Value:
    """Return a value that is about to be overwritten."""
    made: Value = _ir.Constant(kind, _ir.Undefined)
    return made


def i64(value: int) -> Value:
    return constant(I64, value)


def _function(module: Module, kind: Type, name: str) -> Any:
    if isinstance(module, llvm_text.Module):
        return llvm_text.Function(module, kind, name)
    return _ir.Function(module, kind, name)


def declare(builder: Builder, name: str, result: Type, args: Sequence[Type]) -> Value:
    """Return the external function or LLVM intrinsic of that name and type."""
    found = builder.module.globals.get(name)
    return _function(builder.module, function_type(result, args), name) if found is None else found


def function_type(result: Type, args: Sequence[Type]) -> Type:
    """Return the type of functions from the arguments to the result."""
    made: Type = _ir.FunctionType(result, args)
    return made


def alloca(builder: Builder, kind: Type) -> Value:
    """Return a pointer to a local variable, which LLVM turns into registers."""
    with builder.goto_entry_block():
        pointer = builder.alloca(kind)
        builder.store(_ir.Constant(kind, None), pointer)  # it may be read before it is written
    return pointer


def local_array(builder: Builder, kind: Type, count: int, align: int) -> Value:
    """Return a pointer to so many local variables that start at a multiple of ``align`` bytes."""
    with builder.goto_entry_block():
        array: Any = builder.alloca(kind, i64(count))
    array.align = align
    place: Value = array
    return place


def emit_loop(builder: Builder, count: Value, body: Callable[[Value], None]) -> None:
    """Emit ``for i in range(count): body(i)`` with an int64 ``i``."""
    emit_range(builder, constant(count.type, 0), count, constant(count.type, 1), body)


def emit_range(
    builder: Builder, first: Value, end: Value, step: Value, body: Callable[[Value], object]
) -> None:
    """Emit ``for i in range(first, end, step): body(i)``; a literal step may be negative."""
    head, inside, after = (builder.append_basic_block(f"loop.{x}") for x in ("head", "body", "end"))
    before = builder.block
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(first.type)
    index.add_incoming(first, before)
    going_down = getattr(step, "constant", 1) < 0
    builder.cbranch(builder.icmp_signed(">" if going_down else "<", index, end), inside, after)
    builder.position_at_end(inside)
    body(index)
    following = builder.add(index, step, flags=("nsw",))
    index.add_incoming(following, builder.block)
    builder.branch(head)
    last: object = builder.block
    if isinstance(last, llvm_text.Block) and _is_row(last, inside, first, end, step):
        last.end += f", !llvm.loop {last.parent.module.vector_loop().ref}"
    builder.position_at_end(after)


def _is_row(last: llvm_text.Block, body: Any, first: Value, end: Value, step: Value) -> bool:
    """Whether a loop has no branch, and a fixed number of turns that is worth vectors."""
    known = [getattr(value, "constant", None) for value in (first, end, step)]
    return last is body and None not in known and len(range(*typed("list[int]", known))) >= ROW


def emit_if(builder: Builder, condition: Value, body: Callable[[], object]) -> None:
    """Emit ``if condition: body()``."""
    with builder.if_then(condition, likely=True):
        body()


def internal_function(
    builder: Builder, name: str, args: Sequence[Type], body: Callable[[Builder, list[Value]], None]
) -> Value:
    """Return a void function of this module, written by ``body`` when first asked for.

    The name decides: two bodies must not share one.
    """
    found = builder.module.globals.get(name)
    if found is not None:
        return found

    def write(inner: Builder, given: list[Value]) -> None:
        body(inner, given)
        inner.ret_void()

    return new_function(builder, name, VOID, args, write)


def function_apart(
    builder: Builder, name: str, args: Sequence[Type], body: Callable[[Builder, list[Value]], None]
) -> Value:
    """Return a void function that is compiled by itself, so that kernels can share it.

    Written as `internal_function` is; Numba compiles it with each kernel.
    """
    module: Any = builder.module
    if not isinstance(module, llvm_text.Module):
        return internal_function(builder, name, args, body)

    kind = function_type(VOID, args)

    def write(inner: llvm_text.Module) -> None:
        made = llvm_text.Function(inner, kind, THIS)
        b = typed(Builder, llvm_text.Builder(made.append_basic_block("entry")))
        body(b, typed("list[Value]", made.args))
        b.ret_void()

    symbol = module.apart(name, write)
    return typed(Value, module.globals.get(symbol) or llvm_text.Function(module, kind, symbol))


def new_function(
    builder: Builder,
    name: str,
    result: Type,
    args: Sequence[Type],
    body: Callable[[Builder, list[Value]], object],
    attributes: Sequence[str] = (),
) -> Value:
    """Return a function of this module, written by ``body`` up to what it returns."""
    function = _function(builder.module, function_type(result, args), name)
    function.linkage = "internal"
    if isinstance(function, llvm_text.Function):
        function.attributes = tuple(attributes)
    else:
        known: set[str] = function.attributes
        set[str].update(known, attributes)  # llvmlite's own method knows few of them
    write: Any = llvm_text.Builder if isinstance(builder, llvm_text.Builder) else _ir.IRBuilder
    inner: Builder = write(function.append_basic_block("entry"))
    body(inner, list(function.args))
    made: Value = function
    return made


def keep(builder: Builder, function: Value) -> None:
    """Let no pass remove a function that only an attribute names."""
    module: Any = builder.module
    if isinstance(module, llvm_text.Module):
        module.kept.append(typed(llvm_text.Function, function))
        return
    table, address = module.globals.get(_KEPT), typed(Any, function).bitcast(I8.as_pointer())
    kept = [*(table.initializer.constant if table is not None else ()), address]
    kind = _ir.ArrayType(I8.as_pointer(), len(kept))
    if table is None:
        table = _ir.GlobalVariable(module, kind, _KEPT)
        table.linkage, table.section = "appending", "llvm.metadata"
    table.value_type, table.type = kind, kind.as_pointer()
    table.initializer = _ir.Constant(kind, kept)


_KEPT = "llvm.compiler.used"


def words(builder: Builder, name: str, values: Sequence[int]) -> Value:
    """Return a pointer to the first of constant int64 numbers; the name decides which."""
    module: Any = builder.module
    if isinstance(module, llvm_text.Module):
        module.words[name] = values
        return typed(Value, llvm_text.Value(I64.as_pointer(), f"@{name}"))
    found = module.globals.get(name)
    if found is None:
        kind = _ir.ArrayType(I64, len(values))
        found = _ir.GlobalVariable(module, kind, name)
        found.linkage, found.global_constant = "internal", True
        found.initializer = _ir.Constant(kind, list(values))
    pointer: Value = found.bitcast(I64.as_pointer())
    return pointer


Argument = Dtype | Literal["array", "indices"]
Result = Dtype | Literal["void"]
Emit = Callable[[Builder, list[Value]], Value | None]


@dataclass(frozen=True, eq=False)
class Written:
    """A function of generated code, written as LLVM instructions."""

    name: str
    result: Result
    arguments: tuple[Argument, ...]
    emit: Emit

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


def primitive(name: str, result: Result, arguments: Sequence[Argument], emit: Emit) -> Primitive:
    """Return a function of generated code whose body ``emit`` writes as LLVM instructions.

    A number is cast to the named type at the call. ``emit`` sees an array as the address of its
    first element, and a tuple of indices as that many int64 values, all in one flat list.
    """
    return Written(name, result, tuple(arguments), emit)


def inner(function: Callable[..., Any]) -> Primitive:
    """Return a function of generated code that is written in Python, as generated code is."""
    return Inner(function)


def subroutine(function: Callable[..., Any]) -> Primitive:
    """Return one that takes arrays and int64 numbers, returns an int64, and is not inlined."""
    return Inner(function, is_subroutine=True)


def compare_exchange(builder: Builder, pointer: Value, old: Value, new: Value) -> Value:
    """Store an int64 if another one is found there; return whether it was."""
    writer: Any = builder
    if isinstance(writer, llvm_text.Builder):
        place, before, after = map(llvm_text.referred, (pointer, old, new))
        given = f"ptr {place}, i64 {before}, i64 {after}"
        both = writer.made(I64, f"cmpxchg {given} seq_cst acquire")
        return typed(
            Value, writer.made(I1, f"extractvalue {{i64, i1}} {llvm_text.referred(both)}, 1")
        )
    made: Value = writer.extract_value(writer.cmpxchg(pointer, old, new, "seq_cst", "acquire"), 1)
    return made


def _emit_where(builder: Builder, args: list[Value]) -> Value:
    return builder.select(*args)


where: Primitive = Written("where", "void", (), _emit_where)
"""``where(condition, x, y)`` without a branch; both sides are cast to their common type."""

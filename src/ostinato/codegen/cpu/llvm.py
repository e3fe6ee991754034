"""The only door to Numba and llvmlite, which have no types: the few parts we use, typed.

A `primitive` is a function of generated code whose body we write as LLVM instructions. Numba sees
its argument and result types, so an argument of another number type is cast at the call.
"""

import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from ostinato.pdg.node import Dtype

_ir = importlib.import_module("llvmlite.ir")
_cgutils = importlib.import_module("numba.core.cgutils")
_types = importlib.import_module("numba.core.types")
_extending = importlib.import_module("numba.extending")

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


class NumbaType(Protocol):
    """A type of Numba's type system; called with argument types it is a signature."""

    def __call__(self, *args: "NumbaType") -> object: ...


class Primitive(Protocol):
    """A function of generated code; only compiled code can call it."""

    def __call__(self, *args: object) -> Any: ...


class Builder(Protocol):
    """The instructions of llvmlite's IRBuilder that the primitives use."""

    module: Module

    def fadd(self, lhs: Value, rhs: Value) -> Value: ...
    def fsub(self, lhs: Value, rhs: Value) -> Value: ...
    def fmul(self, lhs: Value, rhs: Value) -> Value: ...
    def fdiv(self, lhs: Value, rhs: Value) -> Value: ...
    def frem(self, lhs: Value, rhs: Value) -> Value: ...
    def fneg(self, arg: Value) -> Value: ...
    def add(self, lhs: Value, rhs: Value) -> Value: ...
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
    def inttoptr(self, value: Value, type: Type) -> Value: ...


I1: Type = _ir.IntType(1)
I8: Type = _ir.IntType(8)
I16: Type = _ir.IntType(16)
I32: Type = _ir.IntType(32)
I64: Type = _ir.IntType(64)
F32: Type = _ir.FloatType()
F64: Type = _ir.DoubleType()
VOID: Type = _ir.VoidType()

NUMBA_TYPES: dict[str, NumbaType] = {
    "bool": _types.boolean,
    "int32": _types.int32,
    "int64": _types.int64,
    "uint16": _types.uint16,
    "uint32": _types.uint32,
    "float32": _types.float32,
    "float64": _types.float64,
    "void": _types.void,
}


njit: Callable[..., Callable[[Callable[..., object]], Primitive]] = importlib.import_module(
    "numba"
).njit


def vector_type(element: Type, lanes: int) -> Type:
    """Return the type of ``lanes`` elements, or of one scalar when ``lanes`` is 0."""
    made: Type = _ir.VectorType(element, lanes) if lanes else element
    return made


def constant(kind: Type, value: float | list[int] | list[float]) -> Value:
    """Return a literal of the type; a vector type takes a list, one number per lane."""
    made: Value = _ir.Constant(kind, value)
    return made


def undefined(kind: Type) -> Value:
    """Return a value that is about to be overwritten."""
    made: Value = _ir.Constant(kind, _ir.Undefined)
    return made


def i64(value: int) -> Value:
    return constant(I64, value)


def declare(builder: Builder, name: str, result: Type, args: Sequence[Type]) -> Value:
    """Return the external function or LLVM intrinsic of that name and type."""
    kind = _ir.FunctionType(result, args)
    found: Value = _cgutils.get_or_insert_function(builder.module, kind, name)
    return found


def function_type(result: Type, args: Sequence[Type]) -> Type:
    """Return the type of functions from the arguments to the result."""
    made: Type = _ir.FunctionType(result, args)
    return made


def alloca(builder: Builder, kind: Type) -> Value:
    """Return a pointer to a local variable, which LLVM turns into registers."""
    made: Value = _cgutils.alloca_once(builder, kind)
    return made


def local_array(builder: Builder, kind: Type, count: int, align: int) -> Value:
    """Return a pointer to so many local variables that start at a multiple of ``align`` bytes."""
    array: Any = _cgutils.alloca_once(builder, kind, size=count)
    array.align = align
    place: Value = array
    return place


def emit_loop(builder: Builder, count: Value, body: Callable[[Value], None]) -> None:
    """Emit ``for i in range(count): body(i)`` with an int64 ``i``."""
    with _cgutils.for_range(builder, count) as loop:
        body(loop.index)


def emit_if(builder: Builder, condition: Value, body: Callable[[], object]) -> None:
    """Emit ``if condition: body()``."""
    with _cgutils.if_likely(builder, condition):
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
    function = _ir.Function(builder.module, _ir.FunctionType(VOID, args), name)
    function.linkage = "internal"
    inner: Builder = _ir.IRBuilder(function.append_basic_block("entry"))
    body(inner, list(function.args))
    inner.ret_void()
    made: Value = function
    return made


Argument = Dtype | Literal["array", "indices"]
Result = Dtype | Literal["void"]
Emit = Callable[[Builder, list[Value]], Value | None]


def primitive(name: str, result: Result, arguments: Sequence[Argument], emit: Emit) -> Primitive:
    """Return a function of generated code whose body ``emit`` writes as LLVM instructions.

    A number is cast to the named type at the call. ``emit`` sees an array as the address of its
    first element, and a tuple of indices as that many int64 values, all in one flat list.
    """

    def lower(context: Any, builder: Builder, signature: Any, values: Sequence[Value]) -> object:
        flat: list[Value] = []
        for kind, numba_type, value in zip(arguments, signature.args, values, strict=True):
            match kind:
                case "array":
                    flat.append(context.make_array(numba_type)(context, builder, value).data)
                case "indices":
                    flat.extend(_cgutils.unpack_tuple(builder, value, numba_type.count))
                case _:
                    flat.append(value)
        done = emit(builder, flat)
        return context.get_dummy_value() if done is None else done

    def define(_context: object, *types: Any) -> object:
        wanted = (_typed(kind, given) for kind, given in zip(arguments, types, strict=True))
        return NUMBA_TYPES[result](*wanted), lower

    parameters = ["context", *(f"x{i}" for i in range(len(arguments)))]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(each, kind) for each in parameters])
    setattr(define, "__signature__", signature)  # noqa: B010  (Numba binds calls against it)
    define.__name__ = name
    made: Primitive = _extending.intrinsic(define)
    return made


def _typed(argument: Argument, given: Any) -> NumbaType:
    match argument:
        case "array":
            kind: NumbaType = given
        case "indices":
            kind = _types.UniTuple(_types.int64, len(given))
        case _:
            kind = NUMBA_TYPES[argument]
    return kind


def _define_where(context: Any, condition: Any, first: Any, second: Any) -> object:
    def lower(context: Any, builder: Builder, signature: Any, values: list[Value]) -> Value:
        return builder.select(*values)

    kind = context.unify_types(_types.unliteral(first), _types.unliteral(second))
    return kind(_types.boolean, kind, kind), lower


where: Primitive = _extending.intrinsic(_define_where)
"""``where(condition, x, y)`` without a branch; both sides are cast to their common type."""

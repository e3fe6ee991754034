"""The door to Numba: what generated code calls, as Numba's own functions.

Generated code prints as Numba source. Machine code is usually written by
`ostinato.codegen.cpu.native`, which needs no Numba; compiled by Numba it computes the same bits.
"""

import importlib
import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol

from ostinato.codegen.cpu.access import STORED
from ostinato.codegen.cpu.flags import KERNEL
from ostinato.codegen.cpu.llvm import Builder
from ostinato.codegen.cpu.llvm import define as define_function
from ostinato.codegen.cpu.llvm_text import I8, I64, KINDS, THIS, VOID, Module, Part, Type, Value
from ostinato.codegen.cpu.native.body import emit_inner
from ostinato.codegen.cpu.primitive import Argument, Inner, Primitive, Written, where
from ostinato.codegen.loops.expression import SUFFIX
from ostinato.pdg.errors import OptionError

_ir = importlib.import_module("llvmlite.ir")
_binding = importlib.import_module("llvmlite.binding")
_numba = importlib.import_module("numba")
_cgutils = importlib.import_module("numba.core.cgutils")
_types = importlib.import_module("numba.core.types")
_extending = importlib.import_module("numba.extending")
_templates = importlib.import_module("numba.core.typing.templates")

njit: Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]] = _numba.njit

carray: Callable[..., Any] = _numba.carray
"""``carray(pointer, length)``: an array over memory that a kernel was given."""

_WRAPPERS = ("no_cfunc_wrapper", "no_cpython_wrapper", "nogil")
_OPTIONS = {name: value for name, value in KERNEL.items() if name not in _WRAPPERS}

TYPES: dict[str, Any] = {
    **{dtype: getattr(_types, dtype) for dtype in SUFFIX},
    "bool": _types.boolean,
    "void": _types.void,
    "array": _types.CPointer(_types.uint8),
}


_ELEMENTS = {"uint8": I8, **STORED}


def _definition(function: Primitive) -> Callable[..., object]:
    """What tells Numba the types of a call and how it is lowered."""

    def lower(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> object:
        flat: list[Any] = []
        kinds: list[Type] = []
        if isinstance(function, Written) and function.room:
            flat.append(_cgutils.alloca_once(builder, _ir.IntType(64), size=function.room))
            kinds.append(I64.as_pointer())
        for kind, given, value in zip(function.arguments, signature.args, values, strict=True):
            match kind:
                case "array":
                    flat.append(context.make_array(given)(context, builder, value).data)
                    kinds.append(_ELEMENTS[str(given.dtype)].as_pointer())
                case "indices":
                    flat.extend(_cgutils.unpack_tuple(builder, value, given.count))
                    kinds.extend([I64] * given.count)
                case _:
                    flat.append(value)
                    kinds.append(KINDS[kind])
        freedom = sorted(context.fastmath.flags) if context.fastmath else ()
        symbol = _linked(context, _module(function, kinds, freedom))
        is_void = function.result == "void"
        result = _ir.VoidType() if is_void else context.get_value_type(signature.return_type)
        kind = _ir.FunctionType(result, [value.type for value in flat])
        called = _cgutils.get_or_insert_function(builder.module, kind, symbol)
        done = builder.call(called, flat)
        return context.get_dummy_value() if is_void else done

    def define(_context: object, *types: Any) -> object:
        wanted = (
            _typed(kind, given) for kind, given in zip(function.arguments, types, strict=True)
        )
        return TYPES[function.result](*wanted), lower

    parameters = ["context", *(f"x{i}" for i in range(len(function.arguments)))]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(each, kind) for each in parameters])
    setattr(define, "__signature__", signature)  # noqa: B010  (Numba binds calls against it)
    define.__name__ = function.name
    return define


def _typed(argument: Argument, given: Any) -> Any:
    match argument:
        case "array":
            return given
        case "indices":
            return _types.UniTuple(_types.int64, len(given))
        case _:
            return TYPES[argument]


def _module(function: Primitive, kinds: Sequence[Type], freedom: Sequence[str]) -> Module:
    """The module of a primitive, as a function that is inlined wherever it is called."""

    def body(b: Builder, args: list[Value]) -> None:
        if isinstance(function, Inner):
            emit_inner(function, b, args)
        elif (made := function.emit(b, args)) is not None:
            b.ret(made)

    module = Module(freedom)
    kinds_of_results = {**KINDS, "void": VOID, "array": I8.as_pointer()}
    result = kinds_of_results[function.result]
    define_function(module, THIS, result, kinds, body, "alwaysinline")
    return module


def _linked(context: Any, module: Module) -> str:
    """Link a module's one function into what Numba compiles, and return its symbol."""
    part = Part.of(str(module))
    texts = (part.text, *(each.text for each in module.parts.values()))
    library = _library(context.codegen(), part.symbol, texts)
    context.active_code_library.add_linking_library(library)
    return part.symbol


@cache
def _library(codegen: Any, symbol: str, texts: Sequence[str]) -> Any:
    made = codegen.create_library(symbol)
    for text in texts:
        parsed = _binding.parse_assembly(text)
        for each in parsed.functions:
            if each.linkage == _binding.Linkage.external and not each.is_declaration:
                each.linkage = "external" if each.name == symbol else "linkonce_odr"
        made.add_llvm_module(parsed)
    made.finalize()
    return made


def _define_where(context: Any, condition: Any, first: Any, second: Any) -> object:
    def lower(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> object:
        return builder.select(*values)

    kind = context.unify_types(_types.unliteral(first), _types.unliteral(second))
    return kind(_types.boolean, kind, kind), lower


@cache
def _type_of(function: Primitive) -> Any:
    """Numba's type of a primitive: a function whose calls its definition lowers."""
    define = _define_where if function is where else _definition(function)
    template = _templates.make_intrinsic_template(function, define, function.name)
    _templates.infer(template)
    return _types.Function(template)


def _typeof(function: Primitive, _: object) -> Any:
    return _type_of(function)


for _kind in (Written, Inner):
    _extending.typeof_impl.register(_kind)(_typeof)


class Linked(Protocol):
    """A compiled function without Python's calling convention."""

    @property
    def address(self) -> int: ...


def kernel(
    integers: int, exact: bool = False, checked: bool = False, plain: bool = False
) -> Callable[[Callable[..., None]], Linked]:
    """Compile ``f(memory, table, *integers)``: two addresses, then as many int64 numbers.

    ``memory`` points to bytes and ``table`` to int64 numbers. An ``exact`` kernel has no freedom
    of floats. Numba optimises a ``plain`` one like others.
    Errors: OptionError for a ``checked`` kernel, whose addresses Numba cannot check.
    """
    if checked:
        fact = 'compile has checks="addresses", and Numba, which compiles a part, has no such mode'
        raise OptionError(fact, "Report the program, and compile it without this word.")
    options = {**_OPTIONS, "fastmath": False} if exact else _OPTIONS
    signature = f"void(CPointer(uint8), CPointer(int64){', int64' * integers})"
    made: Callable[[Callable[..., None]], Linked] = _numba.cfunc(signature, cache=True, **options)
    return made


def driver(*arguments: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Compile a function that Python calls, for arguments of the given Numba types."""
    signature = f"void({', '.join(arguments)})"
    made: Callable[[Callable[..., None]], Callable[..., None]] = _numba.njit(
        signature, cache=True, nogil=True, **_OPTIONS
    )
    return made

"""The loop IR as LLVM modules: one for each kernel, driver and shared part."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from typing import cast as typed

import numpy as np

from ostinato.codegen.cpu import llvm_text, prelude, stamps
from ostinato.codegen.cpu.flags import FASTMATH
from ostinato.codegen.cpu.llvm import I8, I64, VOID, Builder, Type, function_type
from ostinato.codegen.cpu.native.body import Writer, carray
from ostinato.codegen.cpu.native.numbers import Number
from ostinato.codegen.cpu.native.scope import Memory, Scope, assigned_often
from ostinato.codegen.cpu.part import Part
from ostinato.codegen.loops.expression import Name
from ostinato.codegen.loops.statements import Definition, Function
from ostinato.codegen.loops.types import SUFFIX
from ostinato.codegen.target import Unit

SYMBOL = "ostinato.entry"
"""The name of the one function that a unit exports."""

_binding = importlib.import_module("llvmlite.binding")


NAMES: dict[str, object] = {
    "carray": carray,
    **{suffix: getattr(np, dtype) for dtype, suffix in SUFFIX.items()},
    **{name: getattr(prelude, name) for name in prelude.NAMES - {*prelude.OF_NUMBA}},
    **{name: getattr(stamps, name) for name in ("begin", "mark", "stamp")},
}
"""What every function may mention."""


def units(functions: Iterable[Function], parts: dict[str, Part] | None = None) -> Iterator[Unit]:
    """Write functions, and the ``parts`` that they share where they are first used.

    Errors: UnreadableError.
    """
    parts = {} if parts is None else parts
    for function in functions:
        given = len(parts)
        made = written(function, parts)
        for part in list(parts.values())[given:]:
            yield Unit(part.symbol, part.text, "part")
        yield Unit(function.name, made, "driver" if function.is_driver else "kernel")


def defined(definitions: Sequence[Definition]) -> dict[str, object]:
    """What definitions define."""
    out: dict[str, object] = {}
    for each in definitions:
        args = [out[x.id] if isinstance(x, Name) else x for x in each.args]
        made = typed(Any, NAMES[each.maker])(*args)
        out.update(zip(each.names, made if len(each.names) > 1 else (made,), strict=True))
    return out


def written(function: Function, parts: dict[str, Part] | None = None) -> str:
    """One function as the text of an LLVM module; ``parts`` gets the functions that it shares.

    Errors: UnreadableError.
    """
    kinds = [_ARGUMENTS[kind] for _, kind in function.parameters]
    freedom = () if function.exact else FASTMATH
    module = llvm_text.Module(_binding.get_process_triple(), freedom, parts)
    module.checked = function.checked
    made = llvm_text.Function(module, function_type(VOID, kinds), SYMBOL)
    builder = typed(Builder, llvm_text.Builder(made.append_basic_block("entry")))
    around = {**NAMES, **defined(function.definitions)}
    writer = Writer(Scope(builder, around, assigned_often(function.body)))
    for (name, _), kind, value in zip(function.parameters, kinds, made.args, strict=True):
        meaning = Number("int64", value) if kind is I64 else Memory(value, _element[kind])
        writer.scope.bind(name, meaning)
    writer.body(function.body)
    if not builder.block.is_terminated:
        builder.ret_void()
    return str(module)


_BYTES, _WORDS = I8.as_pointer(), I64.as_pointer()
_element: dict[Type, Type] = {_BYTES: I8, _WORDS: I64}
_ARGUMENTS = {"int64": I64, "int64[::1]": _WORDS, "uint8[::1]": _BYTES}

"""The loop IR as LLVM modules: one for each kernel, driver and shared part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from typing import cast as typed

import numpy as np

from ostinato.codegen.cpu import prelude, stamps
from ostinato.codegen.cpu.flags import FASTMATH
from ostinato.codegen.cpu.llvm import Builder, define
from ostinato.codegen.cpu.llvm_text import I8, I64, VOID, Module, Part, Value
from ostinato.codegen.cpu.native.body import Writer, carray
from ostinato.codegen.cpu.native.numbers import Number
from ostinato.codegen.cpu.native.scope import Memory, Scope, assigned_often
from ostinato.codegen.loops.expression import SUFFIX, Name
from ostinato.codegen.loops.statements import Definition, Function
from ostinato.codegen.target import Unit

SYMBOL = "ostinato.entry"
"""The name of the one function that a unit exports."""


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
    around = {**NAMES, **defined(function.definitions)}

    def body(builder: Builder, args: list[Value]) -> None:
        writer = Writer(Scope(builder, around, assigned_often(function.body)))
        for (name, _), value in zip(function.parameters, args, strict=True):
            of = value.type.of
            writer.scope.bind(name, Memory(value, of) if of else Number("int64", value))
        writer.body(function.body)

    kinds = [_ARGUMENTS[kind] for _, kind in function.parameters]
    module = Module(() if function.exact else FASTMATH, parts, function.checked)
    define(module, SYMBOL, VOID, kinds, body)
    return str(module)


_ARGUMENTS = {"int64": I64, "int64[::1]": I64.as_pointer(), "uint8[::1]": I8.as_pointer()}

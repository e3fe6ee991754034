"""The loop IR as LLVM modules: one for each kernel, driver and shared part.

A profiled driver writes time stamps into a log, of which a worker owns a stretch of int64 words.
First come the number of events, the time of the last stamp, how many events fit, where they begin,
the time of the first stamp, and the words of a stretch; then for every slot its nanoseconds and how
often it ended; then events of three words. Between two stamps no time is lost, so that the slots of
a worker add up to its time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from typing import cast as typed

import numpy as np

from ostinato.codegen.cpu import prelude
from ostinato.codegen.cpu.flags import FASTMATH
from ostinato.codegen.cpu.llvm import Builder, alloca, declare, define
from ostinato.codegen.cpu.llvm_text import (
    I8,
    I32,
    I64,
    VOID,
    Module,
    Part,
    Value,
    constant,
    i64,
    vector_type,
)
from ostinato.codegen.cpu.native.body import Writer, carray
from ostinato.codegen.cpu.native.numbers import Number
from ostinato.codegen.cpu.native.scope import Memory, Scope, assigned_often
from ostinato.codegen.cpu.primitive import Argument, in_llvm, inner
from ostinato.codegen.loops.expression import SUFFIX, Constant, Given, Name, call, item
from ostinato.codegen.loops.nameless import Shape, nameless
from ostinato.codegen.loops.statements import Block, Definition, Function
from ostinato.runtime.machine_code.ports import SYMBOL, Unit

COUNT, LAST, ROOM, EVENTS, FIRST = 0, 1, 2, 3, 4
HEAD = 8  # words before the slots
EVENT_WORDS = 3
_MONOTONIC = getattr(time, "CLOCK_MONOTONIC", 1)  # the clock of Python's perf_counter_ns


@in_llvm("int64")
def clock_ns(b: Builder, args: list[Value]) -> Value:
    """``clock_ns()``: nanoseconds of a clock that never goes back."""
    found = alloca(b, vector_type(I64, 2))  # laid out as the system's seconds and nanoseconds
    kind = vector_type(I64, 2).as_pointer()
    b.call(declare(b, "clock_gettime", I32, [I32, kind]), [constant(I32, _MONOTONIC), found])
    both = b.load(found)
    seconds = b.extract_element(both, constant(I32, 0))
    return b.add(b.mul(seconds, i64(10**9)), b.extract_element(both, constant(I32, 1)))


log, own, slot, loop, value = map(Name, ("log", "own", "slot", "loop", "value"))


def _taking(*numbers: Name) -> dict[str, Argument]:
    return {"log": "array", **{each.id: "int64" for each in numbers}}


def _event(out: Block, kind: Given, first: Given, second: Given) -> None:
    """Write three words, while there is room."""
    count = out.let("count", item(log, own + COUNT))
    with out.when(count < item(log, own + ROOM)):
        at = out.let("at", item(log, own + EVENTS) + Constant(EVENT_WORDS) * count)
        out.write(log, at, kind)
        out.write(log, at + 1, first)
        out.write(log, at + 2, second)
        out.write(log, own + COUNT, count + 1)


@inner("void", _taking(own), {"clock_ns": clock_ns})
def begin(out: Block) -> None:
    """Set the clock of a worker whose words begin at ``own``."""
    now = out.let("now", call("clock_ns"))
    out.write(log, own + LAST, now)
    out.write(log, own + FIRST, now)


@inner("void", _taking(own, slot), {"clock_ns": clock_ns})
def stamp(out: Block) -> None:
    """Give a slot the time since the last stamp, and keep an event while there is room."""
    now, before = out.let("now", call("clock_ns")), out.let("before", item(log, own + LAST))
    taken = own + HEAD + Constant(2) * slot
    out.write(log, taken, item(log, taken) + (now - before))
    out.write(log, taken + 1, item(log, taken + 1) + 1)
    out.write(log, own + LAST, now)
    _event(out, slot, before, now)


@inner("void", _taking(own, loop, value))
def mark(out: Block) -> None:
    """Keep, while there is room, that a loop reached a value: it began at the last stamp."""
    _event(out, Constant(-1) - loop, value, item(log, own + LAST))


MARKS = ("checked", "plain")
"""What a function says of how it is compiled, which its module says too."""


NAMES: dict[str, object] = {
    "carray": carray,
    **{suffix: getattr(np, dtype) for dtype, suffix in SUFFIX.items()},
    **{name: getattr(prelude, name) for name in prelude.NAMES - {*prelude.OF_NUMBA}},
    "begin": begin,
    "mark": mark,
    "stamp": stamp,
}
"""What every function may mention."""


@dataclass(frozen=True)
class Known:
    """What is written already: parts, and functions by what they are whatever their names are."""

    parts: dict[str, Part] = field(default_factory=dict[str, Part])
    functions: dict[Shape, str] = field(default_factory=dict[Shape, str])


def units(functions: Iterable[Function], known: Known | None = None) -> Iterator[Unit]:
    """Write functions, and the parts that they share where they are first used.

    Functions that differ in names only are written once.
    Errors: UnreadableError.
    """
    known = Known() if known is None else known
    parts = known.parts
    for function in functions:
        given, shape = len(parts), nameless(function)
        made = known.functions.get(shape) or written(function, parts)
        known.functions[shape] = made
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
    marks = [mark for mark in MARKS if getattr(function, mark)]
    module = Module(() if function.exact else FASTMATH, parts, marks)
    define(module, SYMBOL, VOID, kinds, body)
    return str(module)


_ARGUMENTS = {"int64": I64, "int64[::1]": I64.as_pointer(), "uint8[::1]": I8.as_pointer()}

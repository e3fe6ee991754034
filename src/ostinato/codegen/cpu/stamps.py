"""Time stamps of compiled workers: the log that a profiled driver writes.

A worker owns a stretch of the int64 words of the log. First come the number of events, the time of
the last stamp, how many events fit, where they begin, the time of the first stamp, and the words
of a stretch; then for every slot its nanoseconds and how often it ended; then events of three
words. Between two stamps no time is lost, so that the slots of a worker add up to its time.
"""

import time

from ostinato.codegen.cpu.llvm import Builder, alloca, declare
from ostinato.codegen.cpu.llvm_text import I32, I64, Value, constant, i64, vector_type
from ostinato.codegen.cpu.primitive import Argument, Primitive, inner, primitive
from ostinato.codegen.loops.expression import Constant, Given, Name, call, item
from ostinato.codegen.loops.statements import Block

COUNT, LAST, ROOM, EVENTS, FIRST = 0, 1, 2, 3, 4
HEAD = 8  # words before the slots
EVENT_WORDS = 3
_MONOTONIC = getattr(time, "CLOCK_MONOTONIC", 1)  # the clock of Python's perf_counter_ns


def _emit_clock(b: Builder, args: list[Value]) -> Value:
    found = alloca(b, vector_type(I64, 2))  # laid out as the system's seconds and nanoseconds
    kind = vector_type(I64, 2).as_pointer()
    b.call(declare(b, "clock_gettime", I32, [I32, kind]), [constant(I32, _MONOTONIC), found])
    both = b.load(found)
    seconds = b.extract_element(both, constant(I32, 0))
    return b.add(b.mul(seconds, i64(10**9)), b.extract_element(both, constant(I32, 1)))


clock_ns: Primitive = primitive("clock_ns", "int64", (), _emit_clock)
"""``clock_ns()``: nanoseconds of a clock that never goes back."""


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

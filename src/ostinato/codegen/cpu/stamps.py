"""Time stamps of compiled workers: the log that a profiled driver writes.

A worker owns a stretch of the int64 words of the log. First come the number of events, the time of
the last stamp, how many events fit, where they begin, the time of the first stamp, and the words
of a stretch; then for every slot its nanoseconds and how often it ended; then events of three
words. Between two stamps no time is lost, so that the slots of a worker add up to its time.
"""

import time

from ostinato.codegen.cpu.llvm import Builder, alloca, declare
from ostinato.codegen.cpu.llvm_text import I32, I64, Value, constant, i64, vector_type
from ostinato.codegen.cpu.primitive import Primitive, inner, primitive

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


@inner
def begin(log: list[int], own: int) -> None:
    """Set the clock of a worker whose words begin at ``own``."""
    now = clock_ns()
    log[own + LAST] = now
    log[own + FIRST] = now


@inner
def stamp(log: list[int], own: int, slot: int) -> None:
    """Give a slot the time since the last stamp, and keep an event while there is room."""
    now, before = clock_ns(), log[own + LAST]
    log[own + HEAD + 2 * slot] += now - before
    log[own + HEAD + 2 * slot + 1] += 1
    log[own + LAST] = now
    count = log[own + COUNT]
    if count < log[own + ROOM]:
        at = log[own + EVENTS] + EVENT_WORDS * count
        log[at] = slot
        log[at + 1] = before
        log[at + 2] = now
        log[own + COUNT] = count + 1


@inner
def mark(log: list[int], own: int, loop: int, value: int) -> None:
    """Keep, while there is room, that a loop reached a value: it began at the last stamp."""
    count = log[own + COUNT]
    if count < log[own + ROOM]:
        at = log[own + EVENTS] + EVENT_WORDS * count
        log[at] = -1 - loop
        log[at + 1] = value
        log[at + 2] = log[own + LAST]
        log[own + COUNT] = count + 1

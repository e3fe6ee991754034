"""Arrivals: a kernel tells which block of a history in a file it comes to, and waits for it.

Words behind the entries of the offset table belong to streams: the address of the function that is
told, then for each stream the steps of a block, 0 where its history is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ostinato.codegen.emit.function import OFFSETS, Body, Function
from ostinato.codegen.emit.index_arithmetic import expression
from ostinato.codegen.ir.system import Load
from ostinato.codegen.loops.expression import (
    Constant,
    Expression,
    Logic,
    Name,
    binary,
    call,
    compare,
    item,
)
from ostinato.codegen.loops.statements import Block, Let
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.planning.streams import Stream, Visit, streams
from ostinato.pdg.index import expr

Visits = Sequence[tuple[Stream, int, Visit]]  # with their numbers among those of the stream


def streams_of(plan: Plan) -> tuple[Stream, ...]:
    """The streams of a plan that tell where they are."""
    return streams(plan)[0] if plan.spills else ()


def words(count: int) -> int:
    """The words of so many streams in the offset table."""
    return 1 + count if count else 0


def visits_of(function: Function, place: int) -> Visits:
    """The visits of streams in a tree of a kernel's body."""
    return [
        (s, k, v) for s in function.streams for k, v in enumerate(s.visits) if v.place == place
    ]


def emit_alone(function: Function, place: int, out: Block) -> None:
    """Arrive at the one step that a tree without a loop touches."""
    for stream, k, visit in visits_of(function, place):
        if not visit.is_loop:
            step = expression(visit.span.lo, function.dims)
            with out.when(compare(">", _steps(function, stream), 0)):
                _arrive(function, stream, k, step, out)


def emit_blocks(function: Function, visits: Visits, start: Expression, out: Block) -> None:
    """Arrive at every block that a loop comes to; it stands at the beginning of its body."""
    for stream, k, visit in visits:
        steps, index = _steps(function, stream), Name(function.dims[visit.span.dim])
        behind = binary("+", index, 1) if visit.reverse else index
        begins = compare("==", index, start), compare("==", binary("%", behind, steps), 0)
        with out.when(compare(">", steps, 0)), out.when(Logic("or", begins)):
            _arrive(function, stream, k, index, out)


def emit_ends(function: Function, out: Block) -> None:
    """Arrive at the end of the kernel."""
    for stream in function.streams:
        with out.when(compare(">", _steps(function, stream), 0)):
            _arrive(function, stream, len(stream.visits), Constant(0), out)


def _steps(function: Function, stream: Stream) -> Name:
    """The variable that holds the steps of a block."""
    return Name(function.steps[stream.number])


def prologue(function: Function) -> Iterator[Let]:
    """Find the steps of blocks."""
    for stream in function.streams:
        word = item(OFFSETS, function.words + 1 + stream.number)
        yield Let((function.steps[stream.number],), word)


def _arrive(function: Function, stream: Stream, k: int, step: Expression, out: Block) -> None:
    storage, body = function.storage(stream.tensor), Body(function, frozenset())
    slots = (*stream.outer, *[expr(0)] * (len(storage.slots) - stream.slot))
    first = Load(stream.tensor, slots, (expr(0),) * len(storage.axes), storage.dtype)
    with function.block():
        start = body.offset(first)
        out.extend(body.hoisted)
        told = item(OFFSETS, function.words)
        out.do(call("arrive", told, stream.number, k, step, start))

"""Arrivals: a kernel tells which block of a history in a file it comes to, and waits for it.

Words behind the entries of the offset table belong to walks: the address of the function that is
told, then for each walk the steps of a block, 0 where its history is in memory.

A product that goes through histories from the first step on does so block by block, in one block
where they are in memory. Blocks have a power of two of steps there: where one begins, so does one
of each history whose blocks are no larger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

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
from ostinato.codegen.planning.visits import Visit, Walk
from ostinato.pdg.index import expr

MANY = 1 << 62  # steps: more than any history has
Visits = Sequence[tuple[Walk, int, Visit]]  # with their numbers among those of the walk


def walks_of(plan: Plan) -> tuple[Walk, ...]:
    """The walks of a plan that tell where they are."""
    return plan.walks.found if plan.spills else ()


def words(count: int) -> int:
    """The words of so many walks in the offset table."""
    return 1 + count if count else 0


def visits_of(function: Function, place: int) -> Visits:
    """The visits of walks in a tree of a kernel's body, but for those of loops of the driver."""
    found = _visits_at(function, place)
    return [(s, k, v) for s, k, v in found if s.around is None or v.is_round]


def _visits_at(function: Function, place: int) -> Visits:
    return [(s, k, v) for s in function.walks for k, v in enumerate(s.visits) if v.place == place]


def visits_inside(visits: Visits, place: int) -> Visits:
    """Those of a loop's visits that are in the tree at a place of its body."""
    inside = (each for each in visits if each[2].inside[:1] == (place,))
    return [(s, k, replace(v, inside=v.inside[1:])) for s, k, v in inside]


def emit_around(function: Function, place: int, out: Block) -> None:
    """Arrive at the block that a loop of the driver comes to."""
    for walk, k, visit in _visits_at(function, place):
        if walk.around is not None and not visit.is_round:
            start = visit.span.hi - 1 if visit.reverse else visit.span.lo
            emit_blocks(function, [(walk, k, visit)], expression(start, function.dims), out)


def emit_alone(function: Function, visits: Visits, out: Block) -> None:
    """Arrive at the one step that a tree touches."""
    for walk, k, visit in visits:
        if visit.near and not (visit.inside or visit.is_loop or visit.is_round):
            step = expression(visit.span.lo, function.dims)
            with out.when(compare(">", _steps(function, walk), 0)):
                _arrive(function, walk, k, step, out)


def emit_blocks(function: Function, visits: Visits, start: Expression, out: Block) -> None:
    """Arrive at every block that a loop comes to; it stands at the beginning of its body."""
    here = (v for v in visits if v[2].is_loop and not v[2].inside and not v[2].is_round)
    for walk, k, visit in (each for each in here if each[2].near):
        steps, index = _steps(function, walk), Name(function.dims[visit.span.dim])
        behind = binary("+", index, 1) if visit.reverse else index
        begins = compare("==", index, start), compare("==", binary("%", behind, steps), 0)
        with out.when(compare(">", steps, 0)), out.when(Logic("or", begins)):
            _arrive(function, walk, k, index, out)


def round_steps(function: Function, rounds: Visits) -> Expression:
    """The steps that a product goes through at once: those of the smallest blocks."""
    found: Expression = Name(function.rounds[rounds[0][0].number])
    for walk, _, _ in rounds[1:]:
        found = call("min", found, Name(function.rounds[walk.number]))
    return found


def emit_rounds(function: Function, rounds: Visits, first: Name, out: Block) -> None:
    """Arrive at the blocks of rounds that begin so far in, or at their first, if there are any."""
    for walk, k, visit in rounds:
        lo, hi = (expression(e, function.dims) for e in (visit.span.lo, visit.span.hi))
        steps, step = _steps(function, walk), binary("+", first, lo)
        begins = compare("==", first, 0), compare("==", binary("%", step, steps), 0)
        with out.when(compare(">", steps, 0)), out.when(compare("<", step, hi)):
            with out.when(Logic("or", begins)):
                _arrive(function, walk, k, step, out)


def emit_ends(function: Function, out: Block) -> None:
    """Arrive at the end of the kernel, or of the last of its calls."""
    for walk in function.walks:
        with out.when(compare(">", _steps(function, walk), 0)), ExitStack() as tests:
            if walk.around is not None:
                span = walk.around.span
                last = span.lo if walk.around.reverse else span.hi - 1
                index, end = Name(function.dims[span.dim]), expression(last, function.dims)
                tests.enter_context(out.when(compare("==", index, end)))
            _arrive(function, walk, len(walk.visits), Constant(0), out)


def _steps(function: Function, walk: Walk) -> Name:
    """The variable that holds the steps of a block."""
    return Name(function.steps[walk.number])


def prologue(function: Function) -> Iterator[Let]:
    """Find the steps of blocks, and of what rounds go through at once."""
    for walk in function.walks:
        word = item(OFFSETS, function.words + 1 + walk.number)
        yield Let((function.steps[walk.number],), word)
        if any(v.is_round for v in walk.visits):
            before = binary("-", _steps(function, walk), 1)
            steps = binary("+", binary("&", before, MANY - 1), 1)  # many, if those of a block are 0
            yield Let((function.rounds[walk.number],), steps)


def _arrive(function: Function, walk: Walk, k: int, step: Expression, out: Block) -> None:
    storage, body = function.storage(walk.tensor), Body(function, frozenset())
    slots = (*walk.outer, *[expr(0)] * (len(storage.slots) - len(walk.outer)))
    first = Load(walk.tensor, slots, (expr(0),) * len(storage.axes), storage.dtype)
    with function.block():
        start = body.offset(first)
        out.extend(body.hoisted)
        told = item(OFFSETS, function.words)
        out.do(call("arrive", told, walk.number, k, step, start))

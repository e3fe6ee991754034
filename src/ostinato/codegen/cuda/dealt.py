"""Loops in lanes, whose turns are dealt out to the threads of a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ostinato.codegen.cuda.one_thread import OneThread
from ostinato.codegen.cuda.rewriting import bounds, named, quotient, remainder, together
from ostinato.codegen.loops.expression import Call, Constant, Expression, Name, binary
from ostinato.codegen.loops.shared_words import SQUARE
from ostinato.codegen.loops.statements import Body, Do, For, Let, Statement

THREAD, THREADS = "thread", "threads"


@dataclass
class Dealt(OneThread):
    """Writes a loop in lanes for one thread, which takes its own turns."""

    count: int = field(default=0, init=False)  # of the loops that are dealt out as one

    def dealt(self, loops: Sequence[For], body: Body) -> Iterator[Statement]:
        """Loops in lanes; where the inner one begins elsewhere in each turn, it is dealt out."""
        if len(loops) > 1:
            yield from self._flat(loops, body)
            return
        (loop,) = loops
        match body:
            case (For(binding="lanes") as inner,):
                made = self.plain(loop)
                assert isinstance(made, For)
                yield replace(made, body=tuple(self.dealt(*nest(inner))), binding="serial")
            case _:
                yield self._turns(loop, body)

    def _turns(self, loop: For, body: Body) -> Statement:
        """Every thread takes its own turns of one loop, or its own elements of squares."""
        first, last, step = bounds(loop)
        if all(map(_is_square, body)):
            return self._elements(loop, body)
        if step == Constant(1):
            start = Name(THREAD) if first == Constant(0) else binary("+", self.value(first), THREAD)
            by: Expression = Name(THREADS)
        else:
            start = binary("+", self.value(first), binary("*", THREAD, self.value(step)))
            by = binary("*", THREADS, self.value(step))
        inner = together(map(self.private, body))
        return For(loop.index, (start, self.value(last), by), inner)

    def _elements(self, loop: For, body: Body) -> Statement:
        """A loop over squares that are transposed, dealt out by elements."""
        first, last, step = map(self.value, bounds(loop))
        self.count += 1
        lane, size = f"lane_{self.count}", SQUARE * SQUARE
        turns = binary("//", binary("+", binary("-", last, first), binary("-", step, 1)), step)
        index = binary("+", first, binary("*", quotient(lane, size), step))
        made: list[Statement] = [Let((loop.index,), index)]
        for statement in map(self.plain, body):
            assert isinstance(statement, Do), "a square is transposed"
            found = statement.call
            made.append(Do(Call(found.function, (*found.args, remainder(lane, size)))))
        bounds_ = Name(THREAD), binary("*", turns, size), Name(THREADS)
        return For(lane, bounds_, tuple(made))

    def _flat(self, loops: Sequence[For], body: Body) -> Iterator[Statement]:
        """Every thread takes its own turns of several loops at once; the last one turns fastest."""
        self.count += 1
        lane, sizes = f"lane_{self.count}", [self.value(loop.bounds[0]) for loop in loops]
        total = sizes[0]
        for size in sizes[1:]:
            total = binary("*", total, size)
        heads: list[Statement] = []
        rest: Expression = Name(lane)
        for loop, size in zip(reversed(loops[1:]), reversed(sizes[1:]), strict=True):
            heads.append(Let((loop.index,), remainder(rest, size)))
            rest = quotient(rest, size)
        heads.append(Let((loops[0].index,), rest))
        inner = (*heads, *together(map(self.private, body)))
        yield For(lane, (Name(THREAD), total, Name(THREADS)), inner)


def _is_square(of: Statement) -> bool:
    return isinstance(of, Do) and of.call.function.startswith("transpose_")


def nest(of: For) -> tuple[list[For], Body]:
    """Loops in lanes that stand directly inside each other and begin at 0, and what is in them."""
    loops, body = [of], of.body
    while len(body) == 1 and all(len(loop.bounds) == 1 for loop in loops):
        (inner,) = body
        if not isinstance(inner, For) or inner.binding != "lanes" or len(inner.bounds) != 1:
            break
        if {loop.index for loop in loops} & {*named(inner.bounds[0])}:
            break
        loops.append(inner)
        body = inner.body
    return loops, body

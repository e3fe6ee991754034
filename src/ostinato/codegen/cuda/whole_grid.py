"""Kernels that one worker runs alone, by all threads of the grid where they have many lanes.

What is done once between phases, such as drawing an order of all rows, may be as much as there are
rows. All blocks run such a kernel: their threads take the lanes as those of a block would, and
meet at barriers of the grid. It takes a cooperative launch, and pays from some thousands of lanes.
"""

from __future__ import annotations

from collections.abc import Collection

from ostinato.codegen.cuda.one_thread import ARENA
from ostinato.codegen.cuda.rewriting import named, within
from ostinato.codegen.cuda.shared_sums import BARRIER
from ostinato.codegen.cuda.shares import SHARED_LANES
from ostinato.codegen.loops.expression import (
    Call,
    Constant,
    Expression,
    Logic,
    Name,
    binary,
    call,
    compare,
)
from ostinato.codegen.loops.statements import (
    Body,
    Break,
    Do,
    For,
    Function,
    Return,
    Statement,
    While,
    every,
)

GRID_BARRIER = Do(Call("grid_barrier", (Name(ARENA),)))
THREAD = binary("+", binary("*", call("grid_block"), call("block_threads")), call("block_thread"))
THREADS = binary("*", call("grid_blocks"), call("block_threads"))


def name_of(kernel: str) -> str:
    """What a kernel is called that all threads of the grid run."""
    return f"{kernel}_of_grid"


def many_lanes(of: Function, extents: Collection[str]) -> Expression | None:
    """Whether the grid should run a kernel, said by extents; None if it never may."""
    products = any(each.maker in ("matmul", "living") for each in of.definitions)
    if products or any(isinstance(s, While | Break | Return) for s in every(of.body)):
        return None
    counts = [s.bounds[-1] for s in every(of.body) if isinstance(s, For) and s.binding == "lanes"]
    known = [x for x in dict.fromkeys(counts) if _is_known(x, extents)]
    tests = tuple(compare(">", x, SHARED_LANES) for x in known)
    return Logic("or", tests) if len(tests) > 1 else next(iter(tests), None)


def _is_known(of: Expression, extents: Collection[str]) -> bool:
    match of:
        case Constant(value):
            return value > SHARED_LANES
        case _:
            return {*named(of)} <= {*extents}


def of_grid(body: Body) -> Body:
    """The statements of a thread of a block as those of a thread of the grid."""

    def change(of: Statement) -> Statement:
        match of:
            case _ if of == BARRIER:
                return GRID_BARRIER
            case _:
                return within(of, change)

    return tuple(map(change, body))

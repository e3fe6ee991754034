"""Loops of one thread that load for several turns before they add up: a load takes long to come.

A thread waits where it uses what it has not got yet. Turns whose loads need nothing of the turn
before are taken together: first the loads of all of them, then what is done with these in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ostinato.codegen.cuda.rewriting import exchanged, given, named, parts
from ostinato.codegen.loops.expression import Constant, Expression, Item, Name, binary, call
from ostinato.codegen.loops.statements import Body, For, Let, Nothing, Remark

LOADS = 16  # under way at a time: more are more code, which has to be fetched too
TURNS = (8, 4, 2)


def loads_ahead(loop: For, fresh: Callable[[str], str]) -> Body:
    """The loop, or one of several turns at a time and one of those that are left over.

    ``fresh`` makes a name that nothing else has.
    """
    body = [s for s in loop.body if not isinstance(s, Remark | Nothing)]
    lets = [s for s in body if isinstance(s, Let) and len(s.names) == 1]
    first, last = _bounds(loop)
    if len(lets) < len(body) or last is None:
        return (loop,)
    waiting = _waiting(lets)
    free = [s for s in lets if s.names[0] not in waiting]
    loads = sum(isinstance(x, Item) for s in free for x in parts(s.value))
    turns = next((n for n in TURNS if loads * n <= LOADS), 1)
    if not loads or not waiting or turns == 1 or len({*given(tuple(lets))}) < len(lets):
        return (loop,)
    count = call("max", last if first == Constant(0) else binary("-", last, first), 0)
    whole: Expression = binary("*", binary("//", count, turns), turns)
    whole = whole if first == Constant(0) else binary("+", first, whole)
    each = [_names(free, loop.index, turn, fresh) for turn in range(turns)]
    held = [s for s in lets if s.names[0] in waiting]
    many = [_renamed(s, names) for some in (free, held) for names in each for s in some]
    return (
        replace(loop, bounds=(first, whole, Constant(turns)), body=tuple(many)),
        replace(loop, bounds=(whole, last)),
    )


def _bounds(loop: For) -> tuple[Expression, Expression | None]:
    """The first turn, and where the last one ends; None where turns are not one after another."""
    match loop.bounds:
        case (last,):
            return Constant(0), last
        case (first, last):
            return first, last
        case _:
            return Constant(0), None


def _waiting(lets: Sequence[Let]) -> set[str]:
    """The names whose values need something of the turn before."""
    names = {s.names[0] for s in lets}
    found: set[str] = set()
    before: set[str] = set()
    for s in lets:
        found |= {x for x in named(s.value) if x in names and x not in before}
        before.add(s.names[0])
    while True:
        more = {s.names[0] for s in lets if found & {*named(s.value)}} - found
        if not more:
            return found
        found |= more


def _names(
    free: Sequence[Let], index: str, turn: int, fresh: Callable[[str], str]
) -> dict[str, Expression]:
    """What names stand for in a turn: what needs nothing of others has a name for each."""
    if turn == 0:
        return {}
    own: dict[str, Expression] = {s.names[0]: Name(fresh(f"{s.names[0]}_{turn}")) for s in free}
    return {**own, index: binary("+", index, turn)}


def _renamed(of: Let, names: Mapping[str, Expression]) -> Let:
    def change(x: Expression) -> Expression:
        return names.get(x.id, x) if isinstance(x, Name) else x

    (name,) = of.names
    new = names.get(name)
    return Let((new.id if isinstance(new, Name) else name,), exchanged(of.value, change))

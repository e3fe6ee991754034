"""Loops over steps taken apart and exchanged, so that a thread keeps what it adds up.

What a loop does is often several things that have nothing to do with each other, such as sums of
several arrays over the groups of tiles. Each in a loop of its own may be dealt out to the threads
by elements (see `rows`), each of which adds up its element in a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ostinato.codegen.cuda.places import Place, place
from ostinato.codegen.cuda.rewriting import calls, given, indices, named
from ostinato.codegen.cuda.touches import Access, Touched
from ostinato.codegen.loops.expression import Constant, Expression
from ostinato.codegen.loops.statements import (
    Body,
    Break,
    For,
    Let,
    Nothing,
    Remark,
    Return,
    Statement,
    While,
    every,
    values,
)


@dataclass(frozen=True)
class Order:
    """Looks at loops of one kernel."""

    accesses: Mapping[str, Access]
    touched: Callable[[Body], Touched]

    # ------------------------------------------------------------ taken apart

    def apart(self, loop: For) -> tuple[For, ...]:
        """The loop as several, one for each part of its body that needs none of the others."""
        leaves = any(isinstance(s, Break | Return | While) for s in every(loop.body))
        if leaves or self.loads(loop.bounds):
            return (loop,)
        free, rest = _parted(loop.body)
        groups: list[list[int]] = []
        for number in range(len(rest)):
            tied = [g for g in groups if any(self.are_tied(rest[k], rest[number]) for k in g)]
            joined = sorted({number, *(k for g in tied for k in g)})
            groups = [*(g for g in groups if g not in tied), joined]
        alone = [g for g in groups if not any(_has_lanes(rest[k]) for k in g)]
        if len(alone) > 1:  # a loop of one thread's sums serves several
            groups = [*(g for g in groups if g not in alone), sorted(k for g in alone for k in g)]
        if len(groups) < 2 or not self.are_single(loop.body, free):
            return (loop,)
        bodies = [[rest[k] for k in g] for g in sorted(groups)]
        return tuple(replace(loop, body=(*_needed(free, body), *body)) for body in bodies)

    def loads(self, bounds: Sequence[Expression]) -> bool:
        """Whether bounds are in memory, which the loop may write."""
        return any(self.touched((Let(("bound",), x),)).reads for x in bounds)

    def are_tied(self, one: Statement, other: Statement) -> bool:
        """Whether two statements share a variable, or memory that one of them writes."""
        a, b = self.touched((one,)), self.touched((other,))
        names, others = {*given((one,))}, {*given((other,))}
        return bool(
            a.writes & (b.reads | b.writes)
            or a.reads & b.writes
            or names & (others | _read(other))
            or _read(one) & others
        )

    def are_single(self, body: Body, free: Mapping[str, Let]) -> bool:
        """Whether what is said of places is said once, and nothing else gives these names."""
        found = [*given(body)]
        return all(found.count(name) == 1 for name in free)

    # ------------------------------------------------------------ exchanged

    def exchanged(self, loop: For, known: Mapping[str, Expression]) -> For | None:
        """The loop inside of one whose turns are elements, if these need nothing of each other."""
        lets, rest = _parted(loop.body)
        match rest:
            case [For(binding="serial" | "lanes") as outer]:
                pass
            case _:
                return None
        inner_lets, inner = _parted(outer.body)
        match inner:
            case [For(bounds=(Constant(int(size)),), binding="lanes") as rows]:
                pass
            case _:
                return None
        local = {loop.index, *lets}
        if any(local & {*named(x)} for x in outer.bounds) or self.loads(outer.bounds):
            return None
        places = {name: let.value for name, let in {**lets, **inner_lets}.items()}
        if not self.are_elements(rows, {**known, **places}, loop.index, outer.index, int(size)):
            return None
        body = (*lets.values(), *inner_lets.values(), rows)
        return replace(outer, body=(replace(loop, body=body),), binding="serial")

    def are_elements(
        self, rows: For, known: Mapping[str, Expression], step: str, outer: str, size: int
    ) -> bool:
        """Whether every turn of the two inner loops has an element of what is written by itself."""
        if any(isinstance(s, For | While) for s in every(rows.body)):
            return False
        written = self.touched((rows,)).writes
        places: dict[str, set[frozenset[tuple[tuple[str, ...], int]]]] = {}
        for tensor, at in self.places(rows, known):
            if tensor not in written:
                continue
            one, many = at.terms.get((rows.index,)), at.terms.get((outer,))
            moves = [t for t in at.terms if {step, rows.index, outer} & at.names[t]]
            if one != 1 or many is None or abs(many) < size or len(moves) != 2:
                return False
            places.setdefault(tensor, set()).add(at.key())
        return bool(places) and all(len(found) == 1 for found in places.values())

    def stores_apart(
        self, loop: For, known: Mapping[str, Expression], variables: Collection[str]
    ) -> bool:
        """Whether each turn of a loop stores at places of its own, which no turn reads.

        Tensors that are ``variables`` of the loop do not matter.
        """
        lets = {s.names[0]: s.value for s in loop.body if isinstance(s, Let) and _is_plain(s)}
        moving = {*given(loop.body), *indices(loop.body)} - lets.keys()
        read, written = self.touched((loop,)).reads, set[str]()
        for each in calls(loop.body):
            access = self.accesses.get(each.function)
            if access is None or not access.is_store or access.tensor in variables:
                continue
            at = place(each.args[1], {**known, **lets})
            steps = [term for term in at.terms if {loop.index, *moving} & at.names[term]]
            if steps != [(loop.index,)] or access.tensor in {*read, *written}:
                return False
            written.add(access.tensor)
        return True

    def places(self, rows: For, known: Mapping[str, Expression]) -> Iterator[tuple[str, Place]]:
        inner = {k: x for k, x in known.items() if k not in {rows.index, *given(rows.body)}}
        for each in calls(rows.body):
            access = self.accesses.get(each.function)
            if access is not None:
                yield access.tensor, place(each.args[1], inner)


def _has_lanes(of: Statement) -> bool:
    return any(isinstance(s, For) and s.binding == "lanes" for s in every((of,)))


def _parted(body: Body) -> tuple[dict[str, Let], list[Statement]]:
    """What only says where something is, and may stand in several loops; all else in order."""
    every_one = [s for s in body if not isinstance(s, Remark | Nothing)]
    rest = [s for s in every_one if not _is_plain(s)]
    while True:
        computed = {*given(tuple(rest))}
        found = [s for s in every_one if not _is_plain(s) or computed & _read(s)]
        if len(found) == len(rest):
            break
        rest = found
    free = [s for s in every_one if s not in rest]
    return {s.names[0]: s for s in free if isinstance(s, Let)}, rest


def _is_plain(of: Statement) -> bool:
    match of:
        case Let((name,), value):
            is_plain = all(each.function in ("min", "max") for each in calls((of,)))
            return is_plain and name not in named(value)
        case _:
            return False


def _needed(free: Mapping[str, Let], body: Sequence[Statement]) -> Iterator[Let]:
    """What is said of places that a part reads, in order."""
    wanted = {name for s in body for name in _read(s)}
    for name, let in reversed([*free.items()]):
        if name in wanted:
            wanted |= {*named(let.value)}
    yield from (let for name, let in free.items() if name in wanted)


def _read(of: Statement) -> set[str]:
    return {name for s in every((of,)) for x in values(s) for name in named(x)}

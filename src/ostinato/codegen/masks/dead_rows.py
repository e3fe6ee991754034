"""Rows of products that nobody looks at: those of episodes that have ended.

Where a loop over steps ends with the last living row of its tile (see `early_exits`), a row
that is dead already is computed for nothing. A product leaves such rows out if what it computes
there, and all that follows from it, is only ever read where the row is dead, or under the mask.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ostinato.codegen.ir.system import (
    Call,
    Choice,
    Literal_,
    Load,
    Readers,
    Statement,
    Value,
    children,
    readers,
)
from ostinato.codegen.ir.tree import Contraction, Loop, leaves
from ostinato.codegen.masks.early_exits import End, is_known
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.systems.masked_sums import mask_of
from ostinato.pdg.condition import Cond
from ostinato.pdg.constant import Scalar
from ostinato.pdg.index import Dim, expr


def dead_rows(
    statements: Mapping[str, Statement],
    storage: Mapping[str, Storage],
    ends: Mapping[Loop, End],
    outputs: frozenset[str],
    guards: Mapping[str, Cond],
) -> dict[str, Load]:
    """For products that need the rows alone for which a mask holds: the mask, at their point."""
    shared = {kept.shares for kept in storage.values() if kept.shares}
    found: dict[str, Load] = {}
    for loop, end in ends.items():
        mask, kept = statements[end.mask], storage[end.mask]
        slot = next(slot for slot in kept.slots if slot.dim == loop.dim)
        is_kept = slot.kind == "full" and not kept.shares and mask.name not in shared
        if not is_kept or len(mask.result_axes) != 1:
            continue
        seen = _Seen(statements, outputs, mask, loop.dim, readers(statements.values()))
        for leaf, _, _ in leaves(loop.body[end.place :]):
            known = is_known(mask.name, leaf, guards)
            if isinstance(leaf, Contraction) and known and seen.only_by_living(leaf):
                assert leaf.m is not None, "it has rows"
                found[leaf.statement] = seen.here(leaf.m.index)
    return found


@dataclass(frozen=True)
class _Seen:
    """Who reads what where a mask is false, at rows of a loop over steps."""

    statements: Mapping[str, Statement]
    outputs: frozenset[str]
    mask: Statement
    dim: Dim
    readers: Readers

    def here(self, row: Dim) -> Load:
        """The mask at the point of a statement, for a row."""
        mask = self.mask
        return Load(mask.name, tuple(map(expr, mask.result_dims)), (expr(row),), mask.dtype)

    def only_by_living(self, leaf: Contraction) -> bool:
        """Whether the dead rows of a product may hold anything finite."""
        s = self.statements[leaf.statement]
        plain = leaf.form == "broadcast" and not leaf.accumulate and mask_of(s) is None
        if leaf.m is None or not plain or not leaf.m.pad.is_const:
            return False
        open_ = [(name, leaf.m.index) for name in (s.name, *leaf.epilogues)]
        done = set(open_)
        while open_:
            name, row = open_.pop()
            if not self._has_rows(self.statements[name], row) or name in self.outputs:
                return False
            for reader, load in self.readers.get(name, ()):
                follows = self._follows(name, row, reader, load)
                if follows is None:
                    return False
                new = {(reader.name, r) for r in follows} - done
                done |= new
                open_ += new
        return True

    def _has_rows(self, s: Statement, row: Dim) -> bool:
        own = {a.index for a in s.result_axes}
        return row in own and {*s.result_dims} >= {*self.mask.result_dims}

    def _follows(self, name: str, row: Dim, reader: Statement, load: Load) -> set[Dim] | None:
        """The reader's rows that a dead row may change: at most one axis; None: living ones."""
        s = self.statements[name]
        read = dict(zip((a.index for a in s.result_axes), load.axes, strict=True))
        at = dict(zip(s.result_dims, load.dims, strict=True))
        needed = {d: at[d] for d in self.mask.result_dims}
        test = Load(self.mask.name, tuple(needed.values()), (read[row],), self.mask.dtype)
        if all(_is_masked(value, load, test, ()) for _, value in reader.clauses):
            return set()
        own = read[row].as_dim()
        back = expr(self.dim) - needed[self.dim]
        same = all(e == expr(d) for d, e in needed.items() if d != self.dim)
        if reader.kind not in ("map", "fold", "matmul") or not same or own is None:
            return None
        if not back.is_const or back.const < 0 or not self._has_rows(reader, own):
            return None
        here = self.here(own)
        if all(_when_dead(value, here) is not None for _, value in reader.clauses):
            return set()
        return {own}


def _is_masked(value: Value, load: Load, test: Load, tests: tuple[Value, ...]) -> bool:
    """Whether every such load stands where the test holds."""
    if value == load:
        return any(_asks(each, test) for each in tests)
    match value:
        case Call("where", (chooser, chosen, other)):
            return (
                _is_masked(chooser, load, test, tests)
                and _is_masked(chosen, load, test, (*tests, chooser))
                and _is_masked(other, load, test, tests)
            )
        case _:
            return all(_is_masked(x, load, test, tests) for x in children(value))


def _asks(value: Value, test: Load) -> bool:
    """Whether a value is true only where the test is."""
    if isinstance(value, Call) and value.fn == "and":
        return any(_asks(each, test) for each in value.args)
    return value == test


def _when_dead(value: Value, mask: Load) -> Scalar | None:
    """What a value is where the mask is false; None if that is not known."""
    match value:
        case Literal_(x):
            return x
        case Load():
            return False if value == mask else None
        case Call("and", args):
            return False if any(_when_dead(a, mask) is False for a in args) else None
        case Call("where", (test, chosen, other)):
            known = _when_dead(test, mask)
            return None if known is None else _when_dead(chosen if known else other, mask)
        case Choice(_, then, other):
            found = [_when_dead(x, mask) for x in (then, other)]
            return found[0] if found[0] == found[1] else None
        case _:
            return None

"""Which terms may define a recurrence: nothing may read a later point of what it defines.

Within a definition carried by the chain ``c1, c2, ...`` (outermost first) every term has a *level*:
the number of nested groups whose recurrences it contains. Reading along ``cj`` against its
direction is a violation at ``j`` if the operand has level ``j`` or more. A read that strictly
advances along ``cj`` lifts its operand out of the groups inside ``cj``: its level falls to ``j``,
and violations at deeper levels are forgiven (``x[i - 1, T - 1]`` inside a carry over ``i``, ``t``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from ostinato.rewrite.engine.egglog_session import Cell
from ostinato.rewrite.load.components import Chain
from ostinato.rewrite.load.dependence import FUTURE, HERE, PAST, Interval, distance
from ostinato.rewrite.load.tables import Tables


class Limit(NamedTuple):
    """What a term may be: at most ``level``, with violations only at ``forgiven`` or deeper."""

    level: int
    forgiven: int


@dataclass(frozen=True, slots=True)
class Moves:
    """Where an operator advances (the outermost carried dimension, or 0) and where it violates."""

    advances: int
    against: tuple[int, ...]


STILL = Moves(0, ())


class Context:
    """The legality constraints of the definitions that share a chain."""

    def __init__(self, chain: Chain, tables: Tables) -> None:
        self.chain, self._tables = chain, tables
        self._place = {tables.bit(c.dim): j for j, c in enumerate(chain, 1)}
        self._levels = Counter(n for c in chain for n in {name for name, _ in c.group})
        self._moves: dict[tuple[str, tuple[Cell, ...]], Moves] = {}

    @property
    def root(self) -> Limit:
        """The limit of a definition itself: anything without a violation."""
        return Limit(len(self.chain), len(self.chain) + 1)

    @property
    def outside(self) -> Limit:
        """The limit of what contains no recurrence of the chain."""
        return Limit(0, len(self.chain) + 1)

    @property
    def names(self) -> frozenset[str]:
        """The recurrences that the chain carries."""
        return frozenset(name for c in self.chain for name, _ in c.group)

    def refusal(self) -> str:
        """Why nothing may define these recurrences, in the user's names."""
        names = sorted(self.names)
        dims = ", ".join(dict.fromkeys(f"`{c.dim}`" for c in self.chain)) or "no dim"
        read = "reads" if len(names) == 1 else "read"
        return f"{', '.join(f'`{n}`' for n in names)} {read} ahead of a loop over {dims}"

    def level(self, rec: int) -> int:
        """How many nested groups the recurrence with this id belongs to."""
        return self._levels.get(self._tables.recs[rec].name, 0)

    def moves(self, op: str, fields: tuple[Cell, ...], operand_dom: int) -> Moves:
        """How an operator reads its operand along the carried dimensions."""
        if not self.chain:
            return STILL
        key = (op, (*(fields[:3] if op in ("lin", "running") else fields[:2]), operand_dom))
        found = self._moves.get(key)
        if found is None:
            found = self._moves[key] = self._moves_of(op, fields, operand_dom)
        return found

    def _moves_of(self, op: str, fields: tuple[Cell, ...], operand_dom: int) -> Moves:
        advances: list[int] = []
        against: list[int] = []
        for bit, iv in self._intervals(op, fields):
            j = self._place.get(bit)
            if j is None or not operand_dom & bit:
                continue
            sign = self.chain[j - 1].sign
            if iv.hi < 0 if sign > 0 else sign < 0 and iv.lo > 0:
                advances.append(j)
            elif iv != HERE and not (sign > 0 and iv.hi <= 0) and not (sign < 0 and iv.lo >= 0):
                against.append(j)
        if not advances and not against:
            return STILL
        return Moves(min(advances, default=0), tuple(against))

    def _intervals(self, op: str, f: tuple[Cell, ...]) -> list[tuple[int, Interval]]:
        tables = self._tables
        match op:
            case "at" | "sl":
                bit = int(f[0])
                return [(bit, distance(tables.index(int(f[1])), tables.dims_in(bit)[0]))]
            case "running":
                return [(int(f[1]), FUTURE if int(f[2]) else PAST)]
            case "lin":
                return [(int(f[0]), FUTURE if int(f[1]) else PAST)]
            case "look":
                at = tables.reading(int(f[0]))
                return [(tables.bit(d), distance(e, d)) for d, e in at]
            case _:
                return []

    def below(self, limit: Limit, moves: Moves) -> Limit:
        """The limit of an operand, so that the result keeps ``limit``."""
        if moves is STILL:
            return limit
        level, forgiven = limit
        if moves.advances:
            if level >= moves.advances:
                level = len(self.chain)
            forgiven = min(forgiven, moves.advances + 1)
        for j in moves.against:
            if j < forgiven:
                level = min(level, j - 1)
        return Limit(level, forgiven)

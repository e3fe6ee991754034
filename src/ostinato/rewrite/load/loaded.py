"""What loading has found so far: the rows of a program, and what the ids in them mean."""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.pdg.index import Dim, Expr
from ostinato.pdg.node import Node, Pdg
from ostinato.rewrite.engine.egglog_session import Row
from ostinato.rewrite.load.components import Chain, Vertex
from ostinato.rewrite.load.tables import Tables


@dataclass
class Loaded:
    """The rows of a program and the meaning of the ids in them.

    ``definitions`` gives the condition of every case of a recurrence, by recurrence id;
    ``twins`` the ids of a recurrence with more and more of its dimensions as axes.
    """

    pdg: Pdg
    tables: Tables
    chains: dict[Vertex, Chain]
    carried: dict[Dim, int]  # the recurrences (bits, as in `reaches`) that a dimension carries
    partial: dict[Node, frozenset[Dim]]
    ids: dict[Node, int] = field(default_factory=dict[Node, int])
    rows: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    twins: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    _shapes: dict[tuple[Expr, ...], int] = field(default_factory=dict[tuple[Expr, ...], int])
    _fresh: int = 0

    def row(self, relation: str, *cells: int | str) -> None:
        self.rows.setdefault(relation, []).append(cells)

    def fresh(self) -> int:
        self._fresh += 1
        return self._fresh - 1

    def shape(self, sizes: tuple[Expr, ...]) -> int:
        """The id of a shape, whose rows are added with those of its tail."""
        found = self._shapes.get(sizes)
        if found is None:
            tail = self.shape(sizes[1:]) if sizes else 0
            found = self._shapes[sizes] = len(self._shapes)
            if sizes:
                self.row("raw_cons", found, self.tables.id(sizes[0]), tail)
            else:
                self.row("raw_nil", found)
        return found

"""Facts of rules as rows of relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from ostinato.rewrite.relations import RELATIONS
from ostinato.rewrite.relations.meanings import Claim, Said, Word
from ostinato.rewrite.relations.relation import Kind, Relation
from ostinato.rewrite.relations.sexpr import Tree, replaced, show

C = TypeVar("C", bound=Claim)


@dataclass(frozen=True, slots=True)
class Row:
    """A relation, and what stands in its columns."""

    relation: Relation
    cells: Mapping[str, Tree]

    def __str__(self) -> str:
        return show((self.relation.name, *self.cells.values()))

    def __getitem__(self, column: str) -> str:
        return str(self.cells[column])

    @property
    def shown(self) -> Mapping[str, str]:
        """The texts of what stands in the columns."""
        return {name: show(cell) for name, cell in self.cells.items()}

    @property
    def columns(self) -> Mapping[str, Kind]:
        """The kinds of all columns."""
        return dict(zip(self.relation.names, self.relation.kinds, strict=True))

    def claims(self, kind: type[C]) -> list[C]:
        """What it says of a kind."""
        return [claim for claim in self.relation.says if isinstance(claim, kind)]

    def said(self, word: Word) -> list[str]:
        """What stands in the columns of which it says a word."""
        found = (c.column for c in self.claims(Said) if c.word == word)
        return [self[column] for column in found]

    def term(self, said: Tree, more: Mapping[str, Tree] | None = None) -> Tree:
        """A term of a claim, with what stands in the columns that it names."""
        return replaced(said, {**self.cells, **(more or {})})


def row(fact: Tree) -> Row | None:
    """The row that a fact asks for, of a relation or of a function that has a value."""
    match fact:
        case ("=", value, (str(name), *cells)) if name in RELATIONS:
            cells.append(value)
        case (str(name), *cells) if name in RELATIONS and RELATIONS[name].value is None:
            pass
        case _:
            return None
    relation = RELATIONS[name]
    if len(cells) != len(relation.names):
        return None
    return Row(relation, dict(zip(relation.names, cells, strict=True)))


def rows(facts: Iterable[Tree]) -> Iterator[Row]:
    """The rows of all facts that ask for one."""
    return (found for fact in facts if (found := row(fact)) is not None)


def in_words(fact: Tree) -> str:
    """What a fact of a rule says, where it is about a relation; else "".

    >>> in_words(("prefix", "d", "s"))
    's is 0 : d + 1'
    """
    found = row(fact)
    return found.relation.words.format_map(found.shown) if found is not None else ""

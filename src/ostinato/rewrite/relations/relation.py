"""The record of one relation: something that rules may ask about their terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ostinato.rewrite.relations.meanings import Claim, Said, Word

Kind = Literal[
    "term", "shape", "size", "real",
    "function", "fold", "type",
    "dimension", "slice", "index", "length", "condition", "order",
    "axis", "number", "mask", "flag", "leaf", "recurrence",
]  # fmt: skip
Made = Literal["loading", "analysis", "rules"]

# What egglog calls a column; all that is not here is a number.
_SORTS: Mapping[Kind, str] = {
    "term": "T", "shape": "H", "size": "Z", "real": "f64",
    "function": "String", "fold": "String", "type": "String",
}  # fmt: skip
# How a row of the loaded program names a class.
_LOADED: Mapping[Kind, str] = {"term": "(node {})", "shape": "(hnode {})"}


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """One relation. A new one is one record: the engine, the prover and certificates read it.

    - ``columns``: their names and kinds; ``value``: of a function, the column that the others
      decide, and ``merge`` which of two values is kept; without one, two are an error.
    - ``keyed``: so many columns decide the others, if not 0; ``joined`` is the operator that makes
      one value of several others.
    - ``says``: what a proof may assume of a row; ``words``: the same for people.
    - ``topic``: the analysis that answers, as the table of proofs has it.
    - ``made``: who makes the rows: loading, analyses, or rules that assert them.
    - ``gate``: without rows the rules that ask for it are left out; ``opened_by``: the relation
      from which rules make the first rows.
    - ``apart``: whether numbers that it shares with other parts of a pattern are compared last.
    - ``inside``: whether it says nothing of points outside the box.
    """

    name: str
    columns: Mapping[str, Kind]
    words: str
    says: tuple[Claim, ...] = ()
    value: Mapping[str, Kind] | None = None
    merge: Literal["", "old", "(& old new)"] = ""
    keyed: int = 0
    joined: str = ""
    topic: str = ""
    made: Made = "loading"
    gate: bool = False
    opened_by: str = ""
    apart: bool = False
    inside: bool = False

    def makes(self, *kinds: type[Claim] | Word) -> bool:
        """Whether it makes a claim of one of some kinds."""
        return any((c.word if isinstance(c, Said) else type(c)) in kinds for c in self.says)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, the value last."""
        return (*self.columns, *(self.value or ()))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of all columns, the value last."""
        return (*self.columns.values(), *(self.value or {}).values())

    @property
    def is_loaded_by_number(self) -> bool:
        """Whether loading names classes by numbers, in the relation ``raw_`` of this name."""
        return self.made == "loading" and any(kind in _LOADED for kind in self.kinds)

    def declarations(self) -> list[str]:
        """The egglog commands that declare it."""
        sorts = [_SORTS.get(kind, "i64") for kind in self.kinds]
        name, out = self.name, list[str]()
        if self.value is None and not self.keyed:
            out.append(f"(relation {name} ({' '.join(sorts)}))")
        else:
            keys = self.keyed or len(self.columns)
            value = sorts[keys]
            if self.joined:
                value = self.joined.capitalize()
                fields = " ".join(sorts[keys:])
                out += [f"(sort {value})", f"(constructor {self.joined} ({fields}) {value})"]
            merge = f":merge {self.merge}" if self.merge else ":no-merge"
            out.append(f"(function {name} ({' '.join(sorts[:keys])}) {value} {merge})")
        if self.is_loaded_by_number:
            raw = ("i64" if kind in _LOADED else _SORTS.get(kind, "i64") for kind in self.kinds)
            out.append(f"(relation raw_{name} ({' '.join(raw)}))")
        return out

    def loading(self) -> str:
        """The rule that reads rows which name classes by numbers."""
        cells = [
            _LOADED.get(k, "{}").format(n) for n, k in zip(self.names, self.kinds, strict=True)
        ]
        keys = len(self.columns)
        row = f"({self.name} {' '.join(cells[:keys])})"
        fact = row if self.value is None else f"(set {row} {cells[-1]})"
        asked = f"(raw_{self.name} {' '.join(self.names)})"
        return f'(rule ({asked}) ({fact}) :ruleset load :name "load/{self.name}")'

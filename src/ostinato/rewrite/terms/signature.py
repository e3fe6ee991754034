"""The operators of terms, what their operands are, and what each head of a term makes.

A term denotes a total function on all integer points to arrays. Operators and their fields:

    leaf n                  an input, literal, index value or draw (a node kept outside)
    rec n                   a recurrent tensor
    map1 f a, map2, map3    an elementwise function
    red f m a               a fold over the axes in the bit mask m (bit k-1 is axis -k)
    mm a b                  matrix product over the last two axes
    tr a, mv k p a, perm p a  last two axes exchanged; axis -k becomes -p; a permutation
    reshape r h a           the trailing r axes get shape h
    bcast h a               trailing axes of size 1 repeated to shape h
    cat k a b               joined along axis -k
    part k i a, cut k i a   one index, or a slice, of axis -k
    gather k a b            positions b along axis -k
    along1 f k n a, along2  a function of the whole of axis -k, with n elements there
    host1 n a, ..., host14  a Python function of operands: leaf n says which; no rule applies
    case i a b              a where condition i holds, else b
    at d i a                dimension d replaced by index i
    sl d i a                a new leading axis: d ranges over slice i
    look i a                several dimensions replaced at once
    scan f d a, back f d a  the inclusive fold over dimension d up to the point, or from it on
    lin d r g a             the linear recurrence over dimension d

Index expressions, slices, conditions and permutations are ids of a table kept outside the e-graph
(`ostinato.rewrite.load.tables`); dimensions are single bits. Shapes are lists ``(cons size rest)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from ostinato.rewrite.relations import RELATIONS
from ostinato.rewrite.relations.relation import Relation

# S text, N number, D dimension bit, A id in the tables, H shape, T term
SIGNATURE: dict[str, str] = {
    "leaf": "N",
    "rec": "N",
    "map1": "ST",
    "map2": "STT",
    "map3": "STTT",
    "red": "SNT",
    "mm": "TT",
    "tr": "T",
    "mv": "NNT",
    "perm": "AT",
    "reshape": "NHT",
    "bcast": "HT",
    "cat": "NTT",
    "part": "NAT",
    "cut": "NAT",
    "gather": "NTT",
    "along1": "SNAT",
    "along2": "SNATT",
    **{f"host{n}": "N" + n * "T" for n in range(1, 15)},
    "case": "ATT",
    "at": "DAT",
    "sl": "DAT",
    "look": "AT",
    "running": "SDNT",
    "lin": "DNTT",
}

Sort = Literal["term", "number", "text", "shape", "size", "real number"]
ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
    "&": int.__and__,
    "|": int.__or__,
    "<<": int.__lshift__,
    ">>": int.__rshift__,
}
COMPARISONS: dict[str, str] = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", "set": "assign"}
_LETTERS = {
    "S": "text", "N": "number", "D": "dimension", "A": "index", "H": "shape", "T": "term",
}  # fmt: skip
_SORTS: Mapping[str, Sort] = {
    "term": "term", "shape": "shape", "size": "size", "real": "real number",
    "real number": "real number", "text": "text", "function": "text", "fold": "text",
    "type": "text",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Head:
    """What stands in the fields of a head, in words, and what it makes: "" for a fact."""

    fields: tuple[str, ...]
    makes: Sort | Literal[""] = "number"

    @property
    def sorts(self) -> tuple[Sort, ...]:
        """The sorts of what stands in the fields."""
        return tuple(sort_named(word) for word in self.fields)


def sort_named(word: str) -> Sort:
    """The sort of a kind of things, such as dimensions, which are numbers."""
    return _SORTS.get(word, "number")


def _of_relation(relation: Relation) -> Head:
    values = () if relation.value is None else tuple(relation.value.values())
    return Head(tuple(relation.columns.values()), sort_named(values[0]) if values else "")


# All that may stand at the head of a term, or of a fact that asks for a relation.
HEADS: dict[str, Head] = {
    **{op: Head(tuple(_LETTERS[c] for c in of), "term") for op, of in SIGNATURE.items()},
    "nil": Head((), "shape"),
    "cons": Head(("size", "shape"), "shape"),
    "size": Head(("index",), "size"),
    "times": Head(("size", "size"), "size"),
    **{op: Head(("number", "number")) for op in ARITHMETIC},
    "not-i64": Head(("mask",)),
    **{name: _of_relation(relation) for name, relation in RELATIONS.items()},
}

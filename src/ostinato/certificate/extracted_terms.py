"""The extracted terms of a certificate: operators of the rewriting language with spelled fields.

Operators and the letters of their fields are those of `ostinato.rewrite.engine.language`. A leaf is
written out (what it is, its domain, shape and type), a recurrence is its name and the dimensions
that became its axes, and everything that the e-graph knows by number is spelled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from ostinato.pdg.condition import Cond
from ostinato.pdg.index import Dim, Expr, Index
from ostinato.pdg.node import Node
from ostinato.pdg.text.serial import node_data, read_node
from ostinato.pdg.text.spelling import (
    Plain,
    Spelling,
    Unreadable,
    entries,
    fields,
    integer,
    integers,
    items,
    natural,
    text,
)
from ostinato.rewrite.terms.signature import SIGNATURE

SAID = "origins"  # remarks of a node
Reading = tuple[tuple[Dim, Index], ...]


@dataclass(frozen=True, slots=True)
class Recurrent:
    """A recurrent tensor with some of its dimensions as leading axes, outermost first."""

    name: str
    axes: tuple[Dim, ...]


Field = str | int | Dim | Node | Recurrent | Index | Cond | tuple[int, ...] | Reading
Shape = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """An operator, its fields without the operands, and the numbers of these."""

    op: str
    fields: tuple[Field | Shape, ...]
    args: tuple[int, ...]


def is_leaf_number(op: str, place: int) -> bool:
    """Whether a number of an operator stands for a leaf or a call."""
    return place == 0 and (op == "leaf" or op.startswith("host"))


def term_data(term: Term, names: Spelling) -> Plain:
    """A term as plain data."""
    letters = SIGNATURE[term.op].replace("T", "")
    values = zip(letters, term.fields, strict=True)
    return {
        "op": term.op,
        "with": [
            _field_data((term.op, letter, k), value, names)
            for k, (letter, value) in enumerate(values)
        ],
        "args": list(term.args),
    }


def _field_data(at: tuple[str, str, int], value: Field | Shape, names: Spelling) -> Plain:
    op, letter, place = at
    match letter:
        case "D":
            return names.name(cast(Dim, value))
        case "H":
            return names.exprs(cast(Shape, value))
        case "A" if op == "case":
            return names.cond(cast(Cond, value))
        case "A" if op == "perm":
            return list(cast(tuple[int, ...], value))
        case "A" if op == "look":
            return names.reading(cast(Reading, value))
        case "A":
            return names.index(cast(Index, value))
        case "N" if op == "rec":
            known = cast(Recurrent, value)
            return {"name": known.name, "axes": [names.name(d) for d in known.axes]}
        case "N" if is_leaf_number(op, place):
            return _leaf_data(cast(Node, value), names)
        case _:
            return value


def read_term(data: Plain, before: int, names: Spelling, what: str) -> Term:
    """The term that `term_data` writes; its operands are among those before it.

    Errors: Unreadable.
    """
    op, inner, args = fields(data, what, "op", "with", "args")
    known = text(op, f"the operator of {what}")
    if known not in SIGNATURE:
        raise Unreadable(f"{what} has the unknown operator {op!r}")
    letters = SIGNATURE[known].replace("T", "")
    values = items(inner, what)
    numbers = tuple(natural(k, f"an operand of {what}") for k in items(args, what))
    if len(values) != len(letters) or len(numbers) != SIGNATURE[known].count("T"):
        raise Unreadable(f"{what} has {len(values)} fields and {len(numbers)} operands")
    if any(k >= before for k in numbers):
        raise Unreadable(f"{what} has an operand that does not stand before it")
    read = tuple(
        _read_field((known, letter, k), value, names, what)
        for k, (letter, value) in enumerate(zip(letters, values, strict=True))
    )
    return Term(known, read, numbers)


def _read_field(at: tuple[str, str, int], data: Plain, names: Spelling, what: str) -> Field | Shape:
    op, letter, place = at
    match letter:
        case "S":
            return _word(data, what)
        case "D":
            return names.dim(data, what)
        case "H":
            return names.read_exprs(data, what)
        case "A" if op == "case":
            return names.read_cond(data, what)
        case "A" if op == "perm":
            return integers(data, what)
        case "A" if op == "look":
            return names.read_reading(data, what)
        case "A":
            return names.read_index(data, what)
        case "N" if op == "rec":
            name, axes = fields(data, what, "name", "axes")
            return Recurrent(text(name, what), tuple(names.dim(d, what) for d in items(axes, what)))
        case "N" if is_leaf_number(op, place):
            return _read_leaf(data, names, what)
        case _:
            return integer(data, what)


def _word(data: Plain, what: str) -> str:
    """The name of a function: the e-graph reads rows of them, so nothing else may stand in it."""
    found = text(data, what)
    if re.fullmatch("[a-z][a-z0-9_]*(:[a-z0-9]+)?", found) is None:
        raise Unreadable(f"{what} has the function {found!r}")
    return found


def _leaf_data(leaf: Node, names: Spelling) -> dict[str, Plain]:
    """A leaf without its name and place, which are those of the source."""
    return {k: v for k, v in entries(node_data(leaf, (), names), "a leaf").items() if k != SAID}


def _read_leaf(data: Plain, names: Spelling, what: str) -> Node:
    said = entries(data, what)
    if SAID in said:
        raise Unreadable(f"{what} has a name or place of its own")
    found = read_node({**said, SAID: [["", ""]]}, (), names, what)
    kind = next(iter(entries(entries(data, what)["op"], what)))
    if kind not in ("input", "const", "affine", "iota", "random", "host"):
        raise Unreadable(f"{what} is the leaf `{kind}`")
    return found


def terms_data(terms: Sequence[Term], names: Spelling) -> list[Plain]:
    return [term_data(term, names) for term in terms]


def read_terms(data: Plain, names: Spelling) -> tuple[Term, ...]:
    """All terms, operands first."""
    table = items(data, "the terms")
    return tuple(read_term(entry, k, names, f"term {k}") for k, entry in enumerate(table))


def check_used(terms: Sequence[Term], roots: Iterable[int]) -> None:
    """Every term is part of a root.

    Errors: Unreadable.
    """
    used = {k for k in roots if k < len(terms)}
    for k in range(len(terms) - 1, -1, -1):
        if k not in used:
            raise Unreadable(f"term {k} is part of no output and of no equation")
        used.update(terms[k].args)

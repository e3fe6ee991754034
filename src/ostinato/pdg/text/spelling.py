"""Index expressions, slices and conditions as plain data, and back; strict in both directions.

Plain data are numbers, texts, lists and dictionaries, as JSON has them. A dimension is its name, an
extent ``{"extent": "T"}``, a sum ``{"sum": [[2, "t"], ...], "plus": 1}``. Every expression has one
spelling: what is read must be spelled as it would be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard, TypeVar, assert_never

from ostinato.pdg.condition import Compare, Cond, Every, Negation, Some
from ostinato.pdg.extra_dims import generation, in_generation
from ostinato.pdg.index import (
    Atom,
    Dim,
    Expr,
    Extent,
    Extremum,
    FloorDiv,
    Index,
    Mod,
    Product,
    Slice,
    expr,
    extremum,
    floordiv,
    mod,
    product,
)

Plain = object  # None, bool, int, float, str, list and dict of these
Found = TypeVar("Found")


class Unreadable(Exception):
    """Plain data that spells nothing."""


def is_record(data: Plain) -> TypeGuard[dict[str, Plain]]:
    """Whether data is a dictionary; its names are texts in JSON."""
    return isinstance(data, dict)


def is_list(data: Plain) -> TypeGuard[list[Plain]]:
    return isinstance(data, list)


def items(data: Plain, what: str) -> list[Plain]:
    """The elements of a list."""
    if not is_list(data):
        raise Unreadable(f"{what} is {data!r}, not a list")
    return data


def entries(data: Plain, what: str) -> dict[str, Plain]:
    """The entries of a dictionary, whatever their names are."""
    if not is_record(data):
        raise Unreadable(f"{what} is {data!r}, not a record")
    return data


def fields(data: Plain, what: str, *names: str) -> tuple[Plain, ...]:
    """The values of exactly these entries, in this order."""
    found = entries(data, what)
    if list(found) != list(names):
        raise Unreadable(f"{what} has the fields {list(found)} instead of {list(names)}")
    return tuple(found.values())


def text(data: Plain, what: str) -> str:
    if not isinstance(data, str):
        raise Unreadable(f"{what} is {data!r}, not a text")
    return data


def integer(data: Plain, what: str) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        raise Unreadable(f"{what} is {data!r}, not an integer")
    return data


def natural(data: Plain, what: str) -> int:
    found = integer(data, what)
    if found < 0:
        raise Unreadable(f"{what} is {found}, which is negative")
    return found


def truth(data: Plain, what: str) -> bool:
    if not isinstance(data, bool):
        raise Unreadable(f"{what} is {data!r}, neither true nor false")
    return data


def mapping(data: Plain, what: str, read: Callable[[Plain, str], Found]) -> dict[str, Found]:
    """A dictionary with any names."""
    return {name: read(value, f"{what} `{name}`") for name, value in entries(data, what).items()}


@dataclass
class Spelling:
    """The names of dimensions: while writing they are collected, while reading they are known."""

    names: dict[Dim, str] = field(default_factory=dict[Dim, str])

    def name(self, dim: Dim) -> str:
        """The name of a dimension; of several that share one, the later ones are numbered."""
        found = self.names.get(dim)
        if found is None:
            taken = set(self.names.values())
            count, found = 1, dim.name
            while found in taken:
                count += 1
                found = f"{dim.name}#{count}"
            self.names[dim] = found
        return found

    def dim(self, data: Plain, what: str) -> Dim:
        found = {name: dim for dim, name in self.names.items()}.get(text(data, what))
        if found is None:
            raise Unreadable(f"{what} is {data!r}, which is no dimension of the program")
        return found

    def dims(self) -> list[Plain]:
        """All dimensions that were named, in declaration order."""
        out: list[Plain] = []
        known: set[Dim] = set()
        while len(known) < len(self.names):  # a size may name further dimensions
            known = set(self.names)
            ordered = sorted(self.names, key=lambda d: d.serial)
            out = [
                {
                    "name": self.names[d],
                    "called": d.name,
                    "steps": d.symbol.name,
                    "generation": generation(d),
                    "size": None if d.size is None else self.expr(d.size),
                }
                for d in ordered
            ]
        return out

    @staticmethod
    def read_dims(data: Plain) -> Spelling:
        """New dimensions in the given order."""
        out = Spelling()
        for entry in items(data, "dims"):
            name, called, steps, twins, size = fields(
                entry, "a dimension", "name", "called", "steps", "generation", "size"
            )
            known = text(name, "the name of a dimension")
            if known in out.names.values():
                raise Unreadable(f"the dimension `{known}` stands twice")
            label, symbol = text(called, f"`{known}`"), text(steps, f"the steps of `{known}`")
            if known.partition("#")[0] != label:
                raise Unreadable(f"the dimension `{known}` is called `{label}`")
            length = None if size is None else out.read_expr(size, f"the size of `{known}`")
            dim = Dim(label, steps="" if symbol == label.upper() else symbol, size=length)
            if dim.symbol.name != symbol:
                raise Unreadable(f"the steps of `{known}` are {symbol!r}")
            number = natural(twins, f"the generation of `{known}`")
            out.names[in_generation(dim, number)] = known
        return out

    def expr(self, value: Expr) -> Plain:
        """Spell an index expression."""
        if value.is_const:
            return value.const
        if value.const == 0 and len(value.terms) == 1 and value.terms[0][1] == 1:
            return self._atom(value.terms[0][0])
        return {"sum": [[k, self._atom(atom)] for atom, k in value.terms], "plus": value.const}

    def _atom(self, atom: Atom) -> Plain:
        match atom:
            case Dim():
                return self.name(atom)
            case Extent(name):
                return {"extent": name}
            case FloorDiv(of, by):
                return {"floordiv": [self.expr(of), by]}
            case Mod(of, by):
                return {"mod": [self.expr(of), by]}
            case Extremum(kind, of_):
                return {kind: [self.expr(e) for e in of_]}
            case Product(of_):
                return {"product": [self.expr(e) for e in of_]}
            case other:
                assert_never(other)

    def read_expr(self, data: Plain, what: str) -> Expr:
        """The expression; it must be in canonical form."""
        found = self._read_expr(data, what)
        if self.expr(found) != data:
            raise Unreadable(f"{what} is {data!r}, which is not the canonical form of {found}")
        return found

    def _read_expr(self, data: Plain, what: str) -> Expr:
        if is_record(data) and list(data) == ["sum", "plus"]:
            terms, plus = fields(data, what, "sum", "plus")
            total = expr(integer(plus, what))
            for term in items(terms, what):
                pair = items(term, what)
                if len(pair) != 2:
                    raise Unreadable(f"{what} has the term {pair!r}")
                total += self._read_atom(pair[1], what) * integer(pair[0], what)
            return total
        if isinstance(data, int):
            return expr(integer(data, what))
        return self._read_atom(data, what)

    def _read_atom(self, data: Plain, what: str) -> Expr:
        if isinstance(data, str):
            return expr(self.dim(data, what))
        found = entries(data, what)
        if len(found) != 1:
            raise Unreadable(f"{what} is {data!r}")
        ((kind, of),) = found.items()
        if kind == "extent":
            return expr(Extent(text(of, what)))
        parts = items(of, what)
        if kind in ("floordiv", "mod") and len(parts) == 2:
            by = integer(parts[1], what)
            if by < 1:
                raise Unreadable(f"{what} divides by {by}")
            value = self.read_expr(parts[0], what)
            return floordiv(value, by) if kind == "floordiv" else mod(value, by)
        if kind not in ("min", "max", "product") or len(parts) < 2:
            raise Unreadable(f"{what} is {data!r}")
        values = [self.read_expr(part, what) for part in parts]
        if kind == "product":
            return product(values)
        return extremum(kind, values)

    def exprs(self, values: Iterable[Expr]) -> list[Plain]:
        return [self.expr(e) for e in values]

    def read_exprs(self, data: Plain, what: str) -> tuple[Expr, ...]:
        return tuple(self.read_expr(e, what) for e in items(data, what))

    def index(self, value: Index) -> Plain:
        """Spell an index expression or a slice."""
        if isinstance(value, Slice):
            return {"from": self.expr(value.lo), "to": self.expr(value.hi), "step": value.step}
        return self.expr(value)

    def read_index(self, data: Plain, what: str) -> Index:
        if is_record(data) and "from" in data:
            lo, hi, step = fields(data, what, "from", "to", "step")
            by = integer(step, what)
            if by < 1:
                raise Unreadable(f"{what} has the step {by}")
            return Slice(self.read_expr(lo, what), self.read_expr(hi, what), by)
        return self.read_expr(data, what)

    def reading(self, at: Sequence[tuple[Dim, Index]]) -> Plain:
        """Spell the substitutions of a read."""
        return {self.name(d): self.index(i) for d, i in at}

    def read_reading(self, data: Plain, what: str) -> tuple[tuple[Dim, Index], ...]:
        found = entries(data, what)
        return tuple((self.dim(d, what), self.read_index(i, what)) for d, i in found.items())

    def cond(self, value: Cond) -> Plain:
        """Spell a condition."""
        match value:
            case Compare(of, kind):
                return {"at least 0" if kind == "ge" else "equal 0": self.expr(of)}
            case Every(of):
                return {"every": [self.cond(c) for c in of]}
            case Some(of):
                return {"some": [self.cond(c) for c in of]}
            case Negation(of):
                return {"not": self.cond(of)}
            case other:
                assert_never(other)

    def read_cond(self, data: Plain, what: str) -> Cond:
        found = entries(data, what)
        if len(found) != 1:
            raise Unreadable(f"{what} is {data!r}")
        ((kind, of),) = found.items()
        match kind:
            case "at least 0" | "equal 0":
                return Compare(self.read_expr(of, what), "ge" if kind == "at least 0" else "eq")
            case "every":
                return Every(tuple(self.read_cond(c, what) for c in items(of, what)))
            case "some":
                return Some(tuple(self.read_cond(c, what) for c in items(of, what)))
            case "not":
                return Negation(self.read_cond(of, what))
            case _:
                raise Unreadable(f"{what} is {data!r}")


def integers(data: Plain, what: str) -> tuple[int, ...]:
    return tuple(integer(n, what) for n in items(data, what))

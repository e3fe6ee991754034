"""Dims that become axes of matrix products: rows, columns and terms that a product has none for.

A product is computed in blocks of rows and columns, over terms, where all three are axes. One lane
of a statement is its tile. Other lanes are loops around it, unless the product lacks an axis: then
such a dim is an axis of all its points or, where other statements run in its tiles, one of a tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ostinato.codegen.ir.system import Load, Statement, loads
from ostinato.codegen.systems.axes import coefficient
from ostinato.codegen.systems.prepare import is_product
from ostinato.pdg.index import Dim, expr

Form = Literal["lane", "split", "whole", "axis"]
Forms = Mapping[str, Mapping[Dim, Form]]


@dataclass(frozen=True)
class ProductAxes:
    """Looks for dims that may be axes; ``forms`` says how every statement has tiled dims."""

    statements: Mapping[str, Statement]
    forms: Forms

    def found(self, s: Statement, free: frozenset[Dim]) -> dict[Dim, Form]:
        """Forms of dims that make a blocked product of a statement, of those that are ``free``.

        Empty where it is no product, has all axes, or where one of them cannot be had.
        """
        if s.kind != "matmul" or not is_product(s):
            return {}
        left, right = loads(s.clauses[0][1])
        own = self.forms[s.name]
        inner = {a.index for a in s.axes} | {d for d, form in own.items() if form == "lane"}
        out: dict[Dim, Form] = {}
        for role in ("k", "m", "n"):
            if any(_role(s, left, right, index) == role for index in inner):
                continue
            others = (d for d in s.dims if d in free and d not in inner)
            options = [d for d in others if _role(s, left, right, d) == role]
            chosen = next(self._possible(s, options), None)
            if chosen is not None:
                out[chosen[0]] = chosen[1]
            elif role == "k":
                return {}
        return out

    def _possible(self, s: Statement, options: list[Dim]) -> Iterator[tuple[Dim, Form]]:
        """The dims that operands are read along by strides, the innermost first, with a form.

        Terms add up in one place, so that tiles of them are taken only where they have to be.
        """
        for d in reversed(options):
            is_tiled = d in self.forms[s.name]
            forms: tuple[Form, ...] = ("axis", "lane") if d in s.reduced else ("lane", "axis")
            for form in forms:
                is_open = form == "axis" or is_tiled
                if is_open and all(self._is_plain(x, d, form) for x in loads(s.clauses[0][1])):
                    yield d, form

    def _is_plain(self, load: Load, index: Dim, form: Form) -> bool:
        """Whether a load moves by strides along an index that is an axis.

        What its producer has in tiles is read so at the point itself only, and from tiles.
        """
        producer = self.statements[load.tensor]
        held = self.forms[load.tensor]
        for dim, at in zip(producer.result_dims, load.dims, strict=True):
            if index not in at.dims:
                continue
            in_tiles = held.get(dim, "whole") in ("lane", "split")
            if in_tiles and (form == "axis" or dim != index or at != expr(index)):
                return False
        return all(coefficient(e, index) is not None for e in (*load.dims, *load.axes))


def _role(s: Statement, left: Load, right: Load, index: Dim) -> str:
    """What an index of a product counts: rows, columns, terms ("m", "n", "k"), or nothing."""
    in_left, in_right = (any(index in e.dims for e in (*x.dims, *x.axes)) for x in (left, right))
    if index in s.reduced:
        return "k" if in_left and in_right else ""
    if in_left != in_right:
        return "m" if in_left else "n"
    return ""

"""Records: named tensors that are read, chosen and defined together, such as a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ostinato.language.dims import IndexExpression
from ostinato.language.shown import shown
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import EquationError, MissingError, guess
from ostinato.provenance.place import place

if TYPE_CHECKING:
    from collections.abc import Iterator


class Record:
    """Named tensors: fields are attributes, ``record[...]`` reads every field at other points.

    >>> import ostinato as ot
    >>> state = ot.Record(position=ot.constant([0.0, 0.0]), age=ot.constant(0))
    >>> state.age
    <int32[] over ()>
    """

    __slots__ = ("_fields",)

    def __init__(self, **fields: Tensor) -> None:
        self._fields: Mapping[str, Tensor] = fields

    @property
    def fields(self) -> Mapping[str, Tensor]:
        """The tensors by name."""
        return self._fields

    def __getattr__(self, name: str) -> Tensor:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._fields:
            fact = f"a record of {', '.join(self._fields) or 'nothing'} has no field `{name}`"
            remedy = f"{guess(name, self._fields)}Give the record that field."
            raise MissingError(fact, remedy, place())
        return self._fields[name]

    def __getitem__(self, key: object) -> Record:
        return self.map(lambda field: field[key])

    def at(self, **positions: IndexExpression | int | slice) -> Record:
        """Return every field at other points, by the names of their dimensions."""
        return self.map(lambda field: field.at(**positions))

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self._fields.values())

    def map(self, fn: Callable[[Tensor], Tensor]) -> Record:
        """Return a record of a function of every field."""
        return Record(**{name: fn(field) for name, field in self._fields.items()})

    def combine(self, other: Record, fn: Callable[[Tensor, Tensor], Tensor]) -> Record:
        """Return a record of a function of the fields of two records."""
        pairs = matched(self, other)
        return Record(**{name: fn(mine, yours) for name, (mine, yours) in pairs.items()})

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{k}={v!r}' for k, v in self._fields.items())})"


def matched(left: Record, right: object) -> dict[str, tuple[Tensor, Tensor]]:
    """Return the fields of two records in pairs.

    Errors: EquationError if their names differ.
    """
    if not isinstance(right, Record):
        fact = f"record of {', '.join(left.fields)} meets {shown(right)}"
        raise EquationError(fact, "Give a record with the same fields.", place())
    if left.fields.keys() != right.fields.keys():
        fact = f"record of {', '.join(left.fields)} meets record of {', '.join(right.fields)}"
        raise EquationError(fact, "Give both the same fields.", place())
    return {name: (field, right.fields[name]) for name, field in left.fields.items()}

"""What a run returns: arrays by the names of the outputs, and the lengths of ragged ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from ostinato.language.definition import Remark
from ostinato.language.shown import shown
from ostinato.pdg.errors import MissingError, guess
from ostinato.pdg.functions import Array
from ostinato.pdg.host_functions import HostFunction
from ostinato.provenance.place import place


@dataclass(frozen=True)
class Beside:
    """What a program has besides its graph: see `Results.lengths`; functions by number; remarks."""

    lengths: Mapping[str, str] = field(default_factory=dict[str, str])
    hosts: Mapping[int, HostFunction] = field(default_factory=dict[int, HostFunction])
    notes: tuple[Remark, ...] = ()


class Named(dict[str, Array]):
    """Arrays by name; an unknown name is refused with those that there are."""

    def __missing__(self, name: object) -> Array:
        remedy = f"{guess(str(name), self)}It has: {', '.join(self) or 'none'}."
        raise MissingError(f"the results have no `{shown(name).strip(chr(39))}`", remedy, place())


class Results(Named):
    """The outputs of a run by name.

    ``lengths`` has, for each output over a dimension that `stop` ends, the number of its steps at
    each outer point; beyond them the output is 0.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> x = ot.input("x", over=t)
    >>> ot.stop(t, when=x < 0)
    >>> result = ot.Program(double=2.0 * x).interpret(x=[1, -2, 3])
    >>> result["double"].tolist(), result.lengths["double"].item()
    ([2.0, -4.0, 0.0], 2)
    """

    __slots__ = ("lengths",)

    def __init__(self, arrays: Mapping[str, Array], lengths: Mapping[str, str]) -> None:
        """Take ``lengths``, the outputs with the lengths of others, out of the outputs."""
        if not lengths:
            super().__init__(arrays)
            self.lengths = Named()
            return
        hidden = set(lengths.values())
        super().__init__({name: array for name, array in arrays.items() if name not in hidden})
        self.lengths = Named({name: arrays[of] for name, of in lengths.items()})

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_") or name == "lengths":
            raise AttributeError(name)
        fact = f"the results have no attribute `{name}`"
        raise MissingError(fact, f'Write result["{name}"].', place())

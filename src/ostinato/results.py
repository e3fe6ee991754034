"""What a run returns: arrays by the names of the outputs, and the lengths of ragged ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ostinato.pdg.functions import Array
from ostinato.pdg.host import HostFunction
from ostinato.remarks import Note


@dataclass(frozen=True)
class Beside:
    """What a program has besides its graph: see `Results.lengths`; functions by number; remarks."""

    lengths: Mapping[str, str] = field(default_factory=dict[str, str])
    hosts: Mapping[int, HostFunction] = field(default_factory=dict[int, HostFunction])
    notes: tuple[Note, ...] = ()


class Results(dict[str, Array]):
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
            self.lengths: dict[str, Array] = {}
            return
        hidden = set(lengths.values())
        super().__init__({name: array for name, array in arrays.items() if name not in hidden})
        self.lengths = {name: arrays[of] for name, of in lengths.items()}

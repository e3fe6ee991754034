"""Vectors for symbols."""

from __future__ import annotations

from ostinato.language.functions.basic import take
from ostinato.language.kinds import Count
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from ostinato.nn.init import Initializer, normal
from ostinato.nn.module import Module, parameter


class Embedding(Module):
    """The row of ``weight`` for each symbol 0, 1, ..., count - 1; others are clamped to these.

    ``h @ embedding.weight.T`` are the logits of a language model that shares its embedding.

    Shapes: symbol (...), integers -> (..., size); weight (count, size).

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> i, t = ot.dims("i t")
    >>> embedding = nn.Embedding(256, 16, over=i)
    >>> embedding(ot.input("byte", dtype="int32", over=t))
    <embedding: float32[16] over (i, t)>
    """

    def __init__(
        self,
        count: Count,
        size: Count,
        over: Over = (),
        *,
        init: Initializer | None = None,
        name: str = "embedding",
    ) -> None:
        self._name = name
        self.weight: Tensor = parameter(f"{name}_weight", (count, size), init or normal(), over)

    def __call__(self, symbol: Tensor) -> Tensor:
        return take(self.weight, symbol, 0).named(self._name)

"""Functions that are compiled by themselves, so that kernels and programs can share them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

THIS = "ostinato.this"
"""The name of such a function while it is written; others of its module begin with it."""


@dataclass(frozen=True)
class Part:
    """A function in an LLVM module of its own: its symbol, which is a digest, and the text."""

    symbol: str
    text: str

    @classmethod
    def of(cls, text: str) -> Part:
        """The part that a text with the function `THIS` is."""
        symbol = f"ostinato.part.{hashlib.sha256(text.encode()).hexdigest()[:32]}"
        return cls(symbol, text.replace(THIS, symbol))

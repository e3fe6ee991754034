"""Functions that are compiled by themselves, so that kernels and programs can share them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

NAME = "ostinato.part"
"""The name of such a function while it is written."""


@dataclass(frozen=True)
class Part:
    """A function in an LLVM module of its own: its symbol, which is a digest, and the text."""

    symbol: str
    text: str

    @classmethod
    def of(cls, text: str) -> Part:
        """The part whose function has the name `NAME` in the text."""
        symbol = f"{NAME}.{hashlib.sha256(text.encode()).hexdigest()[:32]}"
        return cls(symbol, text.replace(f'@"{NAME}"', f'@"{symbol}"'))

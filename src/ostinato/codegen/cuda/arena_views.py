"""How a device sees the arena: as one array of each type that lies in it."""

from ostinato.codegen.loops.expression import ITEM_BYTES

VIEWS: tuple[str, ...] = tuple(ITEM_BYTES)
STORED: dict[str, str] = {name: "uint8" if name == "bool" else name for name in VIEWS}
"""The types of the arrays; a truth value is a byte."""

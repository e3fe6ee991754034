"""Values in the texts of errors: by the user's names, never by our own."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.pdg.index import Expr
from ostinato.pdg.node import Affine, Const, Iota, Node, Random, Rec

MOST_NAMES = 3


def called(x: Node) -> str:
    """Return a value by the user's name, or by the nearest names it is made of.

    >>> from ostinato.pdg import build
    >>> x = build.input_node("x", (), "float32", ())
    >>> called(x), called(build.map_node("exp", [x]))
    ('`x`', 'an expression of `x`')
    """
    match x.op:
        case _ if is_named(x):
            others = " or ".join(f"`{other.label}`" for other in x.names.others)
            return f"`{x}` (or {others})" if others else f"`{x}`"
        case Const(values):
            return f"the constant {values[0]}" if len(values) == 1 else "a constant"
        case Affine(of):
            return f"`{of}`"
        case Iota(size):
            return f"`arange({size})`"
        case Random(fn):
            return f"a {fn} draw"
        case _:
            names = nearest_names(x)
            return f"an expression of {', '.join(names)}" if names else "an expression"


def is_named(x: Node) -> bool:
    return bool(x.label) or isinstance(x.op, Rec)


def nearest_names(x: Node) -> list[str]:
    """Return the first few named values that an unnamed one is computed from."""
    found: dict[str, None] = {}
    seen: set[Node] = set()
    todo = [x]
    while todo and len(found) < MOST_NAMES:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        if is_named(node):
            found[f"`{node}`"] = None
        else:
            todo.extend(reversed(node.args))
    return list(found)


def show_shape(shape: Sequence[Expr]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def sized(x: Node) -> str:
    """Return a value with its shape."""
    return f"{called(x)} {show_shape(x.shape)}"

"""Sides and facts of a rule as nested tuples of words and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

Tree = str | int | tuple["Tree", ...]

_TOKEN = re.compile(r'"[^"]*"|[()]|[^\s()"]+')


def parse(text: str) -> Tree:
    """The only expression of a text.

    >>> parse('(red "sum" 4 (mm x y))')
    ('red', '"sum"', 4, ('mm', 'x', 'y'))
    """
    (found,) = _trees(iter(_TOKEN.findall(text)))
    return found


def _trees(tokens: Iterator[str]) -> tuple[Tree, ...]:
    out: list[Tree] = []
    for token in tokens:
        if token == "(":
            out.append(_trees(tokens))
        elif token == ")":
            break
        else:
            out.append(int(token) if token.lstrip("-").isdigit() else token)
    return tuple(out)


def heads(tree: Tree) -> Iterator[str]:
    """The heads of all applications, outermost first."""
    if isinstance(tree, tuple) and tree:
        yield str(tree[0])
        for part in tree[1:]:
            yield from heads(part)


def words(tree: Tree) -> Iterator[str]:
    """All words that are no head of an application."""
    if isinstance(tree, str):
        if not tree.startswith('"'):
            yield tree
    elif isinstance(tree, tuple):
        for part in tree[1:]:
            yield from words(part)


def replaced(tree: Tree, by: dict[str, Tree]) -> Tree:
    """The tree with words replaced."""
    if isinstance(tree, str):
        return by.get(tree, tree)
    if isinstance(tree, int):
        return tree
    return (tree[0], *(replaced(part, by) for part in tree[1:]))


def show(tree: Tree) -> str:
    return f"({' '.join(map(show, tree))})" if isinstance(tree, tuple) else str(tree)

"""Strongly connected components, and what follows from nodes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)
E = TypeVar("E")


def components(nodes: Sequence[T], successors: Mapping[T, Iterable[T]]) -> list[list[T]]:
    """The components in topological order; nodes in the given order where that is free.

    Source: Tarjan 1972, Depth-first search and linear graph algorithms, without recursion.

    >>> components(["a", "b", "c"], {"a": ["b"], "b": ["c"], "c": ["b"]})
    [['a'], ['b', 'c']]
    """
    rank = {v: k for k, v in enumerate(nodes)}
    index: dict[T, int] = {}
    low: dict[T, int] = {}
    open_: list[T] = []
    is_open: set[T] = set()
    out: list[list[T]] = []
    for root in reversed(nodes):
        if root in index:
            continue
        work = [(root, iter(sorted(successors.get(root, ()), key=rank.__getitem__, reverse=True)))]
        index[root] = low[root] = len(index)
        open_.append(root)
        is_open.add(root)
        while work:
            v, rest = work[-1]
            for w in rest:
                if w not in index:
                    index[w] = low[w] = len(index)
                    open_.append(w)
                    is_open.add(w)
                    after = sorted(successors.get(w, ()), key=rank.__getitem__, reverse=True)
                    work.append((w, iter(after)))
                    break
                if w in is_open:
                    low[v] = min(low[v], index[w])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[v])
                if low[v] == index[v]:
                    out.append(_close(v, open_, is_open, rank))
    return out[::-1]


def components_with(
    nodes: Iterable[T], edges: Sequence[E], ends: Callable[[E], tuple[T, T]]
) -> list[tuple[list[T], list[E]]]:
    """The components in topological order, each with the edges between its nodes."""
    after: dict[T, list[T]] = {node: [] for node in nodes}
    for edge in edges:
        source, target = ends(edge)
        after[source].append(target)
    found = [(group, list[E]()) for group in components(list(after), after)]
    at = {node: k for k, (group, _) in enumerate(found) for node in group}
    for edge in edges:
        first, last = (at[node] for node in ends(edge))
        if first == last:
            found[first][1].append(edge)
    return found


def closed(nodes: Iterable[T], after: Callable[[T], Iterable[T]]) -> set[T]:
    """The nodes and all that follow from them, directly or not.

    >>> sorted(closed([6], lambda n: (n // 2, n // 3) if n else ()))
    [0, 1, 2, 3, 6]
    """
    seen: set[T] = set()
    todo = [*nodes]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += after(node)
    return seen


def _close(root: T, open_: list[T], is_open: set[T], rank: Mapping[T, int]) -> list[T]:
    found: list[T] = []
    while True:
        v = open_.pop()
        is_open.discard(v)
        found.append(v)
        if v == root:
            return sorted(found, key=rank.__getitem__)

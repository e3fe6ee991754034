"""Which equations depend on each other, which dimensions carry that, and in which direction.

The vertices are the *cases* of recurrences, so ``theta[i, 0]`` may come before an episode and
``theta[i, e]`` after it. A case is *carried* by a dimension within a group of cases when the group
is a strongly connected component, no dependence inside it points against the direction, and some
advance along it. Those are dropped, and what remains is decomposed again: `Carried` records lie
outermost first. A definition must not read, along a dimension that carries it, a later point of a
member of the group: that is the legality constraint of extraction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ostinato.pdg.bounds import conjuncts, simplified
from ostinato.pdg.condition import NEVER, Compare, Cond, every, negation
from ostinato.pdg.index import Dim, Expr, Extent
from ostinato.pdg.node import Node, Pdg
from ostinato.rewrite.load.dependence import Along, Interval, Reaches, gap

Vertex = tuple[str, int]  # a recurrence and the number of one of its cases
Members = Mapping[int, int]  # recurrence -> vertices (bits)
Distances = Mapping[Dim, Interval]


@dataclass(frozen=True, slots=True)
class Carried:
    """A dimension that orders a group of cases; ``sign`` is 1 forwards, -1 backwards.

    ``sign`` 0: no order was found, so nothing but the point itself may be read along ``dim``.
    """

    dim: Dim
    sign: int
    group: frozenset[Vertex]


Chain = tuple[Carried, ...]


@dataclass(frozen=True, slots=True)
class _Edge:
    """The dependence of one vertex on all of ``sources`` (bits), at the same distances."""

    reader: int
    sources: int
    along: Distances


@dataclass(frozen=True)
class _Graph:
    """Cases as vertices, numbered in the order of the equations."""

    vertices: tuple[Vertex, ...]
    domains: tuple[tuple[Dim, ...], ...]
    edges: tuple[_Edge, ...]

    def names(self, members: Sequence[int]) -> frozenset[Vertex]:
        return frozenset(self.vertices[v] for v in members)


def chains(pdg: Pdg, reach: Mapping[Node, Reaches]) -> dict[Vertex, Chain]:
    """For every case of every recurrence the dimensions that carry it, outermost first.

    The cases come in an order in which each step of the outer dimensions can compute them.
    """
    equations = list(pdg.equations.items())
    vertices = tuple((name, k) for name, eq in equations for k in range(len(eq.cases)))
    holds = {v: _effective(pdg, *v) for v in vertices}
    number = {name: rec for rec, (name, _) in enumerate(equations)}
    groups: dict[Cond, dict[int, int]] = {}  # condition -> recurrence -> vertices
    for place, (name, k) in enumerate(vertices):
        members = groups.setdefault(holds[name, k], {})
        members[number[name]] = members.get(number[name], 0) | 1 << place
    # A term of a case may hold values of other cases too: where it reads its own recurrence it is
    # as if it needed itself.
    own = {
        name: sum(1 << p for p, v in enumerate(vertices) if v[0] == name) for name, _ in equations
    }
    edges: list[_Edge] = []
    seen: dict[tuple[Along, Cond, Cond], tuple[Distances, list[Members]]] = {}
    for place, (name, k) in enumerate(vertices):
        cond, right = pdg.equations[name].cases[k]
        for along, recs in reach[right].items():
            key = along, cond, holds[name, k]
            if key not in seen:
                least = _least(cond)
                seen[key] = {d: gap(r, d, least) for d, r in along}, _met(along, key[2], groups)
            distances, met = seen[key]
            sources = 0
            for group in met:
                for rec, cases in group.items():
                    if recs >> rec & 1:
                        sources |= cases
            if recs >> number[name] & 1:
                sources |= own[name]
            edges.append(_Edge(place, sources, distances))
    domains = tuple(pdg.equations[name].rec.domain for name, _ in vertices)
    found: dict[int, Chain] = {}
    graph = _Graph(vertices, domains, tuple(edges))
    _decompose(graph, list(range(len(vertices))), graph.edges, (), found)
    return {vertices[place]: chain for place, chain in found.items()}


def _effective(pdg: Pdg, name: str, k: int) -> Cond:
    """The condition of a case where no earlier one holds."""
    conds = [cond for cond, _ in pdg.equations[name].cases]
    return every(conds[k], *(negation(c) for c in conds[:k]))


def _met(along: Along, reader: Cond, groups: Mapping[Cond, Members]) -> list[Members]:
    """The cases that a read can meet."""
    points = tuple((d, indices.point) for d, indices in along)
    return [members for case, members in groups.items() if _meets(case, reader, points)]


@lru_cache(maxsize=4096)
def _meets(case: Cond, reader: Cond, points: tuple[tuple[Dim, Expr | None], ...]) -> bool:
    """Whether points read where ``reader`` holds can be ones where ``case`` holds."""
    known: dict[Dim | Extent, Expr] = {d: e for d, e in points if e is not None}
    if len(known) < len(points):
        return True
    met = case.at(known)
    return simplified(met) != NEVER and simplified(every(met, reader)) != NEVER


def _least(cond: Cond) -> dict[Dim, int]:
    """Lower bounds above 0 that a condition gives single dimensions."""
    out: dict[Dim, int] = {}
    for c in conjuncts(cond):
        if isinstance(c, Compare) and c.kind == "ge" and len(c.of.terms) == 1 and c.of.const < 0:
            atom, k = c.of.terms[0]
            if isinstance(atom, Dim) and k == 1:
                out[atom] = max(out.get(atom, 0), -c.of.const)
    return out


def _decompose(
    graph: _Graph,
    members: Sequence[int],
    edges: Sequence[_Edge],
    outer: Chain,
    out: dict[int, Chain],
) -> None:
    of: dict[int, list[_Edge]] = {}
    for e in edges:
        of.setdefault(e.reader, []).append(e)
    for component in _ordered(_strongly_connected(members, edges), edges):
        mask = sum(1 << v for v in component)
        inside = [
            _Edge(e.reader, e.sources & mask, e.along)
            for v in component
            for e in of.get(v, ())
            if e.sources & mask
        ]
        if not inside:
            out.update({v: outer for v in component})
            continue
        shared = [
            d for d in graph.domains[component[0]] if all(d in graph.domains[v] for v in component)
        ]
        group = graph.names(component)
        carried = _carrier(group, inside, [d for d in shared if all(d != c.dim for c in outer)])
        if carried is None:
            stuck = tuple(Carried(d, 0, group) for d in shared)
            out.update({v: (*outer, *stuck) for v in component})
            continue
        rest = [e for e in inside if not _advances(e, carried.dim, carried.sign)]
        _decompose(graph, component, rest, (*outer, carried), out)


def _ordered(components: Sequence[list[int]], edges: Sequence[_Edge]) -> list[list[int]]:
    """Components after those they read, otherwise in the given order."""
    masks = [sum(1 << v for v in component) for component in components]
    home = {v: k for k, component in enumerate(components) for v in component}
    reads = [0] * len(components)
    for e in edges:
        if e.reader in home:
            reads[home[e.reader]] |= e.sources
    everything = sum(masks)
    done, order = 0, list[int]()
    pending = list(range(len(components)))
    while pending:
        k = next(k for k in pending if not reads[k] & everything & ~masks[k] & ~done)
        pending.remove(k)
        done |= masks[k]
        order.append(k)
    return [components[k] for k in order]


def _advances(edge: _Edge, dim: Dim, sign: int) -> bool:
    iv = edge.along[dim]
    return iv.hi < 0 if sign > 0 else iv.lo > 0


def _carrier(
    group: frozenset[Vertex], edges: Sequence[_Edge], dims: Sequence[Dim]
) -> Carried | None:
    """The dimension that drops most dependences; the outermost one when several do."""
    best: tuple[int, Carried] | None = None
    for dim in dims:
        for sign in (1, -1):
            intervals = [e.along[dim] for e in edges]
            legal = all(iv.hi <= 0 if sign > 0 else iv.lo >= 0 for iv in intervals)
            dropped = sum(e.sources.bit_count() for e in edges if _advances(e, dim, sign))
            if legal and dropped and (best is None or dropped > best[0]):
                best = (dropped, Carried(dim, sign, group))
    return best[1] if best else None


def _strongly_connected(members: Sequence[int], edges: Sequence[_Edge]) -> list[list[int]]:
    """Strongly connected components in the order of their first member (Kosaraju, on bits)."""
    everything = sum(1 << v for v in members)
    reads = dict.fromkeys(members, 0)
    readers = dict.fromkeys(members, 0)
    alike: dict[int, int] = {}  # sources -> readers of all of them
    for e in edges:
        if e.reader in reads:
            reads[e.reader] |= e.sources & everything
            alike[e.sources] = alike.get(e.sources, 0) | 1 << e.reader
    for sources, mask in alike.items():
        for v in _bits(sources & everything):
            readers[v] |= mask
    left, ended = everything, list[int]()
    for root in members:
        if left >> root & 1:
            left = _walk(root, reads, left, ended)
    home: dict[int, int] = {}
    left = everything
    for root in reversed(ended):
        if left >> root & 1:
            component = list[int]()
            left = _walk(root, readers, left, component)
            home.update(dict.fromkeys(component, root))
    found: dict[int, list[int]] = {}
    for v in members:
        found.setdefault(home[v], []).append(v)
    return list(found.values())


def _walk(root: int, reads: Mapping[int, int], left: int, ended: list[int]) -> int:
    """Depth first through the vertices ``left``; returns those it did not reach.

    ``ended`` takes the others, each after all that were reached from it.
    """
    left &= ~(1 << root)
    stack = [root]
    while stack:
        fresh = reads[stack[-1]] & left
        if fresh:
            first = fresh & -fresh
            left ^= first
            stack.append(first.bit_length() - 1)
        else:
            ended.append(stack.pop())
    return left


def _bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while mask:
        first = mask & -mask
        mask ^= first
        yield first.bit_length() - 1

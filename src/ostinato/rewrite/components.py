"""Which equations depend on each other, which dimensions carry that, and in which direction.

The vertices are the *cases* of recurrences, so ``theta[i, 0]`` may come before an episode and
``theta[i, e]`` after it. A case is *carried* by a dimension within a group of cases when the group
is a strongly connected component, no dependence inside it points against the direction, and some
advance along it. Those are dropped, and what remains is decomposed again: `Carried` records lie
outermost first. A definition must not read, along a dimension that carries it, a later point of a
member of the group: that is the legality constraint of extraction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ostinato.pdg.bounds import conjuncts, simplified
from ostinato.pdg.condition import NEVER, Compare, Cond, every, negation, substitute_cond
from ostinato.pdg.index import Dim, Expr, Extent
from ostinato.pdg.node import Node, Pdg
from ostinato.rewrite.dependence import Interval, Reach, Reaches, gap

Vertex = tuple[str, int]  # a recurrence and the number of one of its cases


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
    reader: Vertex
    source: Vertex
    along: Mapping[Dim, Interval]


def chains(pdg: Pdg, reach: Mapping[Node, Reaches]) -> dict[Vertex, Chain]:
    """For every case of every recurrence the dimensions that carry it, outermost first.

    The cases come in an order in which each step of the outer dimensions can compute them.
    """
    vertices = [(name, k) for name, eq in pdg.equations.items() for k in range(len(eq.cases))]
    domains = {(name, k): pdg.equations[name].rec.domain for name, k in vertices}
    edges: list[_Edge] = []
    effective = {(name, k): _effective(pdg, name, k) for name, k in vertices}
    for name, equation in pdg.equations.items():
        for k, (cond, right) in enumerate(equation.cases):
            for r in sorted(reach[right], key=repr):
                edges += _edges((name, k), _least(cond), r, effective)
    out: dict[Vertex, Chain] = {}
    _decompose(vertices, edges, domains, (), out)
    return out


def _effective(pdg: Pdg, name: str, k: int) -> Cond:
    """The condition of a case where no earlier one holds."""
    conds = [cond for cond, _ in pdg.equations[name].cases]
    return every(conds[k], *(negation(c) for c in conds[:k]))


def _edges(
    reader: Vertex, least: Mapping[Dim, int], reach: Reach, effective: Mapping[Vertex, Cond]
) -> list[_Edge]:
    """The dependences of one read, on the cases that it can meet."""
    along = {d: gap(indices, d, least) for d, indices in reach.along}
    points = tuple((d, indices.point) for d, indices in reach.along)
    sources = [v for v in effective if v[0] == reach.rec]
    return [
        _Edge(reader, v, along) for v in sources if _meets(effective[v], effective[reader], points)
    ]


@lru_cache(maxsize=4096)
def _meets(case: Cond, reader: Cond, points: tuple[tuple[Dim, Expr | None], ...]) -> bool:
    """Whether points read where ``reader`` holds can be ones where ``case`` holds."""
    known: dict[Dim | Extent, Expr] = {d: e for d, e in points if e is not None}
    if len(known) < len(points):
        return True
    met = substitute_cond(case, known)
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
    vertices: Sequence[Vertex],
    edges: Sequence[_Edge],
    domains: Mapping[Vertex, tuple[Dim, ...]],
    outer: Chain,
    out: dict[Vertex, Chain],
) -> None:
    for component in _ordered(_strongly_connected(vertices, edges), edges):
        group = frozenset(component)
        inside = [e for e in edges if e.reader in group and e.source in group]
        if not inside:
            out.update({v: outer for v in component})
            continue
        shared = [d for d in domains[component[0]] if all(d in domains[v] for v in component)]
        carried = _carrier(group, inside, [d for d in shared if all(d != c.dim for c in outer)])
        if carried is None:
            stuck = tuple(Carried(d, 0, group) for d in shared)
            out.update({v: (*outer, *stuck) for v in component})
            continue
        rest = [e for e in inside if not _advances(e, carried.dim, carried.sign)]
        _decompose(component, rest, domains, (*outer, carried), out)


def _ordered(
    components: Sequence[tuple[Vertex, ...]], edges: Sequence[_Edge]
) -> list[tuple[Vertex, ...]]:
    """Components after those they read, otherwise in the given order."""
    home = {v: k for k, component in enumerate(components) for v in component}
    reads: dict[int, set[int]] = {k: set() for k in range(len(components))}
    for e in edges:
        if e.reader in home and e.source in home and home[e.reader] != home[e.source]:
            reads[home[e.reader]].add(home[e.source])
    done: dict[int, None] = {}
    while len(done) < len(components):
        done[next(k for k, r in reads.items() if k not in done and r <= done.keys())] = None
    return [components[k] for k in done]


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
            dropped = sum(_advances(e, dim, sign) for e in edges)
            if legal and dropped and (best is None or dropped > best[0]):
                best = (dropped, Carried(dim, sign, group))
    return best[1] if best else None


def _strongly_connected(
    vertices: Sequence[Vertex], edges: Sequence[_Edge]
) -> list[tuple[Vertex, ...]]:
    """Strongly connected components in the order of their first member (Warshall's closure)."""
    place = {v: k for k, v in enumerate(vertices)}
    reached = [1 << k for k in range(len(vertices))]
    for e in edges:
        if e.reader in place and e.source in place:
            reached[place[e.reader]] |= 1 << place[e.source]
    for via in range(len(vertices)):
        for k in range(len(vertices)):
            if reached[k] >> via & 1:
                reached[k] |= reached[via]
    found: dict[int, list[Vertex]] = {}
    for k, v in enumerate(vertices):
        mutual = (j for j in range(len(vertices)) if reached[k] >> j & 1 and reached[j] >> k & 1)
        found.setdefault(next(mutual), []).append(v)
    return [tuple(members) for members in found.values()]

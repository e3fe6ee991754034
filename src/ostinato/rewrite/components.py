"""Which recurrences depend on each other, which dimensions carry that, and in which direction.

A recurrence is *carried* by a dimension within a group of recurrences when the group is a strongly
connected component, no dependence inside it points against the direction, and some dependences
advance along it. Those are dropped, and what remains is decomposed again: `Carried` records lie
outermost first. A definition must not read, along a dimension that carries it, a later point of a
member of the group: that is the legality constraint of extraction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ostinato.pdg.index import Dim
from ostinato.pdg.node import Node, Pdg
from ostinato.rewrite.dependence import Interval, Reach, Reaches


@dataclass(frozen=True, slots=True)
class Carried:
    """A dimension that orders a group of recurrences; ``sign`` is 1 forwards, -1 backwards.

    ``sign`` 0: no order was found, so nothing but the point itself may be read along ``dim``.
    """

    dim: Dim
    sign: int
    group: frozenset[str]


Chain = tuple[Carried, ...]


@dataclass(frozen=True, slots=True)
class _Edge:
    reader: str
    reach: Reach

    def along(self, dim: Dim) -> Interval | None:
        return dict(self.reach.along).get(dim)


def chains(pdg: Pdg, reach: Mapping[Node, Reaches]) -> dict[str, Chain]:
    """For every recurrence the dimensions that carry it, outermost first."""
    edges = [
        _Edge(name, r)
        for name, equation in pdg.equations.items()
        for _, right in equation.cases
        for r in sorted(reach[right], key=repr)
    ]
    domains = {name: equation.rec.domain for name, equation in pdg.equations.items()}
    out: dict[str, Chain] = {}
    _decompose(tuple(pdg.equations), edges, domains, (), out)
    return out


def _decompose(
    names: Sequence[str],
    edges: Sequence[_Edge],
    domains: Mapping[str, tuple[Dim, ...]],
    outer: Chain,
    out: dict[str, Chain],
) -> None:
    for component in _strongly_connected(names, edges):
        group = frozenset(component)
        inside = [e for e in edges if e.reader in group and e.reach.rec in group]
        if not inside:
            out.update({name: outer for name in component})
            continue
        shared = [d for d in domains[component[0]] if all(d in domains[n] for n in component)]
        carried = _carrier(group, inside, [d for d in shared if all(d != c.dim for c in outer)])
        if carried is None:
            stuck = tuple(Carried(d, 0, group) for d in shared)
            out.update({name: (*outer, *stuck) for name in component})
            continue
        rest = [e for e in inside if not _advances(e, carried.dim, carried.sign)]
        _decompose(component, rest, domains, (*outer, carried), out)


def _advances(edge: _Edge, dim: Dim, sign: int) -> bool:
    iv = edge.along(dim)
    return iv is not None and (iv.hi < 0 if sign > 0 else iv.lo > 0)


def _carrier(group: frozenset[str], edges: Sequence[_Edge], dims: Sequence[Dim]) -> Carried | None:
    """The dimension that drops most dependences; the outermost one when several do."""
    best: tuple[int, Carried] | None = None
    for dim in dims:
        for sign in (1, -1):
            intervals = [e.along(dim) for e in edges]
            legal = all(iv and (iv.hi <= 0 if sign > 0 else iv.lo >= 0) for iv in intervals)
            dropped = sum(_advances(e, dim, sign) for e in edges)
            if legal and dropped and (best is None or dropped > best[0]):
                best = (dropped, Carried(dim, sign, group))
    return best[1] if best else None


def _strongly_connected(names: Sequence[str], edges: Sequence[_Edge]) -> list[tuple[str, ...]]:
    """Strongly connected components in the order of their first member (Warshall's closure)."""
    place = {name: k for k, name in enumerate(names)}
    reached = [1 << k for k in range(len(names))]
    for e in edges:
        if e.reader in place and e.reach.rec in place:
            reached[place[e.reader]] |= 1 << place[e.reach.rec]
    for via in range(len(names)):
        for k in range(len(names)):
            if reached[k] >> via & 1:
                reached[k] |= reached[via]
    found: dict[int, list[str]] = {}
    for k, name in enumerate(names):
        mutual = (j for j in range(len(names)) if reached[k] >> j & 1 and reached[j] >> k & 1)
        found.setdefault(next(mutual), []).append(name)
    return [tuple(members) for members in found.values()]

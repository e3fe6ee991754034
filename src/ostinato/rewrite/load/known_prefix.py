"""A recurrence whose first steps are known: what follows from them needs no loop.

``tok[t < P] = prompt[t]`` makes every value that depends on tokens only known before the loop runs,
for ``t < P``. Where such a value is read over many steps (keys and values of attention), or given
back, it becomes a choice: below ``P`` the same operators on the known part, else itself. A choice
is not strict, so the loop computes it from ``P`` on only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ostinato.pdg.bounds import simplified
from ostinato.pdg.build import case, part, read
from ostinato.pdg.condition import Compare, at_least, every, negation
from ostinato.pdg.index import Dim, Expr, Slice, expr, minimum
from ostinato.pdg.node import Equation, Host, Linear, Matmul, Node, Pdg, Read, Rec, Scan
from ostinato.pdg.remake import remade, renewed
from ostinato.pdg.replace import mapped
from ostinato.rewrite.load.components import Chain, Vertex
from ostinato.rewrite.load.defined_along import partial_below, partial_dims
from ostinato.rewrite.load.dependence import Reaches, contained, distance
from ostinato.rewrite.load.tables import threshold

Bound = tuple[Dim, Expr]  # the steps of a dimension below an index


def split_prefixes(pdg: Pdg, reach: Mapping[Node, Reaches], chains: Mapping[Vertex, Chain]) -> Pdg:
    """The program with choices between the known and the computed part of values."""
    known: dict[Bound, dict[str, Node]] = {}
    for name, equation in pdg.equations.items():
        for k, (_, right) in enumerate(equation.cases):
            bound = _bound(equation, k)
            if bound is not None and _is_carried(pdg, name, bound[0], chains):
                if not contained(reach[right]) & _recs_of(pdg, bound[0], chains):
                    known.setdefault(bound, {})[name] = right
    if not known:
        return pdg
    bound = max(known, key=lambda b: len(known[b]))
    split = _Split(pdg, *bound, known[bound], reach, _recs_of(pdg, bound[0], chains))
    together = split.run()
    partial = partial_dims(together) if split.products else {}
    if all(
        bound[0] not in partial_below(n, *bound, partial) for n in split.products & partial.keys()
    ):
        return together
    return replace(split, at_once=False, early={}, products=set[Node]()).run()


def _bound(equation: Equation, k: int) -> Bound | None:
    """The dimension and the index below which a case holds, and it alone."""
    conds = [cond for cond, _ in equation.cases]
    cond = simplified(every(conds[k], *(negation(c) for c in conds[:k])))
    found = threshold(cond) if isinstance(cond, Compare) else None
    if found is None or not found[2] or found[1].is_const or found[1].dims:
        return None
    return found[:2]


def _is_carried(pdg: Pdg, name: str, dim: Dim, chains: Mapping[Vertex, Chain]) -> bool:
    """Whether a recurrence runs forwards over a dimension."""
    cases = range(len(pdg.equations[name].cases))
    return any(c.dim == dim and c.sign > 0 for k in cases for c in chains[name, k])


def _recs_of(pdg: Pdg, dim: Dim, chains: Mapping[Vertex, Chain]) -> int:
    """The recurrences (bits) that a dimension carries."""
    bit = {name: 1 << k for k, name in enumerate(pdg.equations)}
    carried = {name for (name, _), chain in chains.items() if any(c.dim == dim for c in chain)}
    return sum(bit[name] for name in carried)


@dataclass
class _Split:
    """One dimension, a bound, and the recurrences that are known below it.

    ``early`` maps values to their known part; None where there is none. ``products`` are those of
    known values with matrices that all steps share: with ``at_once`` one for all steps.
    """

    pdg: Pdg
    dim: Dim
    end: Expr
    known: Mapping[str, Node]
    reach: Mapping[Node, Reaches]
    carried: int
    at_once: bool = True
    early: dict[Node, Node | None] = field(default_factory=dict["Node", "Node | None"])
    products: set[Node] = field(default_factory=set["Node"])

    def run(self) -> Pdg:
        nodes = self.pdg.nodes()
        for node in nodes:
            self.early[node] = self.part(node)
        cut = {n for n in self.asked() if self.is_worth(n)}
        if not cut:
            return self.pdg
        out: dict[Node, Node] = {}
        cond = at_least(self.end - 1, self.dim)
        for node in nodes:
            new = renewed(node, [out[a] for a in node.args])
            first = self.early[node]
            if node in cut and first is not None:
                new = case(cond, first, new, node.where)
            out[node] = new
        return mapped(self.pdg, out)

    def part(self, node: Node) -> Node | None:
        """A value below the bound, without the recurrences that are known there."""
        if not contained(self.reach[node]) & self.carried:
            return node
        match node.op:
            case Rec(name):
                return self.known.get(name)
            case Read(at) if any(d == self.dim and distance(e, d).hi > 0 for d, e in at):
                return None
            case Linear(dim, True) | Scan(_, dim, True) if dim == self.dim:
                return None
            case Host():
                return None
            case _:
                parts = [p for p in (self.early[a] for a in node.args) if p is not None]
                if len(parts) < len(node.args):
                    return None
                made = remade(node, parts)
                return self.gathered(made) if self.is_shared(made) else made

    def is_shared(self, node: Node) -> bool:
        """Whether a value is a product with a matrix that all steps share."""
        if not self.at_once or not isinstance(node.op, Matmul):
            return False
        moving = [self.dim in a.domain for a in node.args]
        return sum(moving) == 1 and all(self.dim not in n.dims for n in node.shape)

    def gathered(self, node: Node) -> Node:
        """A value at the point, out of those of all known steps."""
        self.products.add(node)
        steps = Slice(expr(0), minimum(self.end, self.dim.extent))
        return part(read(node, [(self.dim, steps)]), -node.rank - 1, expr(self.dim))

    def asked(self) -> Iterator[Node]:
        """Values that are read over many steps, or given back."""
        for node in self.pdg.nodes():
            match node.op:
                case Read(at) if isinstance(dict(at).get(self.dim), Slice):
                    yield node.args[0]
                case Scan(_, dim, False) | Linear(dim, False) if dim == self.dim:
                    yield from node.args
                case _:
                    pass
        yield from (node for _, node in self.pdg.outputs)

    def is_worth(self, node: Node) -> bool:
        """Whether a known part exists that holds a product."""
        if self.early[node] in (None, node) or self.dim not in node.domain:
            return False
        return self.has_product(node)

    def has_product(self, node: Node) -> bool:
        """Whether a product follows from the recurrences on the way to a value."""
        seen: set[Node] = set()
        stack = [node]
        while stack:
            x = stack.pop()
            if isinstance(x.op, Matmul):
                return True
            inner = (a for a in x.args if self.early[a] != a)
            fresh = [a for a in inner if a not in seen]
            seen.update(fresh)
            stack += fresh
        return False

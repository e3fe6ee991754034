"""Every read inside the box of what it reads, by writing out the values that lie outside.

An expression has its definition's value wherever its operands have one, so a program may read
``P[t - 1]`` of a prefix sum at ``t = 0``. What is stored are values inside a box: such a read
becomes a choice between the stored value and the definition at that point,

    P[t - 1]  =  P[t - 1] where t >= 1, else (x[: t + 1].sum(0) at t - 1)

and no later stage sees a read that leaves a box at a point that is demanded.
"""

from __future__ import annotations

import re

from ostinato.pdg import build
from ostinato.pdg.condition import ALWAYS, Cond, at_least, every
from ostinato.pdg.demand.demand import Demand, box, read_relation
from ostinato.pdg.demand.elsewhere import elsewhere, is_leaf
from ostinato.pdg.errors import DomainError
from ostinato.pdg.extra_dims import in_generation
from ostinato.pdg.index import Dim, Expr, Slice, expr, maximum
from ostinato.pdg.isl import condition_set, relation
from ostinato.pdg.naming import called
from ostinato.pdg.node import Node, Pdg, Read
from ostinato.pdg.remake import renewed
from ostinato.pdg.replace import mapped
from ostinato.pdg.upper_bound import upper_bound

GENERATION = 1000  # of longer dimensions: far from those of derivatives and guards
ROUNDS = 50  # reads of reads: each round writes out one more level


def straying(demand: Demand) -> list[Node]:
    """The reads that leave the box of an expression at a demanded point.

    What such a read asks of another one is not that one's fault: the outermost are given.
    """
    return [
        node
        for node in demand.pdg.nodes()
        if isinstance(node.op, Read)
        and not is_leaf(node.args[0])
        and demand.leaves_box(node)
        and demand.are_inside(demand.of(node), box(node.domain))
    ]


def inside(pdg: Pdg) -> Pdg:
    """Return an equal program whose demanded reads stay inside boxes.

    Errors: DomainError where reads of reads are too many to write out.
    """
    found: list[Node] = []
    for _ in range(ROUNDS):
        demand = Demand(pdg, pdg.minimum_extents)
        found = straying(demand)
        if not found:
            return pdg
        pdg = _replaced(pdg, {node: _Read(node, demand).kept_inside() for node in found})
    fact = f"{called(found[0])} is read outside through more than {ROUNDS} other reads"
    raise DomainError(fact, "Guard the reads with conditions.", found[0].where)


def _replaced(pdg: Pdg, by: dict[Node, Node]) -> Pdg:
    """The program with other nodes in place of some; what replaces a node may contain it."""
    out: dict[Node, Node] = {}
    for node in pdg.nodes():
        out[node] = by.get(node) or renewed(node, [out[a] for a in node.args])
    return mapped(pdg, out)


class _Read:
    """One read that leaves the box of its operand."""

    def __init__(self, node: Node, demand: Demand) -> None:
        assert isinstance(node.op, Read), f"{node} is no read"
        self.node, self.demand = node, demand
        self.points = demand.of(node)
        self.x = node.args[0]
        self.at = dict(node.op.at)

    def kept_inside(self) -> Node:
        """The same values: stored ones where they are, definitions elsewhere."""
        x, slices = self.longer()
        steps = {d: e for d, e in self.at.items() if isinstance(e, Expr) and d in x.domain}
        stored = build.read(x, [*steps.items(), *slices.items()], self.node.where)
        within = every(*(c for d, e in steps.items() for c in self.limits(d, e)))
        if within == ALWAYS:
            return stored
        fixed = self.fixed(within)
        there = elsewhere(x, {d: e.at(fixed) for d, e in steps.items()})
        beyond = build.read(there, [*slices.items()], self.node.where)
        return build.case(within, stored, beyond, self.node.where)

    def limits(self, dim: Dim, index: Expr) -> list[Cond]:
        """The sides of the box that an index leaves, as conditions to stay inside."""
        sides = at_least(index, 0), at_least(expr(dim.extent) - 1, index)
        dims = self.points.dims
        return [c for c in sides if not self.demand.are_inside(self.points, condition_set(dims, c))]

    def fixed(self, within: Cond) -> dict[Dim, Expr]:
        """The indices that have one value at all points outside; sizes keep them as they are."""
        stored = condition_set(self.points.dims, within)
        outside = (self.points - stored).assume(self.demand.minimum)
        sizes = {d for size in self.node.shape for d in size.dims}
        spans = {d: outside.bounds(d) for d in outside.dims if d not in sizes}
        return {d: expr(lo) for d, (lo, hi) in spans.items() if lo is not None and lo == hi}

    def longer(self) -> tuple[Node, dict[Dim, Slice]]:
        """The operand over longer dimensions in place of those that are sliced, and the slices.

        They keep their order, in which slices become axes.
        """
        x, slices = self.x, dict[Dim, Slice]()
        for dim, index in self.at.items():
            if not isinstance(index, Slice):
                continue
            own_steps = dim in self.x.domain
            before, after = self.beyond(dim, index) if own_steps else (expr(0), expr(0))
            own = longer(dim, before, after)
            slices[own] = Slice(index.lo + before, index.hi + before, index.step)
            if own_steps:
                x = _extended(x, dim, expr(own) - before, (before, after))
        return x, slices

    def beyond(self, dim: Dim, index: Slice) -> tuple[Expr, Expr]:
        """How many steps before the first and after the last a slice reads, at most."""
        reached = read_relation(tuple(self.at.items()), self.points.dims, self.x.domain)
        found = reached.apply(self.points)
        end, last = expr(dim.extent), Dim("last")
        far = relation(found.dims, (last,), [expr(dim) - end + 1]).apply(found)
        first, final = (
            found.assume(self.demand.minimum).bounds(dim).lo,
            far.assume(self.demand.minimum).bounds(last).hi,
        )
        before = upper_bound(-index.lo) if first is None else expr(-first)
        after = upper_bound(index.hi) - end if final is None else expr(final)
        return maximum(before, 0), maximum(after, 0)


def longer(dim: Dim, before: Expr, after: Expr) -> Dim:
    """A dimension over the steps of another one, and so many before and after them."""
    serial = in_generation(dim, GENERATION).serial
    name = re.sub(r"\W+", "_", f"{dim.name}_{before}_{after}").strip("_")
    return Dim(name, serial, "", expr(dim.extent) + before + after)


def _extended(x: Node, dim: Dim, step: Expr, beyond: tuple[Expr, Expr]) -> Node:
    """A value at a step that may lie before or after those of a dimension."""
    stored = build.read(x, [(dim, step)])
    limits = at_least(step, 0), at_least(expr(dim.extent) - 1, step)
    within = every(*(c for c, far in zip(limits, beyond, strict=True) if far != expr(0)))
    if within == ALWAYS:
        return stored
    return build.case(within, stored, elsewhere(x, {dim: step}), x.where)

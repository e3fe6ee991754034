"""Work that leaves a loop over steps, so that all workers share it where there are few tiles.

A worker takes all steps of its tile of rows before another tile: what a step computes is near then.
But a run of few rows has fewer tiles than workers, and the others wait. What the steps need one
after the other has to stay; what only reads them, such as the values of states that a critic
judges, runs as well in a loop of its own over the steps, each of them done by any worker. That
costs memory for what passes between the two loops, so it is done for products that take long for
each number that passes, where tiles may be few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.codegen.ir.extents import Sizes, stored_points
from ostinato.codegen.ir.tree import Span
from ostinato.codegen.scheduling.cluster import Edge
from ostinato.codegen.scheduling.items import Header, Heading, Item
from ostinato.codegen.target import Target
from ostinato.machine.cost_model import REFERENCE
from ostinato.pdg.index import Dim

WORTH = 16  # times as long as passing on its numbers takes what may leave: they take memory too
SHARE = 4  # what stays in the loop takes at most so many times as long as what leaves it


def spread(
    items: Sequence[Item],
    headers: Sequence[Heading],
    edges: Sequence[Edge],
    sizes: Sizes,
    ends_early: Callable[[Dim], bool],
    target: Target,
) -> dict[int, Header]:
    """The items that leave the loop over the steps of a tile, each with its new loop.

    None leaves a loop that ``ends_early``: its own would run all steps.
    """
    out: dict[int, Header] = {}
    few = target.usual_workers
    tiles = (h.dim for h in headers if isinstance(h, Header) and h.parallel)
    for tile in dict.fromkeys(tiles):
        count = _typical(sizes, sizes.spans[tile], few)
        if count >= few:
            continue
        group = _Group(items, headers, edges, sizes, ends_early, tile)
        for step in group.carried():
            steps = _typical(sizes, sizes.spans[step], few)
            if count * steps < few or sizes.spans[step].hi.dims:
                continue
            for going in group.leaving(step):
                if group.pays(going, step):
                    out |= dict.fromkeys(going, Header(tile, True, "any", step))
    return out


def _typical(sizes: Sizes, span: Span, otherwise: int) -> int:
    """How often a loop typically runs, as far as no other loops decide its range."""
    most = stored_points(span.hi)
    return otherwise if most.dims else sizes.steps(most)


@dataclass
class _Group:
    """The items that run in the loop of one kind of tile."""

    items: Sequence[Item]
    headers: Sequence[Heading]
    edges: Sequence[Edge]
    sizes: Sizes
    ends_early: Callable[[Dim], bool]
    tile: Dim
    members: frozenset[int] = field(init=False)
    users: Mapping[str, list[Edge]] = field(init=False)

    def __post_init__(self) -> None:
        self.members = frozenset(
            k
            for k, h in enumerate(self.headers)
            if isinstance(h, Header) and h.parallel and h.dim == self.tile
        )
        users: dict[str, list[Edge]] = {}
        for edge in self.edges:
            users.setdefault(edge.dep.tensor, []).append(edge)
        self.users = users

    def carried(self) -> list[Dim]:
        """The dims along which some item has to go step by step."""
        found = (self.items[k].options.items() for k in sorted(self.members))
        return list(dict.fromkeys(d for each in found for d, h in each if h.sign != "any"))

    def is_free(self, k: int, step: Dim) -> bool:
        """Whether an item may take the steps in any order, and completes one at each."""
        item = self.items[k]
        header = item.options.get(step)
        folded = any({step, self.tile} & u.main.reduced for u in item.units)
        return header is not None and header.sign == "any" and not folded

    def leaving(self, step: Dim) -> Iterator[frozenset[int]]:
        """Products that read what the steps give, with what stands between such products.

        Each set stands between the same loops over the steps, so that one more loop takes it.
        """
        into: dict[int, list[int]] = {k: [] for k in self.members}
        for edge in self.edges:
            if edge.source in self.members and edge.target in self.members:
                into[edge.target].append(edge.source)
        free = {k for k in self.members if self.is_free(k, step)}
        level: dict[int, int] = {}
        for k in sorted(self.members):  # every item comes after what it reads
            level[k] = max((level[j] + (j not in free) for j in into[k]), default=0)
        for each in sorted(set(level.values()) - {0}):
            here = [k for k in sorted(free) if level[k] == each]
            after = {k for k in here if self.products_ns(k)}
            products = frozenset(after)
            before = set(products)
            for k in here:
                if after & {*into[k]}:
                    after.add(k)
            for k in reversed(here):
                if k in before:
                    before |= {j for j in into[k] if j in free and level[j] == each}
            if products:
                yield products | (after & before)

    def products_ns(self, k: int) -> float:
        """What an item's products take at one step of one tile."""
        total = 0.0
        for unit in self.items[k].units:
            leaf = self.sizes.products.get(unit.name)
            if leaf is not None:
                m, n, k_ = (self.sizes.steps(a.pad) if a else 1 for a in (leaf.m, leaf.n, leaf.k))
                times = math.prod(self.sizes.steps(a.pad) for a in leaf.outer)
                total += times * REFERENCE.product_ns(m, n, k_, leaf.form, unit.main.dtype)
        return total

    def pays(self, going: frozenset[int], step: Dim) -> bool:
        """Whether a loop of its own costs little beside what it takes from the loop of tiles."""
        work = sum(map(self.products_ns, going))
        along = [k for k in self.members if step in self.items[k].options]
        rest = sum(map(self.products_ns, along)) - work
        if work * SHARE < rest or work < WORTH * REFERENCE.handed_over_ns() * self.passed(going):
            return False
        return not self.ends_early(step)

    def passed(self, going: frozenset[int]) -> float:
        """The numbers that pass from one loop to the other, and would not leave one loop."""
        found = {
            e.dep.tensor
            for e in self.edges
            if (e.source in going) != (e.target in going) and e.source in self.members
        }
        inside = (t for t in found if all(e.target in self.members for e in self.users[t]))
        return sum(map(self.sizes.elements, sorted(inside)))

"""Scheduling by regions: recursively choose the loop that hosts each component.

Per loop level: strongly connected components, the distances of their inner dependences along every
dim, typed fusion of components that agree on a loop, and again inside each loop with the
dependences that remain between equal values of its dim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from ostinato.codegen.ir.extents import Sizes, Spans
from ostinato.codegen.ir.tree import Loop, Tree
from ostinato.codegen.scheduling.cluster import Edge, Rules, cluster
from ostinato.codegen.scheduling.deps import HERE, Dep, Unit
from ostinato.codegen.scheduling.hoist import spread
from ostinato.codegen.scheduling.items import Header, Heading, Item
from ostinato.codegen.scheduling.leaves import leaf_nodes
from ostinato.codegen.target import Target
from ostinato.pdg.errors import CycleError
from ostinato.pdg.index import Dim, Extent, expr, symbols
from ostinato.pdg.scc import components_with


class Unordered(Exception):
    """A component has no loop that respects its inner dependences."""

    def __init__(self, units: Sequence[Unit], inner: Sequence[Dep]) -> None:
        self.units, self.inner = tuple(units), tuple(inner)
        super().__init__(", ".join(u.name for u in units))

    @property
    def names(self) -> frozenset[str]:
        return frozenset(s.name for u in self.units for s in u.statements)


@dataclass(frozen=True)
class Scheduler:
    """What scheduling knows besides units and dependences: loop spans, tiles, costs."""

    spans: Spans
    tiles: frozenset[Dim]
    sizes: Sizes
    target: Target
    ends_early: Callable[[Dim], bool]  # whether a loop may end before its last step
    points: frozenset[Dim] = frozenset()  # the tiles of one point
    outermost: Dim | None = None  # whose loop stands around all others where it may
    spreads: bool = False  # whether work leaves loops over steps where tiles may be few
    wishes: list[Dim] = field(default_factory=list[Dim])  # the loops over which it would be spread

    def trees(
        self, units: Sequence[Unit], deps: Sequence[Dep], done: frozenset[Dim] = frozenset()
    ) -> tuple[Tree, ...]:
        """Loops and leaves that compute the units in an order that respects ``deps``.

        Errors: Unordered if no order of loops computes a component.
        """
        deps, items = self.ordered(units, deps, done)
        forced = self.forced(items, done)
        last = self.points - self.many()
        headers: list[Heading] = [item.preferred(forced, last) for item in items]
        names = [[u.name for u in item.units] for item in items]
        of = {name: k for k, own in enumerate(names) for name in own}
        edges = [
            Edge(of[d.producer.name], of[d.consumer.name], d)
            for d in deps
            if of[d.producer.name] != of[d.consumer.name]
        ]
        leaving = spread(items, headers, edges, self.sizes, self.ends_early, self.target)
        self.wishes.extend(h.along for h in leaving.values() if h.along)
        for k, own in leaving.items() if self.spreads else ():
            headers[k] = own
        rules = Rules[Heading](_merge, _allows, cache(partial(self.sizes.history, done=done)))
        groups = cluster(headers, edges, rules)
        group_of = {u: g for g, (_, ks) in enumerate(groups) for k in ks for u in names[k]}
        inside: list[list[Dep]] = [[] for _ in groups]
        for d in deps:
            if (group := group_of[d.consumer.name]) == group_of[d.producer.name]:
                inside[group].append(d)
        out: list[Tree] = []
        for (header, numbers), between in zip(groups, inside, strict=True):
            members = [u for k in numbers for u in items[k].units]
            out += self.group(header, members, between, done)
        return tuple(out)

    def group(
        self, header: Heading, units: list[Unit], inside: Sequence[Dep], done: frozenset[Dim]
    ) -> tuple[Tree, ...]:
        """One loop, or the leaves of one straight run, with the dependences inside of it."""
        if not isinstance(header, Header):
            return leaf_nodes(units, inside, self.sizes, self.target.keeps_parts)
        kept = [same for d in inside if (same := d.at_same(header.dim)) is not None]
        if header.along is None:
            body = self.trees(units, kept, done | {header.dim})
        else:
            steps = [same for d in kept if (same := d.at_same(header.along)) is not None]
            inner = self.trees(units, steps, done | {header.dim, header.along})
            body = (Loop(self.spans[header.along], False, True, inner),)
        reverse = header.sign == "backward"
        return (Loop(self.spans[header.dim], reverse, header.parallel, body),)

    def ordered(
        self, units: Sequence[Unit], deps: Sequence[Dep], done: frozenset[Dim]
    ) -> tuple[Sequence[Dep], list[Item]]:
        """The components; where one has no loop, isl first removes what conditions exclude."""
        items = self.items(units, deps, done)
        stuck = {u.name for item in items if item.is_stuck for u in item.units}
        if not stuck:
            return deps, items
        exact: list[Dep] = []
        for d in deps:
            if d.consumer.name in stuck and d.producer.name in stuck:
                d = d.exact()
                if d.relation.is_empty():
                    continue
            exact.append(d)
        items = self.items(units, exact, done)
        for item in items:
            if item.is_stuck:
                raise Unordered(item.units, item.inner)
        return exact, items

    def items(self, units: Sequence[Unit], deps: Sequence[Dep], done: frozenset[Dim]) -> list[Item]:
        """The components in topological order, with their options."""
        by_name = {u.name: u for u in units}
        groups = components_with(by_name, deps, lambda d: (d.producer.name, d.consumer.name))
        open_ = [d for d, span in self.spans.items() if d not in done and span.hi.dims <= done]
        out: list[Item] = []
        for names, inner in groups:
            own = [by_name[n] for n in names]
            out.append(Item(tuple(own), tuple(inner), self.options(own, inner, open_)))
        return out

    def options(
        self, units: Sequence[Unit], inner: Sequence[Dep], open_: Sequence[Dim]
    ) -> dict[Dim, Header]:
        """Every dim that the component may run in next, with the order it demands.

        ``open_`` are the dims whose loops may begin here.
        """
        out: dict[Dim, Header] = {}
        shared = set(units[0].dims).intersection(*(u.dims for u in units[1:]))
        for dim in (d for d in open_ if d in shared):
            gaps = [d.gap(dim) for d in inner]
            is_fold = any(dim in u.main.reduced for u in units)
            if all(g == HERE for g in gaps):
                out[dim] = Header(dim, dim in self.tiles and not is_fold, "any")
            elif all(lo is not None and lo >= 0 for lo, _ in gaps):
                out[dim] = Header(dim, False, "forward")
            elif all(hi is not None and hi <= 0 for _, hi in gaps):
                out[dim] = Header(dim, False, "backward")
        return out

    def forced(self, items: Sequence[Item], done: frozenset[Dim]) -> frozenset[Dim]:
        """Dims that carry a component with tiles inside: they draw their neighbours in.

        Otherwise the neighbours' histories would grow with the run. So does the outermost dim that
        carries calls of Python: what they give can then be seen while the loop runs. A parallel
        loop stands around such a loop, unless each of its steps waits for a fold over tiles.
        """
        out: set[Dim] = set() if done or self.outermost is None else {self.outermost}
        for item in items:
            folded = any(u.main.reduced & (self.tiles - self.points) for u in item.units)
            parallel = any(h.parallel for h in item.options.values()) and not folded
            tiled = any((set(u.main.result_dims) - done) & self.tiles for u in item.units)
            serial = [d for d in item.options if d not in self.tiles]
            calls = not done and any(u.main.kind == "host" for u in item.units)
            carrying = [d for d in serial if item.options[d].sign != "any"]
            if (tiled or calls) and serial and not parallel:
                out.add((carrying or serial)[0])
        return frozenset(out)

    def many(self) -> frozenset[Dim]:
        """The dims that are known to have enough points for all workers."""
        hinted = self.sizes.hints
        known = (
            d
            for d in self.points
            if all(isinstance(x, Extent) and x.name in hinted for x in symbols(d.extent))
        )
        least = self.target.usual_workers
        return frozenset(d for d in known if self.sizes.steps(expr(d.extent)) >= least)


def _merge(a: Heading, b: Heading) -> tuple[Heading, ...]:
    """The headings of one group for both, best first: a free loop may take a direction."""
    if not isinstance(a, Header) or not isinstance(b, Header):
        return (a,) if a == b else ()
    if (a.dim, a.parallel, a.along) != (b.dim, b.parallel, b.along):
        return ()
    signs = {a.sign, b.sign} - {"any"}
    if len(signs) > 1:
        return ()
    if signs:
        return (a if a.sign != "any" else b,)
    if a.parallel:
        return (a,)
    forward = Header(a.dim, False, "forward", a.along)
    return (a, forward, Header(a.dim, False, "backward", a.along))


def _allows(header: Heading, dep: Dep) -> bool:
    """Whether a dependence may stay inside one group."""
    if not isinstance(header, Header):
        return True
    if header.dim in dep.reader.later and header.dim not in dep.source.later:
        return False  # what is computed again belongs to the loop of its readers
    if header.along is not None and dep.gap(header.along) != HERE:
        return False
    lo, hi = dep.gap(header.dim)
    if header.parallel or header.sign == "any":
        return (lo, hi) == HERE
    return lo is not None and lo >= 0 if header.sign == "forward" else hi is not None and hi <= 0


def cycle_error(found: Unordered) -> CycleError:
    """The error for a component without an order, in the user's names and lines."""
    units, inner = {u.name: u for u in found.units}, found.inner
    reads = {(d.consumer.name, d.producer.name) for d in inner}
    order = [units[name].main for name in _loop(sorted(units), reads)]
    named = [s for s in order if s.label] or order
    shown = list(dict.fromkeys(f"`{s.label or s.name}` ({s.where})" for s in named))
    why = "they need each other" if len(shown) > 1 else "its points need each other"
    return CycleError(
        f"no order of loops computes {', '.join(shown)}: {why}",
        "Read an earlier step of one of them, or split the cases so that no point needs itself.",
        named[0].where,
    )


def _loop(names: Sequence[str], reads: set[tuple[str, str]]) -> list[str]:
    """A closed walk of readers through the component."""
    walk = [names[0]]
    while True:
        step = min(p for c, p in reads if c == walk[-1])
        if step in walk:
            return walk[walk.index(step) :]
        walk.append(step)

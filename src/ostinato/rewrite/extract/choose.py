"""Choosing one term per class: cheapest first, legal for the definition it serves.

Definitions are grouped by the chain that carries them; the innermost loops choose first, then those
that read them, outputs last. What an earlier group pays for costs the later ones nothing. Then all
groups together change single choices (`ostinato.rewrite.extract.improve`).

A window that is made of shorter ones is read twice at every length: as a tree it is never cheap,
and single choices lead nowhere. Such a program has a second start, whose trees pay for the dearest
operand alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ostinato.pdg.scc import closed
from ostinato.rewrite.engine.saturate import STEPS
from ostinato.rewrite.extract.export import EGraph, ENode
from ostinato.rewrite.extract.improve import Choices, LocalSearch
from ostinato.rewrite.extract.legal_terms import Context, Limit
from ostinato.rewrite.extract.pricing import Cost, Pricing
from ostinato.rewrite.extract.space import MOVING, Candidate, Space, below, candidates, within
from ostinato.rewrite.load.components import Chain
from ostinato.rewrite.load.tables import Loaded
from ostinato.rewrite.terms.signature import SIGNATURE

Name = tuple[int, int] | int  # a recurrence id and one of its cases, or the number of an output


@dataclass(frozen=True, slots=True)
class Term:
    """A chosen operator; operands are numbers of terms."""

    enode: ENode
    cls: int
    kids: tuple[int, ...]


@dataclass
class Terms:
    """Chosen terms, each once."""

    items: list[Term] = field(default_factory=list[Term])
    _known: dict[tuple[ENode, tuple[int, ...]], int] = field(
        default_factory=dict[tuple[ENode, tuple[int, ...]], int]
    )

    def add(self, enode: ENode, cls: int, kids: tuple[int, ...]) -> int:
        key = (enode, kids)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.items)
            self.items.append(Term(enode, cls, kids))
        return found

    def reachable(self, roots: Sequence[int]) -> list[int]:
        """Terms below the roots, operands first (an operand has a smaller number)."""
        return sorted(closed(roots, lambda number: self.items[number].kids))


@dataclass(frozen=True)
class Selection:
    """The chosen program: terms of the outputs and of the cases of the recurrences in use."""

    terms: Terms
    outputs: tuple[int, ...]
    definitions: Mapping[tuple[int, int], int]
    price: float
    cost: Cost
    switches: int = 0  # choices that local search changed
    is_searched: bool = True  # local search ended by itself, within its steps
    steps: int = 0  # places that local search visited
    left: str = ""  # what stays point by point, or as it is written, for lack of an order


class NoTerm(Exception):
    """A class has no legal term: a definition reads ahead of every loop that could compute it."""

    def __init__(self, context: Context) -> None:
        super().__init__(context.refusal())
        self.names = context.names


class _Written:
    """The nodes of the loaded program as candidates, by id."""

    def __init__(self, graph: EGraph, loaded: Loaded, pricing: Pricing, first: int) -> None:
        self.nodes: dict[int, Candidate] = {}
        self.kids: dict[int, tuple[int, ...]] = {}
        self.roots = {(int(r), int(k)): int(n) for r, k, n in loaded.rows.get("raw_define", ())}
        for op, letters in SIGNATURE.items():
            for row in loaded.rows.get(f"raw_{op}", ()):
                number, enode = int(row[0]), graph.written(op, row)
                cls = graph.node_class[number]
                price, operands = pricing.price(cls, enode), below(enode, graph.dom)
                at = first + len(self.nodes)
                self.nodes[number] = Candidate(at, cls, enode, price, operands, op in MOVING)
                cells = zip(row[1:], letters, strict=True)
                self.kids[number] = tuple(int(cell) for cell, letter in cells if letter == "T")


class Extractor:
    """Extraction from one e-graph; `select` may be asked for several forms of the recurrences.

    Local search visits so many ``steps``; without any the tree program is chosen.
    """

    def __init__(self, graph: EGraph, loaded: Loaded, pricing: Pricing, steps: int = STEPS) -> None:
        self._graph, self._loaded, self._pricing, self._steps = graph, loaded, pricing, steps
        self._candidates = candidates(graph, pricing, loaded.tables.masks())
        self._prices = [c.price for mine in self._candidates.values() for c in mine]
        self._as_written: _Written | None = None
        self._joins = bool(loaded.rows.get("halved"))

    def select(self, forms: frozenset[int], kept: frozenset[str] = frozenset()) -> Selection:
        """The cheapest program found in which exactly the recurrences ``forms`` (ids) exist.

        The definitions of those ``kept`` (names), which are in no batch, stay as they are written.

        Errors: NoTerm.
        """
        starts = (False, True) if self._joins else (False,)
        found = [self._searched(forms, kept, shares) for shares in starts]
        best = min(found, key=lambda s: s.price)
        searched, steps = all(s.is_searched for s in found), sum(s.steps for s in found)
        return replace(best, is_searched=searched, steps=steps)

    def _searched(self, forms: frozenset[int], kept: frozenset[str], shares: bool) -> Selection:
        """A tree program, and what local search makes of it."""
        space, roots = self._settled(forms, kept, shares)
        tree = self._selection(space, roots)
        if not self._steps:
            return tree
        items = [c.number for c in space.chosen]
        choices = Choices(space.options, space.kids, items, self._prices)
        search = LocalSearch(choices, space.best, self._steps)
        if search.run([*roots.values()]):
            space.settle_again([*roots.values()])
            search.run([*roots.values()], together=False)
        if any([search.attempt(takings) for takings in self._joined_products(space)]):
            search.run([*roots.values()], together=False)
        searched = self._selection(space, roots) if search.switches else tree
        best = searched if searched.price < tree.price else tree
        visited = self._steps - search.steps
        return replace(
            best, switches=search.switches, is_searched=search.is_complete, steps=visited
        )

    def _joined_products(self, space: Space) -> list[list[tuple[int, int]]]:
        """For every product of joined operands the places, and options, that are parts of it.

        The cheaper ones come first: they may be parts of others.
        """
        found: dict[int, list[tuple[int, int]]] = {}
        prices: dict[int, float] = {}
        for place, options in enumerate(space.options if self._loaded.rows.get("halves") else ()):
            for option in options:
                enode = space.chosen[option].enode
                if enode.op == "cut":
                    (whole,) = enode.kids
                    made = [c.price for c in self._candidates[whole] if c.enode.op == "mm"]
                    if made:
                        found.setdefault(whole, []).append((place, option))
                        prices[whole] = min(made)
        return [found[whole] for whole in sorted(found, key=lambda whole: prices[whole])]

    def _settled(
        self, forms: frozenset[int], kept: frozenset[str], shares: bool
    ) -> tuple[Space, dict[Name, int]]:
        """All places with the choices of the tree program, and those of definitions and outputs."""
        places, paid = dict[Name, int](), set[int]()
        space = Space(forms, self._candidates, shares=shares)
        for chain, roots in self._groups(forms):
            context, first = Context(chain, self._loaded.tables), len(space.options)
            if kept & context.names:
                written = self._written
                numbers = [written.roots[name] for name in roots if isinstance(name, tuple)]
                found = space.keep(context, written.nodes, written.kids, numbers)
            else:
                found = space.grow(context, list(roots.values()))
            space.settle(first, paid)
            if any(space.best[place] < 0 for place in found):
                raise NoTerm(context)
            paid |= {space.chosen[space.best[p]].number for p in space.used(found)}
            places.update(zip(roots, found, strict=True))
        space.shares = False
        return space, places

    @property
    def _written(self) -> _Written:
        if self._as_written is None:
            graph, loaded, pricing = self._graph, self._loaded, self._pricing
            self._as_written = _Written(graph, loaded, pricing, len(self._prices))
            self._prices += [c.price for c in self._as_written.nodes.values()]
        return self._as_written

    def _groups(self, forms: frozenset[int]) -> list[tuple[Chain, dict[Name, int]]]:
        """Classes of definitions by the chain that carries them, innermost first; outputs last."""
        groups: dict[Chain, dict[Name, int]] = {}
        form = {self._loaded.tables.recs[rec].name: rec for rec in forms}
        for (name, case), chain in self._loaded.chains.items():
            if name in form:
                vertex = (form[name], case)
                groups.setdefault(chain, {})[vertex] = self._graph.definitions[vertex]
        ids, classes = self._loaded.ids, self._graph.node_class
        outputs: dict[Name, int] = {
            k: classes[ids[n]] for k, (_, n) in enumerate(self._loaded.pdg.outputs)
        }
        deepest = sorted(groups.items(), key=lambda item: -len(item[0]))  # stable: see `chains`
        return [*deepest, ((), outputs)]

    def _selection(self, space: Space, roots: Mapping[Name, int]) -> Selection:
        """The terms of all places in use."""
        build = _Build(space)
        return self._used(build.terms, {name: build.term(place) for name, place in roots.items()})

    def _used(self, terms: Terms, chosen: Mapping[Name, int]) -> Selection:
        """What the outputs need, through recurrences, and its cost."""
        outputs = tuple(t for name, t in chosen.items() if isinstance(name, int))
        live: dict[tuple[int, int], int] = {}
        reached: set[int] = set()
        pending = list(outputs)
        while pending:
            fresh = [n for n in terms.reachable(pending) if n not in reached]
            reached.update(fresh)
            enodes = (terms.items[n].enode for n in fresh)
            recs = {int(e.fields[0]) for e in enodes if e.op == "rec"}
            more = {
                name: t
                for name, t in chosen.items()
                if isinstance(name, tuple) and name[0] in recs and name not in live
            }
            live.update(more)
            pending = list(more.values())
        items = [terms.items[n] for n in sorted(reached)]
        cost = Cost()
        for item in items:
            cost = cost + self._pricing.cost(item.cls, item.enode)
        price = sum(self._pricing.price(item.cls, item.enode) for item in items)
        return Selection(terms, outputs, dict(sorted(live.items())), price, cost)


class _Build:
    """Terms from choices; a place takes a term that another one has built if it may."""

    def __init__(self, space: Space) -> None:
        self.terms, self._space = Terms(), space
        self._built: dict[int, int] = {}  # place -> term
        self._known: dict[int, list[int]] = {}  # class -> terms
        self._made: list[Candidate] = []  # of each term
        self._kept: dict[Context, set[tuple[int, Limit]]] = {}

    def term(self, root: int) -> int:
        space, built = self._space, self._built
        stack = [root]
        while stack:
            place = stack[-1]
            context, cls, limit = space.where[place]
            if place not in built:
                fitting = (t for t in self._known.get(cls, ()) if self._fits(t, context, limit))
                known = next(fitting, None)
                if known is not None:
                    built[place] = known
            if place in built:
                stack.pop()
                continue
            option = space.best[place]
            pending = [kid for kid in space.kids[option] if kid not in built]
            stack.extend(pending)
            if not pending:
                built[place] = self._add(space.chosen[option], space.kids[option])
        return built[root]

    def _add(self, made: Candidate, kids: tuple[int, ...]) -> int:
        number = self.terms.add(made.enode, made.cls, tuple([self._built[kid] for kid in kids]))
        if number == len(self._made):
            self._made.append(made)
            self._known.setdefault(made.cls, []).append(number)
        return number

    def _fits(self, number: int, context: Context, limit: Limit) -> bool:
        """Whether a term keeps a limit."""
        kept = self._kept.setdefault(context, set())
        seen = {(number, limit)} - kept
        stack = list(seen)
        while stack:
            term, outer = stack.pop()
            inner = within(self._made[term], context, outer)
            if inner is None:
                return False
            for kid in self.terms.items[term].kids:
                if (kid, inner) not in seen and (kid, inner) not in kept:
                    seen.add((kid, inner))
                    stack.append((kid, inner))
        kept |= seen
        return True

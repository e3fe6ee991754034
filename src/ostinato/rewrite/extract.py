"""Choosing one term per class: cheapest first, legal for the definition it serves.

Definitions are grouped by the chain that carries them; the innermost loops choose first, then those
that read them, outputs last. What an earlier group computes is there for the later ones: its terms
cost them nothing but the reading of a history.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ostinato.rewrite.components import Chain
from ostinato.rewrite.cost import Cost, Pricing
from ostinato.rewrite.export import EGraph, ENode
from ostinato.rewrite.improve import STEPS, Choices, LocalSearch
from ostinato.rewrite.lang import SIGNATURE
from ostinato.rewrite.legality import Context, Limit
from ostinato.rewrite.load import Loaded

Name = tuple[int, int] | int  # a recurrence id and one of its cases, or the number of an output
Place = tuple[int, Limit]
KNOWN_NS = 1e-3  # using what exists costs no more than a view
MOVING = frozenset(("at", "sl", "scan", "back", "lin", "look"))


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
        seen: set[int] = set()
        stack = list(roots)
        while stack:
            number = stack.pop()
            if number not in seen:
                seen.add(number)
                stack.extend(self.items[number].kids)
        return sorted(seen)


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
    is_plain: bool = False  # recurrences stay point by point, for lack of an order otherwise


class NoTerm(Exception):
    """A class has no legal term: a definition reads ahead of every loop that could compute it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An e-node that may be chosen, its price, and the dimensions its operands depend on."""

    enode: ENode
    price: float
    operands: int
    moves: bool  # whether it reads its operands at other points


class Extractor:
    """Extraction from one e-graph; `select` may be asked for several forms of the recurrences."""

    def __init__(self, graph: EGraph, loaded: Loaded, pricing: Pricing, steps: int = STEPS) -> None:
        self._graph, self._loaded, self._pricing, self._steps = graph, loaded, pricing, steps
        masks = loaded.tables.masks()
        self._candidates: dict[int, list[Candidate]] = {}
        for cls, nodes in graph.classes.items():
            whole = graph.dom[cls]
            kept = (n for n in nodes if not dependence(n, graph.dom, masks) & ~whole)
            self._candidates[cls] = [
                Candidate(n, pricing.price(cls, n), below(n, graph.dom), n.op in MOVING)
                for n in kept
            ]

    def select(self, forms: frozenset[int]) -> Selection:
        """The cheapest program found in which exactly the recurrences ``forms`` (ids) exist."""
        searched = self._select(forms, self._steps)
        if not searched.switches:
            return searched
        tree = self._select(forms, None)  # a group that gains may cost the later ones more
        if searched.price < tree.price:
            return searched
        return replace(tree, is_searched=searched.is_searched)

    def _select(self, forms: frozenset[int], steps: int | None) -> Selection:
        terms, known = Terms(), dict[int, int]()
        groups: dict[Chain, list[tuple[Name, int]]] = {}
        form = {self._loaded.tables.recs[rec].name: rec for rec in forms}
        for (name, case), chain in self._loaded.chains.items():
            if name in form:
                vertex = (form[name], case)
                groups.setdefault(chain, []).append((vertex, self._graph.definitions[vertex]))
        ids, classes = self._loaded.ids, self._graph.node_class
        results: list[tuple[Name, int]] = [
            (k, classes[ids[n]]) for k, (_, n) in enumerate(self._loaded.pdg.outputs)
        ]
        chosen: dict[Name, int] = {}
        switches, visited, is_searched = 0, 0, True
        deepest = sorted(groups.items(), key=lambda item: -len(item[0]))  # stable: see `chains`
        last: tuple[Chain, list[tuple[Name, int]]] = ((), results)
        for chain, roots in (*deepest, last):
            context = Context(chain, self._loaded.tables)
            search = _Search(self._graph, self._candidates, context, forms, terms, known)
            found = search.run([cls for _, cls in roots], steps)
            switches, visited = switches + search.switches, visited + search.steps
            is_searched &= search.is_complete
            chosen.update({name: term for (name, _), term in zip(roots, found, strict=True)})
            for number in terms.reachable(found):
                known.setdefault(terms.items[number].cls, number)
        used = self._used(terms, chosen)
        return replace(used, switches=switches, steps=visited, is_searched=is_searched)

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


def below(node: ENode, dom: Mapping[int, int]) -> int:
    """The dimensions the operands of an e-node depend on."""
    out = 0
    for kid in node.kids:
        out |= dom[kid]
    return out


def dependence(node: ENode, dom: Mapping[int, int], masks: Sequence[int]) -> int:
    """The dimensions an e-node depends on, given those of its operands."""
    out, bound = 0, 0
    for letter, cell in zip(SIGNATURE[node.op], node.fields, strict=True):
        if letter == "A":
            out |= masks[int(cell)]
        elif letter == "D":
            bound = int(cell)
    if node.op in ("at", "sl"):
        return out | below(node, dom) & ~bound
    return out | below(node, dom) | bound


class _Search:
    """The cheapest term of every class within a limit that the roots ask for (Knuth 1977).

    A *place* is a class within a limit; an *option* is a candidate for a place, with the places of
    its operands. A term that an inner definition has chosen is an option too.
    """

    def __init__(
        self,
        graph: EGraph,
        candidates: Mapping[int, list[Candidate]],
        context: Context,
        forms: frozenset[int],
        terms: Terms,
        known: Mapping[int, int],
    ) -> None:
        self._graph, self._candidates, self._context = graph, candidates, context
        self._forms, self._terms, self._known = forms, terms, known
        self._assessed: dict[tuple[int, Limit], bool] = {}
        self._places: dict[Place, int] = {}
        self._pending: list[Place] = []
        self._owner: list[int] = []  # option -> place
        self._price: list[float] = []
        self._kids: list[tuple[int, ...]] = []
        self._chosen: list[ENode | int] = []  # an e-node, or the number of a term
        self._best: dict[int, int] = {}  # place -> option
        self._built: dict[int, int] = {}
        self.switches, self.steps, self.is_complete = 0, 0, True

    def run(self, roots: Sequence[int], steps: int | None) -> list[int]:
        """The terms of root classes, improved by a search of so many steps unless None."""
        places = [self._place(cls, self._context.root) for cls in roots]
        while self._pending:
            self._expand(*self._pending.pop())
        self._settle()
        if steps is not None and all(place in self._best for place in places):
            self._improve(places, steps)
        classes = {number: cls for (cls, _), number in self._places.items()}
        return [self._build(place, classes) for place in places]

    def _place(self, cls: int, limit: Limit) -> int:
        key = (cls, limit)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = len(self._places)
            self._pending.append(key)
        return found

    def _add(self, owner: int, price: float, kids: tuple[int, ...], chosen: ENode | int) -> None:
        self._owner.append(owner)
        self._price.append(price)
        self._kids.append(kids)
        self._chosen.append(chosen)

    def _expand(self, cls: int, limit: Limit) -> None:
        owner = self._places[cls, limit]
        known = self._known.get(cls)
        if known is not None and self._fits(known, limit):
            self._add(owner, KNOWN_NS, (), known)
        for candidate in self._candidates[cls]:
            enode = candidate.enode
            if enode.op == "rec":
                rec = int(enode.fields[0])
                if rec in self._forms and self._context.level(rec) <= limit.level:
                    self._add(owner, candidate.price, (), enode)
                continue
            inner = limit
            if candidate.moves:
                moves = self._context.moves(enode.op, enode.fields, candidate.operands)
                inner = self._context.below(limit, moves)
            kids = tuple([self._place(kid, inner) for kid in enode.kids])
            self._add(owner, candidate.price, kids, enode)

    def _fits(self, number: int, limit: Limit) -> bool:
        """Whether an existing term keeps a limit of this context."""
        key = (number, limit)
        found = self._assessed.get(key)
        if found is None:
            term = self._terms.items[number]
            enode = term.enode
            if enode.op == "rec":
                found = self._context.level(int(enode.fields[0])) <= limit.level
            else:
                operands = below(enode, self._graph.dom)
                inner = self._context.below(
                    limit, self._context.moves(enode.op, enode.fields, operands)
                )
                found = all(self._fits(kid, inner) for kid in term.kids)
            self._assessed[key] = found
        return found

    def _settle(self) -> None:
        """Choose options in the order of their price, so that each place is settled once."""
        owner, kids = self._owner, self._kids
        total = list(self._price)
        missing = [len(set(k)) for k in kids]
        readers: list[list[int]] = [[] for _ in self._places]
        for option, places in enumerate(kids):
            for place in set(places):
                readers[place].append(option)
        heap = [(total[option], option) for option, n in enumerate(missing) if not n]
        heapq.heapify(heap)
        while heap:
            price, option = heapq.heappop(heap)
            place = owner[option]
            if place in self._best:
                continue
            self._best[place] = option
            for reader in readers[place]:
                missing[reader] -= 1
                total[reader] += price
                if not missing[reader] and owner[reader] not in self._best:
                    heapq.heappush(heap, (total[reader], reader))

    def _improve(self, roots: Sequence[int], steps: int) -> None:
        """Let places share: see `ostinato.rewrite.improve`."""
        options: dict[int, list[int]] = {}
        for option, place in enumerate(self._owner):
            options.setdefault(place, []).append(option)
        search = LocalSearch(Choices(options, self._kids, self._price), self._best, steps)
        search.run(roots)
        self.switches, self.is_complete = search.switches, search.is_complete
        self.steps = steps - search.steps

    def _build(self, root: int, classes: Mapping[int, int]) -> int:
        stack = [root]
        while stack:
            place = stack[-1]
            if place in self._built:
                stack.pop()
                continue
            option = self._best.get(place)
            if option is None:
                raise NoTerm(self._context.refusal())
            pending = [kid for kid in self._kids[option] if kid not in self._built]
            if pending:
                stack.extend(pending)
                continue
            chosen = self._chosen[option]
            if isinstance(chosen, int):
                self._built[place] = chosen
            else:
                kids = tuple(self._built[kid] for kid in self._kids[option])
                self._built[place] = self._terms.add(chosen, classes[place], kids)
            stack.pop()
        return self._built[root]

"""Choosing one term per class: cheapest first, legal for the definition it serves.

Definitions are grouped by the chain that carries them and chosen innermost first. What an inner
definition computes is there for the outer ones: its terms cost them nothing but the traffic of
reading a history.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.rewrite._egglog import Cell
from ostinato.rewrite.components import Chain
from ostinato.rewrite.cost import Cost, Pricing
from ostinato.rewrite.export import EGraph, ENode
from ostinato.rewrite.lang import SIGNATURE
from ostinato.rewrite.legality import Context, Limit
from ostinato.rewrite.load import Loaded

Pair = tuple[int, Limit]
Key = tuple[str, tuple[Cell, ...], int]


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


class NoTerm(Exception):
    """A class has no legal term; saturation or the legality model is wrong."""


@dataclass(frozen=True, slots=True)
class _Option:
    """One way to make a class within a limit: an e-node over pairs, or a term that exists."""

    price: float
    enode: ENode | None
    kids: tuple[Pair, ...]
    term: int = -1


class Extractor:
    """Extraction from one e-graph; `select` may be asked for several forms of the recurrences."""

    def __init__(self, graph: EGraph, loaded: Loaded, pricing: Pricing) -> None:
        self._graph, self._loaded, self._pricing = graph, loaded, pricing
        masks = loaded.tables.masks()
        self._options: dict[int, list[tuple[ENode, float]]] = {}
        for cls, nodes in graph.classes.items():
            whole = graph.dom[cls]
            kept = (n for n in nodes if not dependence(n, graph.dom, masks) & ~whole)
            self._options[cls] = [(n, pricing.price(cls, n)) for n in kept]

    def select(self, forms: frozenset[int]) -> Selection:
        """The program in which exactly the recurrences ``forms`` (ids) exist."""
        terms, known = Terms(), dict[int, int]()
        groups: dict[Chain, list[tuple[tuple[int, int] | int, int]]] = {}
        for (rec, case), cls in sorted(self._graph.definitions.items()):
            if rec in forms:
                chain = self._loaded.chains[self._loaded.tables.recs[rec].name]
                groups.setdefault(chain, []).append(((rec, case), cls))
        ids, classes = self._loaded.ids, self._graph.node_class
        for k, (_, node) in enumerate(self._loaded.pdg.outputs):
            groups.setdefault((), []).append((k, classes[ids[node]]))
        chosen: dict[tuple[int, int] | int, int] = {}
        for chain, roots in sorted(groups.items(), key=lambda item: -len(item[0])):
            context = Context(chain, self._loaded.tables)
            found = _Search(self._graph, self._options, context, forms, terms, known).run(
                [cls for _, cls in roots]
            )
            chosen.update({name: term for (name, _), term in zip(roots, found, strict=True)})
            for number in terms.reachable(found):
                known.setdefault(terms.items[number].cls, number)
        return self._used(terms, chosen)

    def _used(self, terms: Terms, chosen: Mapping[tuple[int, int] | int, int]) -> Selection:
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


def dependence(node: ENode, dom: Mapping[int, int], masks: Sequence[int]) -> int:
    """The dimensions an e-node depends on, given those of its operands."""
    out, bound = 0, 0
    for letter, cell in zip(SIGNATURE[node.op], node.fields, strict=True):
        if letter == "A":
            out |= masks[int(cell)]
        elif letter == "D":
            bound = int(cell)
    below = 0
    for kid in node.kids:
        below |= dom[kid]
    if node.op in ("at", "sl"):
        return out | below & ~bound
    return out | below | bound


class _Search:
    """The cheapest term of every (class, limit) that the roots can ask for (Knuth 1977)."""

    def __init__(
        self,
        graph: EGraph,
        options: Mapping[int, list[tuple[ENode, float]]],
        context: Context,
        forms: frozenset[int],
        terms: Terms,
        known: Mapping[int, int],
    ) -> None:
        self._graph, self._all, self._context = graph, options, context
        self._forms, self._terms, self._known = forms, terms, known
        self._assessed: dict[tuple[int, Limit], bool] = {}
        self._options: list[tuple[Pair, _Option]] = []
        self._best: dict[Pair, _Option] = {}
        self._built: dict[Pair, int] = {}

    def run(self, roots: Sequence[int]) -> list[int]:
        pairs = [(cls, self._context.root) for cls in roots]
        self._expand(pairs)
        self._settle()
        return [self._build(pair) for pair in pairs]

    def _expand(self, roots: list[Pair]) -> None:
        seen = set(roots)
        stack = list(roots)
        while stack:
            pair = stack.pop()
            for option in self._options_of(pair):
                self._options.append((pair, option))
                for kid in option.kids:
                    if kid not in seen:
                        seen.add(kid)
                        stack.append(kid)

    def _options_of(self, pair: Pair) -> list[_Option]:
        cls, limit = pair
        out: list[_Option] = []
        known = self._known.get(cls)
        if known is not None and self._fits(known, limit):
            out.append(_Option(1e-3, None, (), known))
        context, dom = self._context, self._graph.dom
        for enode, price in self._all[cls]:
            if enode.op == "rec":
                rec = int(enode.fields[0])
                if rec in self._forms and context.level(rec) <= limit.level:
                    out.append(_Option(price, enode, ()))
                continue
            below = limit
            if enode.kids:
                operands = 0
                for kid in enode.kids:
                    operands |= dom[kid]
                moves = context.moves(enode.op, enode.fields, operands)
                below = context.below(limit, moves)
            out.append(_Option(price, enode, tuple((kid, below) for kid in enode.kids)))
        return out

    def _fits(self, number: int, limit: Limit) -> bool:
        """Whether an existing term keeps a limit of this context."""
        key = (number, limit)
        found = self._assessed.get(key)
        if found is None:
            term = self._terms.items[number]
            if term.enode.op == "rec":
                found = self._context.level(int(term.enode.fields[0])) <= limit.level
            else:
                operands = 0
                for kid in term.enode.kids:
                    operands |= self._graph.dom[kid]
                moves = self._context.moves(term.enode.op, term.enode.fields, operands)
                below = self._context.below(limit, moves)
                found = all(self._fits(kid, below) for kid in term.kids)
            self._assessed[key] = found
        return found

    def _settle(self) -> None:
        waiting: dict[Pair, list[int]] = {}
        missing: list[int] = []
        total: list[float] = []
        heap: list[tuple[float, int]] = []
        for k, (_, option) in enumerate(self._options):
            kids = dict.fromkeys(option.kids)
            missing.append(len(kids))
            total.append(option.price)
            for kid in kids:
                waiting.setdefault(kid, []).append(k)
            if not kids:
                heap.append((option.price, k))
        heapq.heapify(heap)
        while heap:
            price, k = heapq.heappop(heap)
            pair, option = self._options[k]
            if pair in self._best:
                continue
            self._best[pair] = option
            for reader in waiting.get(pair, ()):
                missing[reader] -= 1
                total[reader] += price
                if not missing[reader] and self._options[reader][0] not in self._best:
                    heapq.heappush(heap, (total[reader], reader))

    def _build(self, root: Pair) -> int:
        stack = [root]
        while stack:
            pair = stack[-1]
            if pair in self._built:
                stack.pop()
                continue
            option = self._best.get(pair)
            if option is None:
                raise NoTerm(f"class {pair[0]} has no term within {pair[1]}")
            pending = [kid for kid in option.kids if kid not in self._built]
            if pending:
                stack.extend(pending)
                continue
            if option.enode is None:
                self._built[pair] = option.term
            else:
                kids = tuple(self._built[kid] for kid in option.kids)
                self._built[pair] = self._terms.add(option.enode, pair[0], kids)
            stack.pop()
        return self._built[root]

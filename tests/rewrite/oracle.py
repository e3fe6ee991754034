"""The exact extraction of small programs, as an integer program: the judge of the extractor.

Every definition and output asks for its class within a limit
(`ostinato.rewrite.extract.legal_terms`). For each such *place* one option must be chosen if the
place is used; an e-node is paid once, however many places and definitions choose it. That is never
more than what a selection costs, so the optimum of the integer program bounds every legal selection
from below. Chosen options must not form a circle: within a strongly connected set of places,
operands come later in an order.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ostinato.pdg.node import Pdg
from ostinato.rewrite.engine.egglog_session import Session
from ostinato.rewrite.engine.language import program
from ostinato.rewrite.engine.saturate import saturate
from ostinato.rewrite.extract.choose import Extractor, Selection
from ostinato.rewrite.extract.export import EXPORTED, EGraph, ENode, export
from ostinato.rewrite.extract.legal_terms import Context, Limit
from ostinato.rewrite.extract.pricing import Pricing
from ostinato.rewrite.extract.sizes import Sizes
from ostinato.rewrite.extract.space import MOVING, below, dependence
from ostinato.rewrite.load.components import Chain
from ostinato.rewrite.load.program_rows import load
from ostinato.rewrite.load.tables import Loaded
from ostinato.rewrite.optimize import RewriteOptions, forms_of
from tests.rewrite.solver import Program, Vector, components

Priced = tuple[int, ENode]  # an e-node and its class
FREE_NS = 0.1  # more than any view costs, less than any work


@dataclass(frozen=True)
class Problem:
    """A saturated program whose terms are to be chosen."""

    graph: EGraph
    loaded: Loaded
    pricing: Pricing
    sizes: Sizes

    def selection(self, forms: frozenset[int]) -> Selection:
        """What the extractor under test chooses."""
        return Extractor(self.graph, self.loaded, self.pricing).select(forms)

    def forms(self) -> tuple[frozenset[int], ...]:
        """The sets of recurrences that the optimiser compares."""
        return forms_of(self.graph, self.loaded, self.sizes)


def problem(pdg: Pdg, options: RewriteOptions) -> Problem:
    """Load and saturate a program."""
    loaded = load(pdg)
    with Session(program(options.rules.rules)) as engine:
        engine.insert(loaded.rows)
        saturate(engine, options.budget, {})
        graph = export(engine.tables(EXPORTED), loaded)
    sizes = Sizes(graph, loaded, options.hints)
    return Problem(graph, loaded, Pricing(graph, sizes, options.profile), sizes)


@dataclass
class Space:
    """All places and options: option ``k`` serves ``owner[k]`` and needs the places ``kids[k]``."""

    owner: list[int] = field(default_factory=list[int])
    kids: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    chosen: list[Priced] = field(default_factory=list[Priced])
    outputs: list[int] = field(default_factory=list[int])
    definitions: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    places: dict[tuple[Chain, int, Limit], int] = field(
        default_factory=dict[tuple[Chain, int, Limit], int]
    )

    def possible(self) -> set[int]:
        """Options that are the root of at least one finite term."""
        found: set[int] = set()
        settled: set[int] = set()
        while True:
            fresh = {
                k for k, kids in enumerate(self.kids) if k not in found and settled.issuperset(kids)
            }
            if not fresh:
                return found
            found |= fresh
            settled.update(self.owner[k] for k in fresh)


def space(given: Problem, forms: frozenset[int]) -> Space:
    """Everything the definitions of some recurrences and the outputs may be made of."""
    graph, loaded = given.graph, given.loaded
    found = Space()
    contexts: dict[Chain, Context] = {(): Context((), loaded.tables)}
    pending: list[tuple[Chain, int, Limit]] = []

    def place(chain: Chain, cls: int, limit: Limit) -> int:
        key = (chain, cls, limit)
        if key not in found.places:
            found.places[key] = len(found.places)
            pending.append(key)
        return found.places[key]

    for _, node in loaded.pdg.outputs:
        root = contexts[()].root
        found.outputs.append(place((), graph.node_class[loaded.ids[node]], root))
    form = {loaded.tables.recs[rec].name: rec for rec in forms}
    for (name, case), chain in loaded.chains.items():
        context = contexts.setdefault(chain, Context(chain, loaded.tables))
        if name in form:
            vertex = (form[name], case)
            found.definitions[vertex] = place(chain, graph.definitions[vertex], context.root)
    masks = loaded.tables.masks()
    while pending:
        chain, cls, limit = pending.pop()
        for enode in graph.classes[cls]:
            if dependence(enode, below(enode, graph.dom), masks) & ~graph.dom[cls]:
                continue
            inner = _below(contexts[chain], enode, limit, graph, forms)
            if inner is None:
                continue
            found.owner.append(found.places[chain, cls, limit])
            found.kids.append(tuple(place(chain, kid, inner) for kid in enode.kids))
            found.chosen.append((cls, enode))
    return found


def _below(
    context: Context, enode: ENode, limit: Limit, graph: EGraph, forms: frozenset[int]
) -> Limit | None:
    """The limit of operands, or None where an e-node breaks the limit."""
    if enode.op == "rec":
        rec = int(enode.fields[0])
        return limit if rec in forms and context.level(rec) <= limit.level else None
    if enode.op not in MOVING:
        return limit
    moves = context.moves(enode.op, enode.fields, below(enode, graph.dom))
    return context.below(limit, moves)


def merged(full: Space, price: Mapping[Priced, float]) -> Space:
    """Places that free views lead around between are one place: each is had from any other."""
    possible = full.possible()
    free = [k for k in possible if len(full.kids[k]) == 1 and price[full.chosen[k]] <= FREE_NS]
    home = components(len(full.places), [(full.owner[k], full.kids[k][0]) for k in free])
    found = Space(places={key: int(home[place]) for key, place in full.places.items()})
    for k in sorted(possible):
        owner, kids = int(home[full.owner[k]]), {int(home[kid]) for kid in full.kids[k]}
        if owner not in kids:
            found.owner.append(owner)
            found.kids.append(tuple(sorted(kids)))
            found.chosen.append(full.chosen[k])
    found.outputs = [int(home[place]) for place in full.outputs]
    found.definitions = {v: int(home[place]) for v, place in full.definitions.items()}
    return found


def landmarks(options: Space) -> tuple[list[int], list[int]]:
    """Places, and classes, without which no selection gives the outputs.

    A place needs itself and what all of its options need. A relaxed program knows without them
    that many ways lead around each single place, and takes a little of each.
    """
    places, of = len(options.places), dict[int, list[int]]()
    for k, owner in enumerate(options.owner):
        of.setdefault(owner, []).append(k)
    readers: dict[int, set[int]] = {}
    for k, kids in enumerate(options.kids):
        for kid in kids:
            readers.setdefault(kid, set()).add(options.owner[k])
    most = (1 << places + 1 + max(c for c, _ in options.chosen)) - 1
    need = dict.fromkeys(of, most)
    pending = set(of)
    while pending:
        place = pending.pop()
        found = most
        for k in of[place]:
            below = 1 << places + options.chosen[k][0]
            for kid in options.kids[k]:
                below |= need[kid]
            found &= below
        found |= 1 << place
        if found != need[place]:
            need[place] = found
            pending |= readers.get(place, set())
    total, roots = 0, set(options.outputs)
    recs = {c: int(e.fields[0]) for c, e in options.chosen if e.op == "rec"}
    while roots:
        for root in roots:
            total |= need[root]
        used = {rec for c, rec in recs.items() if total >> places + c & 1}
        roots = {p for (rec, _), p in options.definitions.items() if rec in used}
        roots = {p for p in roots if not total >> p & 1}
    classes = {c for c, _ in options.chosen if total >> places + c & 1}
    return [p for p in of if total >> p & 1], sorted(classes)


@dataclass(frozen=True)
class Bound:
    """What the solver knows: no selection costs less than ``least``; one costs ``found``.

    ``found`` is infinite if the time was up first.
    """

    least: float
    found: float
    variables: int


class _Extraction:
    """The integer program of a space; ``take[k]`` is the variable of option ``k``."""

    def __init__(self, options: Space, price: Mapping[Priced, float]) -> None:
        self.options, self.model = options, Program()
        model = self.model
        self.take = [model.variable() for _ in options.owner]
        self.of: dict[int, list[int]] = {}
        for k, owner in enumerate(options.owner):
            self.of.setdefault(owner, []).append(k)
        paid = {c: model.variable(price[c]) for c in dict.fromkeys(options.chosen)}
        for k, take in enumerate(self.take):
            model.at_least(0.0, (paid[options.chosen[k]], 1.0), (take, -1.0))
        for mine in self.of.values():
            model.at_least(-1.0, *((self.take[k], -1.0) for k in mine))
            for kid in {kid for k in mine for kid in options.kids[k]}:
                users = [(self.take[k], -1.0) for k in mine if kid in options.kids[k]]
                model.at_least(0.0, *self._any(self.of[kid]), *users)
        for root in options.outputs:
            model.at_least(1.0, *self._any(self.of[root]))
        places, classes = landmarks(options)
        for place in places:
            model.at_least(1.0, *self._any(self.of[place]))
        for cls in classes:
            model.at_least(1.0, *((v, 1.0) for (c, _), v in paid.items() if c == cls))
        for (rec, _), root in options.definitions.items():
            for v in [v for (_, e), v in paid.items() if e.op == "rec" and e.fields[0] == rec]:
                model.at_least(0.0, *self._any(self.of.get(root, ())), (v, -1.0))

    def _any(self, options: Iterable[int]) -> list[tuple[int, float]]:
        return [(self.take[k], 1.0) for k in options]

    def cut(self, values: Vector) -> int:
        """Refuse circles in a solution: places that need each other need one from outside.

        Source: Lin and Zhao 2004, ASSAT: computing answer sets of a logic program by SAT solvers.
        """
        options, count = self.options, 0
        for least in (0.9, 0.5, 0.1, 1e-3):
            taken = [k for k, v in enumerate(self.take) if values[v] > least]
            edges = [(options.owner[k], kid) for k in taken for kid in options.kids[k]]
            home = components(max(self.of) + 1, edges)
            for group in _groups(home, {p for e in edges for p in e}):
                count += self._found_outside(group, values)
        return count

    def _found_outside(self, group: set[int], values: Vector) -> int:
        mine = [k for p in group for k in self.of[p]]
        outer = {k for k in mine if group.isdisjoint(self.options.kids[k])}
        supply = sum(values[self.take[k]] for k in outer)
        count = 0
        for place in group:
            inner = [k for k in self.of[place] if k not in outer]
            others = [k for k in outer if self.options.owner[k] != place]
            own = supply - sum(values[self.take[k]] for k in outer if k not in others)
            if sum(values[self.take[k]] for k in inner) > own + 1e-6:
                takes = [(self.take[k], -1.0) for k in inner]
                self.model.at_least(0.0, *self._any(others), *takes)
                count += 1
        return count


def optimum(
    given: Problem, forms: frozenset[int], seconds: float, enough: float = math.inf
) -> Bound:
    """Solve the extraction of one form exactly, or until ``least`` is enough or the time is up."""
    full = space(given, forms)
    price = {c: given.pricing.price(*c) for c in dict.fromkeys(full.chosen)}
    return solve(merged(full, price), price, seconds, enough)


def solve(
    options: Space, price: Mapping[Priced, float], seconds: float, enough: float = math.inf
) -> Bound:
    """The cheapest choice of options without a circle."""
    problem = _Extraction(options, price)
    model, best = problem.model, 0.0
    end = time.monotonic() + seconds
    for whole in ([], problem.take):  # circles of the relaxed program first: it is fast
        while best < enough and (left := end - time.monotonic()) > 0:
            least, values = model.solve(whole, left)
            best = max(best, least)
            if values is None:
                break
            if not problem.cut(values):
                if whole:
                    return Bound(best, float(values @ np.array(model.price)), len(model.price))
                break
    return Bound(best, math.inf, len(model.price))


def _groups(home: Vector, places: Iterable[int]) -> list[set[int]]:
    """Strongly connected sets of more than one place."""
    found: dict[int, set[int]] = {}
    for place in sorted(places):
        found.setdefault(int(home[place]), set()).add(place)
    return [group for group in found.values() if len(group) > 1]

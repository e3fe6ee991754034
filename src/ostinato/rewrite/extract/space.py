"""What terms may be chosen from: places, their options, and what each option needs.

A *place* is a class within a limit of one nest of loops (`ostinato.rewrite.extract.legal_terms`).
An *option* is an e-node that may serve a place, with the places of its operands. An e-node is paid
once, however many places choose it.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.pdg.scc import closed
from ostinato.rewrite.extract.export import EGraph, ENode
from ostinato.rewrite.extract.legal_terms import Context, Limit
from ostinato.rewrite.extract.pricing import VIEW_NS, Pricing
from ostinato.rewrite.terms.signature import SIGNATURE

MOVING = frozenset(op for op, letters in SIGNATURE.items() if "D" in letters) | {"look"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An e-node that may be chosen, its price, and the dimensions its operands depend on."""

    number: int
    cls: int
    enode: ENode
    price: float
    operands: int
    moves: bool  # whether it reads its operands at other points


def candidates(
    graph: EGraph, pricing: Pricing, masks: Sequence[int]
) -> dict[int, tuple[Candidate, ...]]:
    """The e-nodes of every class that depend on no more than the class does."""
    found: dict[int, tuple[Candidate, ...]] = {}
    count = 0
    for cls, nodes in graph.classes.items():
        mine: list[Candidate] = []
        for node in nodes:
            operands = below(node, graph.dom)
            if not dependence(node, operands, masks) & ~graph.dom[cls]:
                price = pricing.price(cls, node)
                mine.append(Candidate(count, cls, node, price, operands, node.op in MOVING))
                count += 1
        found[cls] = tuple(mine)
    return found


def below(node: ENode, dom: Mapping[int, int]) -> int:
    """The dimensions the operands of an e-node depend on."""
    out = 0
    for kid in node.kids:
        out |= dom[kid]
    return out


def dependence(node: ENode, operands: int, masks: Sequence[int]) -> int:
    """The dimensions an e-node depends on, given those of its operands."""
    out, bound = 0, 0
    for letter, cell in zip(SIGNATURE[node.op], node.fields, strict=True):
        if letter == "A":
            out |= masks[int(cell)]
        elif letter == "D":
            bound = int(cell)
    if node.op in ("at", "sl"):
        return out | operands & ~bound
    return out | operands | bound


def within(candidate: Candidate, context: Context, limit: Limit) -> Limit | None:
    """The limit of the operands of an e-node that keeps a limit; None if it breaks it."""
    enode = candidate.enode
    if candidate.moves:
        moves = context.moves(enode.op, enode.fields, candidate.operands)
        return context.below(limit, moves)
    if enode.op == "rec" and context.level(int(enode.fields[0])) > limit.level:
        return None
    return limit


@dataclass
class Space:
    """Places and options by number; ``options`` of each place, and of each option the rest.

    ``best`` is the option that a place has chosen, or -1.
    """

    forms: frozenset[int]  # the recurrences that exist, by id
    candidates: Mapping[int, tuple[Candidate, ...]]
    options: list[list[int]] = field(default_factory=list[list[int]])
    kids: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    chosen: list[Candidate] = field(default_factory=list[Candidate])
    best: list[int] = field(default_factory=list[int])
    where: list[tuple[Context, int, Limit]] = field(
        default_factory=list[tuple[Context, int, Limit]]
    )
    shares: bool = False  # the tree program pays for the dearest operand, as if that had the others

    def grow(
        self, context: Context, classes: Sequence[int], limit: Limit | None = None
    ) -> list[int]:
        """Add the places of some classes in a nest of loops, and all they may need."""
        known: dict[tuple[int, Limit], int] = {}
        pending: list[tuple[int, Limit]] = []

        def place(cls: int, limit: Limit) -> int:
            key = (cls, limit)
            found = known.get(key)
            if found is None:
                found = known[key] = len(self.options)
                self.options.append([])
                self.best.append(-1)
                self.where.append((context, cls, limit))
                pending.append(key)
            return found

        roots = [place(cls, limit or context.root) for cls in classes]
        while pending:
            cls, limit = pending.pop()
            mine = self.options[known[cls, limit]]
            for candidate in self.candidates[cls]:
                enode, inner = candidate.enode, within(candidate, context, limit)
                if inner is None or enode.op == "rec" and int(enode.fields[0]) not in self.forms:
                    continue
                mine.append(len(self.kids))
                self.kids.append(tuple([place(kid, inner) for kid in enode.kids]))
                self.chosen.append(candidate)
        return roots

    def keep(
        self, context: Context, written: Mapping[int, Candidate], kids: Mapping[int, Sequence[int]],
        roots: Sequence[int],
    ) -> list[int]:  # fmt: skip
        """Add the places of definitions that stay as they are written, ids of loaded nodes.

        What contains no recurrence of the nest is chosen as usual.
        """
        free, order = _without(context, written, kids, roots)
        outside = self.grow(context, [written[n].cls for n in free], context.outside)
        places = dict(zip(free, outside, strict=True))
        for number in order:
            places[number] = len(self.options)
            self.options.append([len(self.kids)])
            self.best.append(-1)
            self.where.append((context, written[number].cls, context.outside))
            self.kids.append(tuple([places[kid] for kid in kids[number]]))
            self.chosen.append(written[number])
        return [places[root] for root in roots]

    def settle(self, first: int, paid: set[int]) -> None:
        """Choose for the places from ``first`` on, and forget their options without a term."""
        options = {place: self.options[place] for place in range(first, len(self.best))}
        settled = self._cheapest(options, paid)
        for place in options:
            self.best[place] = settled.get(place, -1)
            known = self.options[place]
            self.options[place] = [k for k in known if all(p in settled for p in self.kids[k])]

    def settle_again(self, roots: Sequence[int]) -> None:
        """Choose anew where roots use no place, at the prices that what they use has left."""
        used = self.used(roots)
        paid = {self.chosen[self.best[place]].number for place in used}
        options = {
            place: [self.best[place]] if place in used else mine
            for place, mine in enumerate(self.options)
        }
        for place, option in self._cheapest(options, paid).items():
            self.best[place] = option

    def _cheapest(self, options: Mapping[int, Sequence[int]], paid: set[int]) -> dict[int, int]:
        """The option of every place whose term is cheapest, as if every reader paid (Knuth 1977).

        With ``shares`` the last operand that is settled, which is the dearest, counts alone.

        Options come in the order of their price, so that each place is settled once. What is paid
        costs no more than a view.
        """
        kids, chosen, best = self.kids, self.chosen, dict[int, int]()
        owner, total, missing = dict[int, int](), dict[int, float](), dict[int, int]()
        readers: dict[int, list[int]] = {place: [] for place in options}
        heap: list[tuple[float, int]] = []
        for place, mine in options.items():
            for option in mine:
                made, needs = chosen[option], kids[option]
                is_paid = made.price > VIEW_NS and made.number in paid
                owner[option] = place
                total[option] = VIEW_NS if is_paid else made.price
                distinct = needs if len(needs) < 2 else set(needs)
                missing[option] = len(distinct)
                for kid in distinct:
                    readers[kid].append(option)
                if not needs:
                    heap.append((total[option], option))
        heapq.heapify(heap)
        own = dict(total) if self.shares else total
        while heap:
            price, option = heapq.heappop(heap)
            place = owner[option]
            if place in best:
                continue
            best[place] = option
            for reader in readers[place]:
                missing[reader] -= 1
                total[reader] = price + own[reader]
                if not missing[reader] and owner[reader] not in best:
                    heapq.heappush(heap, (total[reader], reader))
        return best

    def used(self, roots: Sequence[int]) -> set[int]:
        """The places that roots reach through chosen options."""
        return closed(roots, lambda place: self.kids[self.best[place]])


def _without(
    context: Context, written: Mapping[int, Candidate], kids: Mapping[int, Sequence[int]],
    roots: Sequence[int],
) -> tuple[list[int], list[int]]:  # fmt: skip
    """The outermost nodes without a recurrence of a nest, and those above them, operands first."""
    has: dict[int, bool] = {}
    order: list[int] = []
    stack = list(roots)
    while stack:
        number = stack[-1]
        pending = [kid for kid in kids[number] if kid not in has]
        stack.extend(pending)
        if not pending:
            stack.pop()
            if number not in has:
                enode = written[number].enode
                own = enode.op == "rec" and context.level(int(enode.fields[0])) > 0
                has[number] = own or any(has[kid] for kid in kids[number])
                order.append(number)
    inside = [n for n in order if has[n] or n in roots]
    above = {kid for n in inside for kid in kids[n]}
    return [n for n in order if n in above and n not in inside], inside

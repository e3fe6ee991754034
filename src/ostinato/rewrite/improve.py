"""Local search after the tree program: what is shared is paid once.

The dynamic program prices a term as a tree, so an operand with two readers is paid twice and may
lose against two operands with one reader each. Here one place at a time changes its option, with
reference counts, as long as the whole graph gets cheaper. Then come *attempts*: a place takes an
option although that costs more, other places take options that share what it needs, and all of
it stays if the sum is a gain. Options are legal within their place's limit, so every switch is.
The bound is a number of steps and no time: the same program gives the same result on every
machine. Reaching it is reported, never silent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

STEPS = 2_000_000  # places visited in one search; about a second
LEAST_GAIN_NS = 1e-2  # above the prices that only break circles
WORTH = 1e-5  # of the whole price: what is paid for less is not worth an attempt to share it
NEAR = 6  # views between what an attempt pays for and an option that shares it


Taking = tuple[int, int]  # a place and one of its options


@dataclass(frozen=True, slots=True)
class Choices:
    """Everything a search may choose from; options and places are numbers.

    ``options``: of each place, those that have a finite term; ``kids``: the places of an option's
    operands; ``item``: what it pays for, once for all places that choose it; ``price``: of items.
    """

    options: Sequence[Sequence[int]]
    kids: Sequence[tuple[int, ...]]
    item: Sequence[int]
    price: Sequence[float]


@dataclass
class LocalSearch:
    """The chosen option of every place (-1 if there is none), and how often each is used."""

    choices: Choices
    best: list[int]
    steps: int = STEPS
    switches: int = 0
    is_complete: bool = True  # it ended because nothing gets cheaper, not for lack of steps
    _uses: list[int] = field(default_factory=list[int])
    _payers: list[int] = field(default_factory=list[int])  # of each item
    _fresh: list[int] = field(default_factory=list[int])  # items that the last switch began to pay
    _least: float = 0.0  # the price of what is worth sharing
    _costs: dict[int, float] = field(default_factory=dict[int, float])  # since the last switch
    _losses: dict[int, float] = field(default_factory=dict[int, float])  # of options, likewise
    _readers: dict[int, list[Taking]] = field(default_factory=dict[int, list[Taking]])
    _takings: dict[int, list[Taking]] = field(default_factory=dict[int, list[Taking]])  # by item

    def run(self, roots: Sequence[int], together: bool = True) -> bool:
        """Switch until nothing gets cheaper, or the steps are used up; returns whether any did.

        Without ``together`` there are no attempts.
        """
        begin = self.switches
        self._uses = [0] * len(self.best)
        self._payers = [0] * len(self.choices.price)
        self._least = WORTH * self._retain(roots)
        self._costs.clear()
        if not self._readers:
            self._index()
        before = -1
        while self.is_complete and self.switches > before:
            before = self.switches
            self._visit(together)
            together = False  # what the first round left apart hardly comes together later
        return self.switches > begin and self.is_complete

    def _index(self) -> None:
        """The options by what they read and by what they pay for."""
        kids, item = self.choices.kids, self.choices.item
        for place, options in enumerate(self.choices.options):
            for option in options:
                self._takings.setdefault(item[option], []).append((place, option))
                for kid in kids[option]:
                    self._readers.setdefault(kid, []).append((place, option))

    def _visit(self, together: bool) -> None:
        """Try every other option of every place in use."""
        used = [p for p, n in enumerate(self._uses) if n and len(self.choices.options[p]) > 1]
        self._losses = {o: self._loss(p, o) for p in used for o in self.choices.options[p]}
        for place in used:
            if self.steps <= 0:
                self.is_complete = False
                return
            for option in self.choices.options[place]:
                if self._uses[place] and option != self.best[place]:
                    self._try(place, option, together)

    def _try(self, place: int, option: int, together: bool) -> None:
        """Take an option if it is a gain, by itself or with what others gain by sharing."""
        kids, current = self.choices.kids, self.best[place]
        most = self._cost(place)  # of what may be gained: a bound that is cheap
        self._fresh = []
        added = self._pay(option) + self._retain(kids[option])
        self.best[place] = option
        sharing = self._rooms(self._fresh) if together else {}
        most += sum(room for room, _ in sharing.values()) - added
        if most <= LEAST_GAIN_NS or self._is_circle(place):
            self.best[place] = current
            self._withdraw(option)
            self._release(kids[option])
            return
        gain = self._withdraw(current) + self._release(kids[current]) - added
        undo = [(place, current)]
        if gain <= LEAST_GAIN_NS:
            gain = self._follow_all(sharing, gain, undo)
        if gain > LEAST_GAIN_NS:
            self.switches += len(undo)
            self._costs.clear()
            self._losses.clear()
            return
        for changed, before in reversed(undo):
            self._turn(changed, before)

    def _loss(self, place: int, option: int) -> float:
        """What an option of a place in use costs more, at least."""
        kids = self.choices.kids[option]
        added = self._pay(option) + self._retain(kids)
        self._withdraw(option)
        self._release(kids)
        return added - self._cost(place)

    def _cost(self, place: int) -> float:
        """What would not be paid without the chosen option of a place."""
        if place not in self._costs:
            option = self.best[place]
            kids, fresh = self.choices.kids[option], self._fresh
            self._fresh = []
            self._costs[place] = self._withdraw(option) + self._release(kids)
            self._pay(option)
            self._retain(kids)
            self._fresh = fresh
        return self._costs[place]

    def _rooms(self, fresh: Sequence[int]) -> dict[int, tuple[float, list[int]]]:
        """Places that may gain by sharing items, the most that each may, and by which options."""
        shared = sum(self.choices.price[item] for item in fresh)
        found: dict[int, tuple[float, list[int]]] = {}
        for place, option in self._sharing(fresh):
            room = min(self._cost(place), shared - self._losses.get(option, 0.0))
            if room > self._least:
                most, options = found.setdefault(place, (0.0, []))
                options.append(option)
                found[place] = max(most, room), options
        return found

    def _follow_all(
        self, sharing: Mapping[int, tuple[float, list[int]]], gain: float, undo: list[Taking]
    ) -> float:
        """What is gained with the options of all places, as long as enough may be."""
        left = sum(room for room, _ in sharing.values())
        for place, (room, options) in sorted(sharing.items(), key=lambda item: -item[1][0]):
            if gain + left <= LEAST_GAIN_NS:
                break
            left -= room
            gain += sum(self._follow((place, option), undo) for option in options)
        return gain

    def _follow(self, taking: Taking, undo: list[Taking]) -> float:
        """Take one more option if it is a gain now; returns that."""
        place, option = taking
        current = self.best[place]
        if not self._uses[place] or current == option:
            return 0.0
        gain = self._turn(place, option)
        if gain > 0 and not self._is_circle(place):
            undo.append((place, current))
            return gain
        self._turn(place, current)
        return 0.0

    def _sharing(self, fresh: Sequence[int]) -> list[Taking]:
        """Options not taken, of places in use, that lead to one of some items."""
        found: dict[Taking, None] = {}
        takings = [taking for item in fresh for taking in self._takings[item]]
        for _ in range(NEAR):
            self.steps -= len(takings)
            taken = [(p, o) for p, o in takings if self.best[p] == o]
            found.update((t, None) for t in takings if self._uses[t[0]] and t not in taken)
            takings = [t for place, _ in taken for t in self._readers.get(place, ())]
        return list(found)

    def _turn(self, place: int, option: int) -> float:
        """Change the option of a place in use; returns what that saves."""
        kids, current = self.choices.kids, self.best[place]
        added = self._pay(option) + self._retain(kids[option])
        self.best[place] = option
        return self._withdraw(current) + self._release(kids[current]) - added

    def _is_circle(self, start: int) -> bool:
        """Whether the chosen term of a place contains the place."""
        kids, best = self.choices.kids, self.best
        seen = set(kids[best[start]])
        stack = list(seen)
        while stack:
            place = stack.pop()
            self.steps -= 1
            if place == start:
                return True
            fresh = [k for k in kids[best[place]] if k not in seen]
            seen.update(fresh)
            stack.extend(fresh)
        return False

    def _pay(self, option: int) -> float:
        item = self.choices.item[option]
        self._payers[item] += 1
        if self._payers[item] > 1:
            return 0.0
        price = self.choices.price[item]
        if price > self._least:
            self._fresh.append(item)
        return price

    def _withdraw(self, option: int) -> float:
        item = self.choices.item[option]
        self._payers[item] -= 1
        return 0.0 if self._payers[item] else self.choices.price[item]

    def _retain(self, places: Sequence[int]) -> float:
        """Use places once more; the price of what was not used before."""
        uses, best, kids = self._uses, self.best, self.choices.kids
        added = 0.0
        stack = list(places)
        while stack:
            place = stack.pop()
            self.steps -= 1
            uses[place] += 1
            if uses[place] == 1:
                added += self._pay(best[place])
                stack += kids[best[place]]
        return added

    def _release(self, places: Sequence[int]) -> float:
        """Use places once less; the price of what nobody uses any more."""
        uses, best, kids = self._uses, self.best, self.choices.kids
        freed = 0.0
        stack = list(places)
        while stack:
            place = stack.pop()
            self.steps -= 1
            uses[place] -= 1
            if not uses[place]:
                freed += self._withdraw(best[place])
                stack += kids[best[place]]
        return freed

"""Local search after the tree program: what is shared is paid once.

The dynamic program prices a term as a tree, so an operand with two readers is paid twice and may
lose against two operands with one reader each. Here one place at a time changes its option, with
reference counts, as long as the whole graph gets cheaper. Then come *attempts*: a place takes an
option although that costs more, other places take options that share what it needs, and all of
it stays if the sum is a gain. Options are legal within their place's limit, so every switch is.

What an option adds, and what leaving one saves, is looked up without changing anything, and known
until a switch changes something that was looked at: most options are refused by these two.
The bound is a number of steps and no time: the same program gives the same result on every
machine. Reaching it is reported, never silent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.rewrite.engine.saturate import STEPS

LEAST_GAIN_NS = 1e-2  # above the prices that only break circles
WORTH = 1e-5  # of the whole price: what is paid for less is not worth an attempt to share it
NEAR = 6  # views between what an attempt pays for and an option that shares it
MANY = 500  # options that one attempt looks at


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


@dataclass(slots=True)
class _Finding:
    """A price, the items it pays for that are worth sharing, and what was looked at to know it."""

    price: float
    items: list[int]
    seen: list[int]  # places, and items as numbers below zero
    at: int  # the switch after which it was true


@dataclass(frozen=True, slots=True)
class _Ways:
    """Options that lead to some items, which is known until a switch, and the steps to find them.

    The steps count whenever they are asked for: what is known decides nothing.
    """

    takings: Sequence[Taking]
    steps: int


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
    _left: list[int] = field(default_factory=list[int])  # the choices that the last run left
    _spare: int = 0  # steps without attempts
    _least: float = 0.0  # the price of what is worth sharing
    _added: dict[int, _Finding] = field(default_factory=dict[int, _Finding])  # by an option
    _saved: dict[int, _Finding] = field(default_factory=dict[int, _Finding])  # by leaving a place
    _now: int = 0  # attempts that were kept
    _changed: list[int] = field(default_factory=list[int])  # when a place, or an item, last did
    _log: list[Taking] = field(default_factory=list[Taking])  # what changed in this attempt
    _readers: dict[int, list[Taking]] = field(default_factory=dict[int, list[Taking]])
    _takings: dict[int, list[Taking]] = field(default_factory=dict[int, list[Taking]])  # by item
    _ways: dict[tuple[int, ...], _Ways] = field(default_factory=dict[tuple[int, ...], _Ways])
    _height: list[int] = field(default_factory=list[int])  # more than that of every operand
    _low: list[int] = field(default_factory=list[int])  # places that may be lower than an operand

    def run(self, roots: Sequence[int], together: bool = True) -> bool:
        """Switch until nothing gets cheaper, or the steps are used up; returns whether any did.

        Without ``together`` there are no attempts.
        """
        begin = self.switches
        self._start(roots)
        self._spare = self.steps // 2
        before = -1
        while self.steps > 0 and self.switches > before:
            before = self.switches
            self._visit(together)
            together = False  # what the first round left apart hardly comes together later
        self._left = [*self.best]
        self.is_complete &= self.steps > 0
        return self.switches > begin and self.steps > 0

    def _start(self, roots: Sequence[int]) -> None:
        """Count uses; what an earlier run found out holds where it left everything as it is."""
        places = len(self.best)
        if not self._readers:
            self._index()
        self._height = heights([self.choices.kids[o] if o >= 0 else () for o in self.best])
        self._low.clear()
        self._changed = self._changed or [0] * (places + len(self.choices.price))
        before, changed = (self._uses, self._payers), [*self._changed]
        self._uses = [0] * places
        self._payers = [0] * len(self.choices.price)
        self._least = WORTH * self._use(roots, 1)
        self._now += 1
        self._ways.clear()
        if (self._uses, self._payers) != before:
            self._added.clear()
            self._saved.clear()
            return
        self._changed = changed
        for place in range(places):
            if self.best[place] != self._left[place]:
                changed[place] = self._now

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
        for place in used:
            for option in self.choices.options[place]:
                if self.steps <= 0:
                    return
                if self._uses[place] and option != self.best[place]:
                    self._try(place, option, together)

    def _try(self, place: int, option: int, together: bool) -> None:
        """Take an option if it is a gain, by itself or with what others gain by sharing."""
        adding = self._adding(option)
        sharing = self._rooms(place, adding.items) if together else {}
        most = self._saving(place).price - adding.price  # a bound that is cheap
        most += sum(room for room, _ in sharing.values())
        if most <= LEAST_GAIN_NS or self._is_circle(place, option):
            return
        undo = [(place, self.best[place])]
        self._log = []
        gain = self._turn(place, option)
        if gain <= LEAST_GAIN_NS:
            gain = self._follow_all(sharing, gain, undo)
        self._settle(gain, undo)

    def attempt(self, takings: Sequence[Taking]) -> bool:
        """After a run: take several options at once if that is a gain; returns whether it was.

        What is paid for from several places is saved only where all of them leave it.
        """
        gain, undo = 0.0, list[Taking]()
        self._log = []
        for place, option in takings:
            current = self.best[place]
            if self._uses[place] and current != option and not self._is_circle(place, option):
                gain += self._turn(place, option)
                undo.append((place, current))
        return self._settle(gain, undo)

    def _settle(self, gain: float, undo: Sequence[Taking]) -> bool:
        """Keep what an attempt has changed if it is a gain, else take it back."""
        if gain > LEAST_GAIN_NS:
            self.switches += len(undo)
            self._now += 1
            self._ways.clear()
            return True
        for changed, before in reversed(undo):
            self._turn(changed, before)
        for key, at in reversed(self._log):
            self._changed[key] = at
        return False

    def _rooms(self, own: int, fresh: Sequence[int]) -> dict[int, tuple[float, list[int]]]:
        """Places that may gain by sharing items, the most that each may, and by which options.

        Attempts leave half of the steps to the switches that gain by themselves.
        """
        found: dict[int, tuple[float, list[int]]] = {}
        if not fresh:
            return found
        if self.steps <= self._spare:
            self.is_complete = False
            return found
        shared = sum(self.choices.price[item] for item in fresh)
        for place, option in self._sharing(fresh):
            most = self._saving(place).price
            if place == own or most <= self._least:
                continue
            room = min(most, shared + most - self._adding(option).price)
            if room > self._least:
                known, options = found.setdefault(place, (0.0, []))
                options.append(option)
                found[place] = max(known, room), options
        return found

    def _sharing(self, fresh: Sequence[int]) -> Sequence[Taking]:
        """Options not taken, of places in use, that lead to one of some items."""
        key = tuple(fresh)
        known = self._ways.get(key)
        if known is None:
            known = self._ways[key] = self._climb(fresh)
        self.steps -= known.steps
        return known.takings

    def _climb(self, fresh: Sequence[int]) -> _Ways:
        """Look for such options from the items upwards."""
        best, uses, readers = self.best, self._uses, self._readers
        found: dict[Taking, None] = {}
        climbed: set[int] = set()
        takings = [taking for item in fresh for taking in self._takings[item]]
        left = MANY
        for _ in range(NEAR):
            above: list[Taking] = []
            for taking in takings[:left]:
                place, option = taking
                if best[place] != option:
                    if uses[place]:
                        found[taking] = None
                elif place not in climbed:
                    climbed.add(place)
                    above += readers.get(place, ())
            left -= min(left, len(takings))
            takings = above
        return _Ways(list(found), MANY - left)

    def _follow_all(
        self, sharing: Mapping[int, tuple[float, list[int]]], gain: float, undo: list[Taking]
    ) -> float:
        """What is gained with the options of all places, as long as enough may be."""
        left = sum(room for room, _ in sharing.values())
        for place, (room, options) in sorted(sharing.items(), key=lambda item: -item[1][0]):
            if gain + left <= LEAST_GAIN_NS or self.steps <= 0:
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
        if self._look_up(option).price >= self._look_down(place).price:
            return 0.0
        if self._is_circle(place, option):
            return 0.0
        gain = self._turn(place, option)
        if gain > 0:
            undo.append((place, current))
            return gain
        self._turn(place, current)
        return 0.0

    def _adding(self, option: int) -> _Finding:
        """What an option that is not taken would cost more."""
        known = self._added.get(option)
        if known is None or not self._holds(known):
            known = self._added[option] = self._look_up(option)
        return known

    def _saving(self, place: int) -> _Finding:
        """What would not be paid without the chosen option of a place."""
        known = self._saved.get(place)
        if known is None or not self._holds(known):
            known = self._saved[place] = self._look_down(place)
        return known

    def _holds(self, known: _Finding) -> bool:
        """Whether nothing that was looked at has changed since."""
        at, changed = known.at, self._changed
        if at == self._now:
            return True
        self.steps -= 1
        if any([changed[key] > at for key in known.seen]):
            return False
        known.at = self._now
        return True

    def _look_up(self, option: int) -> _Finding:
        """What would be paid for an option and what it needs beyond what is used."""
        best, kids, item = self.best, self.choices.kids, self.choices.item
        uses, payers, price = self._uses, self._payers, self.choices.price
        paid: dict[int, None] = {}  # items looked at
        seen = set(kids[option])
        stack = list(seen)
        taken = [option]
        for place in stack:  # grows
            if not uses[place]:
                taken.append(best[place])
                fresh = [k for k in kids[best[place]] if k not in seen]
                seen.update(fresh)
                stack += fresh
        for each in taken:
            paid[item[each]] = None
        fresh = [i for i in paid if not payers[i]]
        self.steps -= len(stack) + 1
        total = sum([price[i] for i in fresh])
        worth = [i for i in fresh if price[i] > self._least]
        return _Finding(total, worth, [*stack, *(~i for i in paid)], self._now)

    def _look_down(self, place: int) -> _Finding:
        """What would not be paid without the chosen option of a place and what only it needs."""
        best, kids, item = self.best, self.choices.kids, self.choices.item
        uses, payers, price = self._uses, self._payers, self.choices.price
        total = 0.0
        left: dict[int, int] = {}
        unpaid: dict[int, int] = {}
        freed = [best[place]]
        for option in freed:  # grows
            i = item[option]
            rest = unpaid[i] = unpaid.get(i, payers[i]) - 1
            if not rest:
                total += price[i]
            for kid in kids[option]:
                rest = left[kid] = left.get(kid, uses[kid]) - 1
                if not rest:
                    freed.append(best[kid])
        self.steps -= len(left) + 1
        return _Finding(total, [], [place, *left, *(~i for i in unpaid)], self._now)

    def _turn(self, place: int, option: int) -> float:
        """Change the option of a place in use; returns what that saves."""
        kids, current = self.choices.kids, self.best[place]
        self._touch(place)
        added = self._pay(option, 1) + self._use(kids[option], 1)
        self.best[place] = option
        self._low.append(place)
        return self._pay(current, -1) + self._use(kids[current], -1) - added

    def _is_circle(self, start: int, option: int) -> bool:
        """Whether the term of a place would contain the place with this option.

        What is lower than the place does not contain it.
        """
        self._lift()
        kids, best, height = self.choices.kids, self.best, self._height
        lowest = height[start]
        stack = [kid for kid in kids[option] if height[kid] >= lowest]
        seen = set(stack)
        for place in stack:  # grows
            if place == start:
                return True
            fresh = [k for k in kids[best[place]] if height[k] >= lowest and k not in seen]
            seen.update(fresh)
            stack += fresh
        self.steps -= len(stack)
        return False

    def _lift(self) -> None:
        """Make places that changed, and what reads them, higher than all that they read now.

        Most attempts are taken back before anybody asks for a height.
        """
        kids, best, height, stack = self.choices.kids, self.best, self._height, self._low
        while stack:
            place = stack.pop()
            least = 1 + max([height[kid] for kid in kids[best[place]]], default=-1)
            if height[place] < least:
                height[place] = least
                self.steps -= 1
                stack += [p for p, o in self._readers.get(place, ()) if best[p] == o]

    def _touch(self, key: int) -> None:
        """Note that a place or an item changes in this attempt."""
        self._log.append((key, self._changed[key]))
        self._changed[key] = self._now + 1

    def _pay(self, option: int, by: int) -> float:
        """The price of an option that is paid for first, or is not paid for any more."""
        item = self.choices.item[option]
        self._touch(~item)
        before = self._payers[item]
        self._payers[item] += by
        return 0.0 if before and self._payers[item] else self.choices.price[item]

    def _use(self, places: Sequence[int], by: int) -> float:
        """Use places once more, or less; the price of what had, or has, no other use."""
        uses, best, kids = self._uses, self.best, self.choices.kids
        price = 0.0
        stack = list(places)
        while stack:
            place = stack.pop()
            self.steps -= 1
            self._touch(place)
            before = uses[place]
            uses[place] += by
            if not (before and uses[place]):
                price += self._pay(best[place], by)
                stack += kids[best[place]]
        return price


def heights(kids: Sequence[Sequence[int]]) -> list[int]:
    """The longest way from every node of a graph without circles to a node that reads nothing."""
    found = [-1] * len(kids)
    stack = list(range(len(kids)))
    while stack:
        node = stack[-1]
        pending = [kid for kid in kids[node] if found[kid] < 0]
        stack += pending
        if not pending:
            found[node] = 1 + max([found[kid] for kid in kids[node]], default=-1)
            stack.pop()
    return found

"""Local search after the tree program: what is shared is paid once.

The dynamic program prices a term as a tree, so an operand with two readers is paid twice and may
lose against two operands with one reader each. Here one place at a time changes its option, with
reference counts, as long as the whole graph gets cheaper. Options are legal within their place's
limit, so every switch is. The bound is a number of steps and no time: the same program gives the
same result on every machine. Reaching it is reported, never silent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

STEPS = 200_000  # places visited in one search; about a tenth of a second
LEAST_GAIN_NS = 1e-2  # above the prices that only break circles


@dataclass(frozen=True, slots=True)
class Choices:
    """Everything a search may choose from; options and places are numbers.

    ``options``: of each place; ``kids``: the places of an option's operands; ``price``: an option's
    own price.
    """

    options: Mapping[int, Sequence[int]]
    kids: Sequence[tuple[int, ...]]
    price: Sequence[float]


@dataclass
class LocalSearch:
    """The chosen option of every place, and how many chosen options use each place."""

    choices: Choices
    best: dict[int, int]
    steps: int = STEPS
    switches: int = 0
    is_complete: bool = True  # it ended because nothing gets cheaper, not for lack of steps
    _uses: dict[int, int] = field(default_factory=dict[int, int])

    def run(self, roots: Sequence[int]) -> None:
        """Switch until nothing gets cheaper, or the steps are used up."""
        self._retain(roots)
        improved = True
        while improved:
            before = self.switches
            for place in [p for p, n in self._uses.items() if n > 0]:
                if self.steps <= 0:
                    self.is_complete = False
                    return
                self._improve(place)
            improved = self.switches > before

    def _improve(self, place: int) -> None:
        for option in self.choices.options[place]:
            if self._uses.get(place, 0) == 0:
                return
            possible = all(kid in self.best for kid in self.choices.kids[option])
            if possible and option != self.best[place]:
                self._try(place, option)

    def _try(self, place: int, option: int) -> None:
        kids, price = self.choices.kids, self.choices.price
        current = self.best[place]
        if self._reaches(kids[option], place):
            return
        gain = price[current] - price[option]
        gain += self._release(kids[current])
        gain -= self._retain(kids[option])
        if gain > LEAST_GAIN_NS:
            self.best[place] = option
            self.switches += 1
        else:
            self._release(kids[option])
            self._retain(kids[current])

    def _reaches(self, places: Sequence[int], goal: int) -> bool:
        """Whether chosen terms of the places contain the goal: a term must not contain itself."""
        seen = set(places)
        stack = list(seen)
        while stack:
            place = stack.pop()
            self.steps -= 1
            if place == goal:
                return True
            fresh = [k for k in self.choices.kids[self.best[place]] if k not in seen]
            seen.update(fresh)
            stack.extend(fresh)
        return False

    def _retain(self, places: Sequence[int]) -> float:
        """Use places once more; the price of what was not used before."""
        added = 0.0
        stack = list(places)
        while stack:
            place = stack.pop()
            self.steps -= 1
            self._uses[place] = self._uses.get(place, 0) + 1
            if self._uses[place] == 1:
                added += self.choices.price[self.best[place]]
                stack.extend(self.choices.kids[self.best[place]])
        return added

    def _release(self, places: Sequence[int]) -> float:
        """Use places once less; the price of what nobody uses any more."""
        freed = 0.0
        stack = list(places)
        while stack:
            place = stack.pop()
            self.steps -= 1
            self._uses[place] -= 1
            if self._uses[place] == 0:
                freed += self.choices.price[self.best[place]]
                stack.extend(self.choices.kids[self.best[place]])
        return freed

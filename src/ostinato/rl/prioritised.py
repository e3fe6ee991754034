"""Replay that draws most where the last error was large."""

from __future__ import annotations

from ostinato.language import random
from ostinato.language.carry import Carried, carried, carry
from ostinato.language.dims import Dimension, dim
from ostinato.language.functions.basic import arange, index, maximum, minimum, stop_gradient, where
from ostinato.language.kinds import Count, NonNegative, Probability
from ostinato.language.record import Record
from ostinato.language.recurrent import recurrent
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.sampling import Replay
from ostinato.rl.sum_tree import drawn, empty_tree, with_weight

LEAST = 1e-6  # of an error: every step can still be drawn


class PrioritisedReplay(Replay):
    """Replay that draws steps by ``priority ** power``: the errors that updates told last.

    A new step has the highest priority so far. ``updates`` are the loops that carry parameters, the
    outermost one over iterations, ``ot.carried(i, m)``; every update says with `learn` how wrong
    it was at what it drew. Each of ``size`` equal parts of all priorities gives one step.

    Source: Schaul et al. 2016, Prioritized experience replay, proportional variant.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, i, t = ot.dims("b i t")
    >>> m = ot.dim("m", size=2)
    >>> error = ot.input("error", over=(b, i, t))
    >>> replay = rl.PrioritisedReplay((b, i, t), 4, window=3, updates=ot.carried(i, m))
    >>> replay.learn(replay(error))
    >>> found = ot.Program(x=replay(error)).interpret(error=[[[0.0, 9.0], [0.0, 0.0]]])["x"]
    >>> found.shape, found[0, 0].tolist(), found[0, 1].tolist()
    ((2, 2, 4), [0.0, 0.0, 9.0, 9.0], [9.0, 9.0, 9.0, 9.0])
    """

    def __init__(
        self,
        dims: tuple[Dimension, Dimension, Dimension],
        size: Count,
        *,
        window: Count,
        updates: Carried,
        ahead: Count = 1,
        power: Tensor | NonNegative = 0.6,
    ) -> None:
        b, i, t = dims
        if updates.dims[0].dim != i.dim or len(updates.dims) < 2:
            fact = f"updates along {', '.join(d.name for d in updates.dims)}"
            remedy = f"Carry them over {i.name} and the updates in it: ot.carried({i.name}, m)."
            raise ArgumentError(fact, remedy, place())
        self._window, self._power, self._updates = window, power, updates
        self._row = dim(f"{updates.dims[-1].name}_row", size=size)
        self._highest = carry("highest_weight", 1.0, updates.dims, each=updates.each)
        self._each = index(b.size) * index(t.size)  # steps of an iteration
        iterations = (*updates.each, i)
        nothing = empty_tree(window * b.size * t.size)
        self._begun = recurrent("begun", over=iterations, like=nothing)
        self._begun[(*updates.each, 0)] = nothing
        known = self._with_new_steps(dims, iterations, ahead)
        loops = carried(*updates.dims[1:], self._row, each=iterations)
        self._tree = carry("weights", known, loops)
        before = Record(**{n: x.at(**{self._row.name: 0}) for n, x in self._tree.carries.items()})
        parts = (arange(size) + random.uniform((size,), over=updates)) / size
        self._slot, share = drawn(before, parts)
        self._share = stop_gradient(share)

        turn, step = self._slot // self._each, self._slot % index(t.size)
        number = index(i) - (index(i) - turn) % window
        game = self._slot // index(t.size) % index(b.size)
        self._draw(dims, window, ahead, game, number * index(t.size) + step)

    def _with_new_steps(
        self,
        dims: tuple[Dimension, Dimension, Dimension],
        iterations: tuple[Dimension, ...],
        ahead: int,
    ) -> Record:
        """The weights of an iteration before its updates.

        Its last steps have none: not enough steps follow. Those of the iteration before have some
        now.
        """
        b, i, t = dims
        each, steps = self._each, index(t.size)
        late = 1 if ahead > 1 else 0
        new = dim(f"{i.name}_new", size=(1 + late) * b.size * t.size)
        back = late - index(new) // each  # iterations
        step, is_past = index(new) % steps, (back > 0)
        follows = step <= steps - ahead
        turn = (index(i) - back) % self._window
        is_written = ~is_past | (~follows & (index(i) > 0))
        slot = where(is_written, turn * each + index(new) % each, -1)
        highest = self._highest.at(**{d.name: 0 for d in self._updates.dims[1:]})
        tree = carry("new", self._begun, carried(new, each=iterations))
        tree.step(with_weight(tree, slot, where(is_past | follows, highest, 0.0)))
        return tree.final

    def weights(self, correction: Tensor | Probability) -> Tensor:
        """Return the weight of each drawn step, which makes up for how often it is drawn.

        It is ``(steps * share) ** -correction``, divided by the greatest of them: with 1 a mean
        over what is drawn is that over all steps, but for a factor.
        """
        games, i, t = self.dims
        each_game = minimum(index(i) + 1, self._window) * index(t.size) - (self.ahead - 1)
        steps = (index(games.size) * each_game).cast("float32")
        found = (steps * self._share) ** -correction
        return found / found.max()

    def learn(self, error: Tensor) -> None:
        """Say how wrong an update was at each step that it drew: that is its priority from now on.

        Of a step that was drawn twice the last one counts.
        Errors: EquationError if it was said before.
        """
        _, i, _ = self.dims
        told = (stop_gradient(abs(error)) + LEAST) ** self._power
        self._highest.step(maximum(self._highest, told.max()))
        row = index(self._row)
        slot, weight = self._slot.take(row, axis=0), told.take(row, axis=0)
        self._tree.step(with_weight(self._tree, slot, weight))
        self._begun[(*self._updates.each, i + 1)] = self._tree.final

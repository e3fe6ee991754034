"""Replay that draws most where the last error was large."""

from __future__ import annotations

from ostinato.language import random
from ostinato.language.carry import Carried, carry
from ostinato.language.dims import Dimension
from ostinato.language.functions.along import cumsum, scatter_add, searchsorted
from ostinato.language.functions.basic import arange, index, maximum, minimum, stop_gradient, where
from ostinato.language.kinds import Count, NonNegative, Probability
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.sampling import Replay

LEAST = 1e-6  # of an error: every step can still be drawn
BELOW_ONE = 1.0 - 2.0**-20  # of all priorities: rounding draws no step that has none


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
        each = index(b.size) * index(t.size)  # steps of an iteration
        self._slots, self._window, self._updates = window * b.size * t.size, window, updates
        self._turn = arange(self._slots) // each  # iterations take turns in the window
        loops, outer = updates.dims, updates.each
        self._highest = carry("highest_priority", 1.0, loops, each=outer)
        self._priority = carry("priority", where(self._turn == 0, 1.0, 0.0), loops, each=outer)

        number = index(i) - (index(i) - self._turn) % window
        step = arange(self._slots) % index(t.size)
        is_late = (number == index(i)) & (step > index(t.size) - ahead)
        known = (self._priority > 0.0) & ~is_late
        self._mass = stop_gradient(where(known, self._priority**power, 0.0))
        total = cumsum(self._mass, axis=0)
        parts = (arange(size) + random.uniform((size,), over=updates)) / size
        self._slot = searchsorted(total, minimum(parts, BELOW_ONE) * total[..., -1], side="right")
        self._share = self._mass.take(self._slot, axis=0) / total[..., -1]

        def at(x: Tensor) -> Tensor:
            return x.take(self._slot, axis=0)

        game = arange(self._slots) // index(t.size) % index(b.size)
        self._draw(dims, window, ahead, at(game), at(number * index(t.size) + step))

    def weights(self, correction: Tensor | Probability) -> Tensor:
        """Return the weight of each drawn step, which makes up for how often it is drawn.

        It is ``(steps * share) ** -correction``, divided by the greatest of them: with 1 a mean
        over what is drawn is that over all steps, but for a factor.
        """
        steps = (self._mass > 0.0).cast("float32").sum()
        found = (steps * self._share) ** -correction
        return found / found.max()

    def learn(self, error: Tensor) -> None:
        """Say how wrong an update was at each step that it drew: that is its priority from now on.

        A step that was drawn twice gets the mean.
        Errors: EquationError if it was said before.
        """
        _, i, _ = self.dims
        size = stop_gradient(abs(error)) + LEAST
        count = scatter_add(1.0, self._slot, self._slots)
        told = scatter_add(size, self._slot, self._slots) / maximum(count, 1.0)
        changed = where(count > 0.0, told, self._priority)
        self._highest.step(maximum(self._highest, size.max()))
        is_next = self._turn == (index(i) + 1) % self._window
        fresh = where(is_next, self._highest.after, changed)
        _, first, *others = self._updates.dims
        is_last = first == first.size - 1
        for dim in others:
            is_last = is_last & (dim == dim.size - 1)
        self._priority.step(where(is_last, fresh, changed))

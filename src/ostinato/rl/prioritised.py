"""Replay that draws most where the last error was large."""

from __future__ import annotations

from ostinato.language import random
from ostinato.language.carry import Carried, carried, carry
from ostinato.language.dims import Dimension, IndexExpression, dim
from ostinato.language.functions.along import cumsum, searchsorted
from ostinato.language.functions.basic import (
    arange,
    index,
    maximum,
    minimum,
    stop_gradient,
    where,
    zeros,
)
from ostinato.language.kinds import Count, NonNegative, Probability
from ostinato.language.record import Record
from ostinato.language.recurrent import recurrent
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.sampling import Replay

WIDTH = 32  # entries of a block, whose sum is an entry of the next level
BELOW_ONE = 1.0 - 2.0**-20  # of a sum: rounding draws no slot that has no weight


def empty_tree(slots: IndexExpression) -> Record:
    """Return no weight for at least so many slots, the sums of blocks, and the sums of these.

    Shapes: slots (1024 n,), blocks (32 n,), top (n,).
    """
    count = (slots + (WIDTH**2 - 1)) // WIDTH**2
    sizes = {"slots": count * WIDTH**2, "blocks": count * WIDTH, "top": count}
    return Record(**{name: zeros((size,)) for name, size in sizes.items()})


def with_weight(tree: Record, slot: Tensor, weight: Tensor) -> Record:
    """Return the tree in which one slot has another weight; a slot outside changes nothing."""
    slots, block = _changed(tree.slots, slot, weight), slot // WIDTH
    blocks = _changed(tree.blocks, block, _rows(slots).take(block, axis=0).sum(-1))
    top = block // WIDTH
    return Record(
        slots=slots,
        blocks=blocks,
        top=_changed(tree.top, top, _rows(blocks).take(top, axis=0).sum(-1)),
    )


def drawn(tree: Record, parts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the slots at parts of the sum of all weights, and the share that each has of it.

    Shapes: parts (n,), of [0, 1) -> int32 (n,), float32 (n,).
    """
    sums = cumsum(tree.top, axis=-1)
    total = sums[..., -1]
    wanted = minimum(parts, BELOW_ONE) * total
    top = searchsorted(sums, wanted, side="right")
    rest = wanted - where(top > 0, sums.take(top - 1, axis=0), 0.0)
    block, rest = _found(_rows(tree.blocks).take(top, axis=0), rest)
    block = top * WIDTH + block
    slot, _ = _found(_rows(tree.slots).take(block, axis=0), rest)
    slot = block * WIDTH + slot
    return slot, tree.slots.take(slot, axis=0) / total


def _rows(level: Tensor) -> Tensor:
    return level.reshape((level.shape[-1] // WIDTH, WIDTH))


def _changed(level: Tensor, at: Tensor, value: Tensor) -> Tensor:
    return where(arange(level.shape[-1]) == at, value, level)


def _found(weights: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """In each row the first entry whose running sum is greater than a value, and what is left."""
    sums = cumsum(weights, axis=-1)
    below = minimum(value, BELOW_ONE * sums[..., -1])
    passed = sums <= below[..., None]
    before = where(passed, sums, 0.0).max(-1)
    return passed.cast("int32").sum(-1), below - before


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

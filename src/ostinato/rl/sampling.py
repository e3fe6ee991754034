"""Which steps an update learns from: parts of what was just played, or draws from long ago."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.language import random
from ostinato.language.dims import Dimension, dim
from ostinato.language.functions.basic import arange, index, maximum, stop_gradient, where, zeros
from ostinato.language.kinds import Count, Finite, Natural
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.returns import MOST_STEPS
from ostinato.rl.rollout import Rollout


def minibatch(
    dims: Sequence[Dimension], part: Dimension, parts: Count, over: Over
) -> dict[str, Tensor]:
    """Return the positions of a part of all points of some dimensions, in a random order.

    The order is another one at every point of ``over``, and ``part`` counts its ``parts``, which
    are equally long: up to ``parts - 1`` points are left out. ``x.at(**positions)`` has the rows
    of a part along its first axis. Errors: ArgumentError without a dimension.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, e, t = ot.dims("b e t")
    >>> m = ot.dim("m", size=2)
    >>> rows = rl.minibatch((b, t), m, 2, over=e)
    >>> x = (4 * ot.index(b) + ot.index(t)).at(**rows)
    >>> found = ot.Program(x=x).interpret(E=1, B=2, T=4)["x"]
    >>> found.shape, sorted(found.ravel().tolist())
    ((1, 2, 4), [0, 1, 2, 3, 4, 5, 6, 7])
    """
    if not dims:
        raise ArgumentError("minibatches of no dimensions", "Name at least one: (b, t).", place())
    count = dims[0].size
    for each in dims[1:]:
        count = count * each.size
    rows = dim(f"{part.name}_row", size=count).size
    shuffled = random.permutation(rows, over=over)
    chosen = shuffled.take(parts * arange(rows // parts) + part, axis=0)
    found: dict[str, Tensor] = {}
    for each in reversed(dims[1:]):
        found[each.name] = chosen % each.size
        chosen = chosen // each.size
    return {dims[0].name: chosen, **found}


class Replay:
    """Steps drawn from those of the last ``window`` iterations: a read gives what happened there.

    There are ``size`` of them at every point of ``over``, all equally likely. No gradient goes back
    to how what they hold came about. A step that ``ahead`` steps
    follow in its game is drawn, so that ``replay(x, 2)`` is two steps later if ``ahead`` is 3.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, i, m, t = ot.dims("b i m t")
    >>> x = ot.input("x", over=(b, i, t))
    >>> replay = rl.Replay((b, i, t), 5, window=2, over=(i, m))
    >>> found = ot.Program(x=replay(x)).interpret(M=3, x=[[[1.0], [2.0], [3.0]]])["x"]
    >>> found.shape, set(found[0].ravel().tolist()), set(found[2].ravel().tolist()) == {2.0, 3.0}
    ((3, 3, 5), {1.0}, True)
    """

    def __init__(
        self,
        dims: tuple[Dimension, Dimension, Dimension],
        size: Count,
        *,
        window: Count,
        over: Over,
        ahead: Count = 1,
    ) -> None:
        games, i, t = dims
        first = index(maximum(i + 1 - window, 0)) * index(t.size)
        end = index(i + 1) * index(t.size) - (ahead - 1)
        game = random.integers(0, index(games.size), (size,), over=over)
        self._draw(dims, window, ahead, game, random.integers(first, end, (size,), over=over))

    def _draw(
        self,
        dims: tuple[Dimension, Dimension, Dimension],
        window: int,
        ahead: int,
        game: Tensor,
        number: Tensor,
    ) -> None:
        """Say which steps are drawn: their games, and their numbers in these."""
        self.dims, self.ahead = dims, ahead
        self.oldest = maximum(dims[1] + 1 - window, 0)
        self.game, self.number = game, number

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The games of the drawn steps, and their numbers in these, by name."""
        return {"rows_game": self.game, "rows_number": self.number}

    def __call__(self, x: Tensor, later: Tensor | Natural = 0) -> Tensor:
        b, i, t = self.dims
        number, steps = self.number + later, index(t.size)
        then = x.at(
            **{b.name: self.game, i.name: number // steps, t.name: number % steps},
            within={b.name: (0, b.size), i.name: (self.oldest, i + 1), t.name: (0, t.size)},
        )
        return stop_gradient(then)


def replayed_return(
    replay: Replay, games: Rollout, steps: Count, discount: Tensor | Finite = 0.99
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rewards of some steps from each drawn one on, and how what follows counts.

    The return is ``earned + weight * value(following)``: the weight is the discount of the steps
    that were counted, and 0 if the episode terminated in them. Where it was cut fewer steps count.

    Errors: ArgumentError for more steps than the replay looks ahead, or than 64.
    Source: Sutton and Barto 2018, Reinforcement learning, section 7.1.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, i, t = ot.dims("b i t")
    >>> games = rl.rollout(rl.CartPole(), lambda seen: ot.constant(0), (b, i, t))
    >>> replay = rl.Replay((b, i, t), 32, window=10, over=i, ahead=3)
    >>> rl.replayed_return(replay, games, 3)
    (<float32[32] over (i)>, <float32[32] over (i)>, <float32[32, 4] over (i)>)
    """
    most = min(replay.ahead, MOST_STEPS)
    if steps > most:
        fact = f"a return of {steps} steps of a replay that looks {replay.ahead} ahead"
        raise ArgumentError(fact, f"Give rl.Replay(ahead={steps}), at most {MOST_STEPS}.", place())
    ended, cut = replay(games.terminated), replay(games.truncated)
    earned, last = replay(games.reward), zeros((), "int32")
    factor = as_tensor(1.0)
    for later in range(1, steps):
        goes_on = ~(ended | cut)
        factor = factor * discount
        earned = earned + where(goes_on, factor * replay(games.reward, later), 0.0)
        last = where(goes_on, later, last)
        ended = ended | (goes_on & replay(games.terminated, later))
        cut = cut | (goes_on & replay(games.truncated, later))
    weight = where(ended, 0.0, discount ** (last + 1).cast("float32"))
    return earned, weight, replay(games.following, last)

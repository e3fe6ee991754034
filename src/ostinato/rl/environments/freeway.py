"""Freeway, step by step equal to MinAtar's."""

from __future__ import annotations

from ostinato.language import random
from ostinato.language.functions.basic import abs as magnitude
from ostinato.language.functions.basic import arange, where, zeros
from ostinato.language.record import Record
from ostinato.language.recurrent import Over, as_dims
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.provenance.place import place
from ostinato.rl.environments.boards import LANES, SIZE, dot, in_lanes, layers, moved
from ostinato.rl.environments.environment import Discrete, Game, points

REST, LIMIT = 3, 2500  # steps
COLUMN, BOTTOM = 4, SIZE - 1


class Freeway(Game):
    """A chicken crosses eight lanes: stay 0, up 1, down 2, at most every third step.

    On the other side it is rewarded with 1 and begins again, with cars of other speeds; a car that
    meets it sends it back. An episode is cut after 2501 steps, and never terminates: MinAtar calls
    this termination. The state is the row of the ``chicken``, the ``columns`` of the cars, one in
    each lane, their ``pace``, the steps they take for a place, negative to the left, their
    ``timers``, and ``rest`` and ``left``, the steps until the chicken may move and the episode is
    cut. The agent sees the chicken, the cars, and for each pace, from 1 to 5, where a car was.

    Source: Young and Tian 2019, MinAtar, with the actions that do something, none of them sticky:
    see `Sticky`.
    """

    actions = Discrete(3)
    observation_shape = (SIZE, SIZE, 7)

    def reset(self, over: Over) -> Record:
        """Return cars of random speeds at the left end of their lanes."""
        pace = _paces(over)
        return Record(
            chicken=as_tensor(BOTTOM), columns=zeros((LANES,), "int32"), pace=pace,
            timers=magnitude(pace), rest=as_tensor(REST), left=as_tensor(LIMIT),
        )  # fmt: skip

    def observe(self, state: Record) -> Tensor:
        """Return boards with the chicken, the cars, and where cars of each pace were."""
        back = (state.columns - where(state.pace > 0, 1, -1)) % SIZE
        trails = [in_lanes(back, magnitude(state.pace) == pace) for pace in range(1, 6)]
        cars = in_lanes(state.columns, state.pace != 0)
        return layers(dot(state.chicken, COLUMN), cars, *trails)

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, that it did not terminate, and whether it was cut."""
        may = state.rest == 0
        up, down = (action == 1) & may, (action == 2) & may
        reached = moved(state.chicken, up, down)
        is_there = reached == 0
        pace = where(is_there, _paces(points(state, action)), state.pace)
        timers = where(is_there, magnitude(pace), state.timers)
        chicken = where(is_there, BOTTOM, reached)

        drives = timers == 0
        columns = where(drives, (state.columns + where(pace > 0, 1, -1)) % SIZE, state.columns)
        crosses = (state.columns == COLUMN) | (columns == COLUMN)
        met = (crosses & (arange(LANES) + 1 == chicken)).any()
        rest = where(up | down, REST, state.rest)
        left = state.left - 1
        following = Record(
            chicken=where(met, BOTTOM, chicken),
            columns=columns,
            pace=pace,
            timers=where(drives, magnitude(pace), timers - 1),
            rest=rest - (rest > 0).cast("int32"),
            left=left,
        )
        reward = where(is_there, 1.0, 0.0).named("reward")
        return following, reward, as_tensor(False), left < 0


def _paces(over: Over) -> Tensor:
    """How many steps each car takes for a place: from 1 to 5, negative if it drives left."""
    dims = as_dims(over, place())
    steps = random.integers(1, 6, shape=(LANES,), over=dims)
    return where(random.bernoulli(0.5, shape=(LANES,), over=dims), steps, -steps)

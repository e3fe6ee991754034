"""Breakout, step by step equal to MinAtar's."""

from __future__ import annotations

from ostinato.language import random
from ostinato.language.functions.basic import clip, concatenate, ones, where, zeros
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.rl.environments.boards import SIZE, dot, layers, moved
from ostinato.rl.environments.environment import Discrete, Game

ROWS = 3  # of bricks, below the first row
FLOOR = SIZE - 1


class Breakout(Game):
    """A paddle plays a ball against bricks: stay 0, left 1, right 2.

    A brick that is hit is gone, and rewarded with 1; there are new ones when all are gone and the
    ball comes down. An episode terminates when the ball is lost, and is never cut.
    The state is the column of the ``paddle``, the ball's ``row`` and ``column``, those it had
    before, whether it moves ``right`` and ``down``, the ``bricks``, and whether the ball was in
    one in the last ``strike``. The agent sees paddle, ball, where the ball was, and bricks.

    Source: Young and Tian 2019, MinAtar, with the actions that do something, none of them sticky:
    see `Sticky`.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b = ot.dims("b")
    >>> env = rl.Breakout()
    >>> env.observe(env.reset(over=b))
    <float32[10, 10, 4] over (b)>
    """

    actions = Discrete(3)
    observation_shape = (SIZE, SIZE, 4)

    def reset(self, over: Over) -> Record:
        """Return a ball that comes down from the left or the right below all bricks."""
        from_left = random.bernoulli(0.5, over=over)
        row, column = as_tensor(ROWS), where(from_left, 0, SIZE - 1)
        yes = as_tensor(True)
        return Record(
            paddle=as_tensor(4), row=row, column=column, last_row=row, last_column=column,
            right=from_left, down=yes, bricks=ones((ROWS, SIZE), "bool"), strike=~yes,
        )  # fmt: skip

    def observe(self, state: Record) -> Tensor:
        """Return boards with the paddle, the ball, where the ball was, and the bricks."""
        above, below = zeros((1, SIZE), "bool"), zeros((SIZE - 1 - ROWS, SIZE), "bool")
        return layers(
            dot(FLOOR, state.paddle),
            dot(state.row, state.column),
            dot(state.last_row, state.last_column),
            concatenate([above, state.bricks, below]),
        )

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, whether it terminated, and that it was not cut."""
        paddle = moved(state.paddle, action == 1, action == 2)

        # Where the ball would go: it comes back from walls and from the ceiling.
        ahead = state.column + where(state.right, 1, -1)
        row = state.row + where(state.down, 1, -1)
        at_wall, at_ceiling = (ahead < 0) | (ahead > SIZE - 1), row < 0
        column = clip(ahead, 0, SIZE - 1)

        # A brick is gone when the ball enters it, unless it comes out of another one.
        there = dot(row - 1, column, ROWS)
        inside = ~at_ceiling & (state.bricks & there).any()
        struck = inside & ~state.strike
        bricks = state.bricks & ~(there & struck)

        # The paddle plays the ball back if it is below it, or where the ball goes.
        on_floor = ~at_ceiling & ~inside & (row == FLOOR)
        below, before = state.column == paddle, column == paddle
        played = on_floor & (below | before)
        following = Record(
            paddle=paddle,
            row=where(at_ceiling, 0, where(struck | played, state.row, row)),
            column=column,
            last_row=state.row,
            last_column=state.column,
            right=state.right ^ at_wall ^ (played & ~below),
            down=state.down ^ (at_ceiling | struck | played),
            bricks=bricks | (on_floor & ~state.bricks.any()),
            strike=inside,
        )
        reward = where(struck, 1.0, 0.0).named("reward")
        return following, reward, on_floor & ~played, as_tensor(False)

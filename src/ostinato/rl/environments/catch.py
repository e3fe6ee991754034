"""Catch: a ball falls, and a paddle is to be below it."""

from __future__ import annotations

from ostinato.language import random
from ostinato.language.functions.basic import clip, one_hot, where
from ostinato.language.kinds import Count
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.rl.environments.environment import Discrete, Game


class Catch(Game):
    """A board on which a ball falls straight down towards a paddle in the last row.

    The paddle moves left (0), not (1) or right (2).
    The state is the column of the ``ball``, that of the ``paddle``, and ``steps``, the row of the
    ball. An episode terminates when the ball is in the last row: the reward is 1 if the paddle is
    there, else -1, and 0 before. The observation is the board, 1 where the ball or the paddle is.

    Source: Mnih et al. 2014, Recurrent models of visual attention; the game of DeepMind's bsuite.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b = ot.dims("b")
    >>> env = rl.Catch()
    >>> env.observe(env.reset(over=b))
    <float32[10, 5] over (b)>
    """

    actions = Discrete(3)

    def __init__(self, rows: Count = 10, columns: Count = 5) -> None:
        self.rows, self.columns = rows, columns
        self.observation_shape = (rows, columns)

    def reset(self, over: Over) -> Record:
        """Return a ball in any column of the first row above a paddle in the middle."""
        ball = random.integers(0, self.columns, over=over)
        return Record(ball=ball, paddle=as_tensor(self.columns // 2), steps=as_tensor(0))

    def observe(self, state: Record) -> Tensor:
        """Return the board."""
        return self._dot(state.steps, state.ball) + self._dot(self.rows - 1, state.paddle)

    def _dot(self, row: Tensor | int, column: Tensor) -> Tensor:
        """A board of zeros with a one."""
        return one_hot(row, self.rows)[..., None] * one_hot(column, self.columns)[..., None, :]

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, whether it terminated, and that it was not cut."""
        paddle = clip(state.paddle + action - 1, 0, self.columns - 1)
        steps = state.steps + 1
        landed = steps >= self.rows - 1
        caught = where(paddle == state.ball, 1.0, -1.0)
        reward = where(landed, caught, 0.0).named("reward")
        return Record(ball=state.ball, paddle=paddle, steps=steps), reward, landed, steps < 0

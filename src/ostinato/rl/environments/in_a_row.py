"""Boards on which two players take turns to get stones in a row."""

from __future__ import annotations

import numpy as np

from ostinato.language.functions.basic import one_hot, stack, where, zeros
from ostinato.language.kinds import Count
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.pdg.errors import ArgumentError
from ostinato.pdg.functions import Array
from ostinato.provenance.place import place
from ostinato.rl.environments.environment import Discrete, Game, at_each


class InARow(Game):
    """Two players in turn put a stone on a board; who first has ``length`` in a row wins.

    Rows go across, down and diagonally. If stones ``fall``, an action is a column, and the stone
    comes to lie on those below; else it is a place. The state has the stones of who moves next,
    ``mine``, and ``theirs``; each step is one player's, and the next one is the other's. The reward
    is that of who moves: 1 for winning, -1 for a move that is not legal, which loses. An episode
    terminates with either, and where the board is full. The observation is the board, with the
    layers ``mine`` and ``theirs``. ``rl.TicTacToe()`` and ``rl.ConnectFour()`` are two of them.

    Errors: ArgumentError for a row that is longer than the board.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b = ot.dims("b")
    >>> game = rl.ConnectFour()
    >>> game.observe(game.reset(over=b)), game.actions
    (<float32[6, 7, 2] over (b)>, Discrete(count=7))
    """

    takes_turns = True

    def __init__(self, rows: Count, columns: Count, length: Count, *, fall: bool = False) -> None:
        if length > max(rows, columns):
            fact = f"{length} in a row on a board of {rows} x {columns}"
            raise ArgumentError(fact, f"Ask for at most {max(rows, columns)}.", place())
        self.rows, self.columns, self.length, self.fall = rows, columns, length, fall
        self.observation_shape = (rows, columns, 2)
        self.actions = Discrete(columns if fall else rows * columns)
        self._lines = lines(rows, columns, length)

    def reset(self, over: Over) -> Record:
        """Return empty boards."""
        board = zeros(self.rows * self.columns) + at_each(0, over).cast("float32")
        return Record(mine=board, theirs=board)

    def observe(self, state: Record) -> Tensor:
        """Return the board, for who moves next."""
        return stack([state.mine, state.theirs], -1).reshape(self.observation_shape)

    def legal(self, observation: Tensor) -> Tensor:
        """Return which actions may be taken, by what is seen: (..., numbers) -> (..., actions)."""
        shape = (*observation.shape[:-1], self.rows * self.columns, 2)
        taken = observation.reshape(shape).sum(-1) > 0.0
        return ~(taken[..., : self.columns] if self.fall else taken)

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the board for the other player, the reward, and the end; nothing is cut."""
        taken = state.mine + state.theirs
        stone, allowed = self._stone(taken, action)
        mine = state.mine + where(allowed, stone, 0.0)
        won = allowed & (mine @ as_tensor(self._lines) >= self.length - 0.5).any(-1)
        is_full = (taken + stone).sum(-1) >= self.rows * self.columns - 0.5
        reward = where(won, 1.0, where(allowed, 0.0, -1.0)).named("reward")
        after = Record(mine=state.theirs, theirs=mine)
        return after, reward, won | ~allowed | is_full, won & ~won

    def _stone(self, taken: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """The board of the new stone alone, and whether its place was free."""
        if not self.fall:
            stone = one_hot(action, self.rows * self.columns)
            return stone, (stone * taken).sum(-1) < 0.5
        column = one_hot(action, self.columns)
        height = (taken.reshape((self.rows, self.columns)) * column).sum((-2, -1)).cast("int32")
        row = one_hot(self.rows - 1 - height, self.rows)
        board = row[..., None] * column[..., None, :]
        return board.reshape((self.rows * self.columns,)), height < self.rows


def lines(rows: int, columns: int, length: int) -> Array:
    """Return all rows of so many places: (places, lines), 1 where a line has a place.

    >>> lines(3, 3, 3).shape, lines(6, 7, 4).shape
    ((9, 8), (42, 69))
    """
    found: list[Array] = []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for row in range(rows - (length - 1) * down):
            for column in range(columns):
                if not 0 <= column + (length - 1) * right < columns:
                    continue
                board = np.zeros((rows, columns), np.float32)
                for k in range(length):
                    board[row + k * down, column + k * right] = 1.0
                found.append(board.ravel())
    return np.stack(found, -1)


class TicTacToe(InARow):
    """Three in a row on a board of 3 x 3."""

    def __init__(self) -> None:
        super().__init__(3, 3, 3)


class ConnectFour(InARow):
    """Four in a row on a board of 6 x 7, on which stones fall."""

    def __init__(self) -> None:
        super().__init__(6, 7, 4, fall=True)

"""Games of two players: the rules beside NumPy, opponents, and a policy that plays both sides."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import rl
from ostinato.pdg.errors import ArgumentError

b, i, t = ot.dims("b i t")
Board = npt.NDArray[np.int64]


def winner(board: Board, length: int) -> bool:
    """Whether there is a row of ones."""
    rows, columns = board.shape
    for row, column in np.argwhere(board == 1):
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            places = [(row + k * down, column + k * right) for k in range(length)]
            inside = all(0 <= y < rows and 0 <= x < columns for y, x in places)
            if inside and all(board[at] == 1 for at in places):
                return True
    return False


def moved(board: Board, action: int, game: rl.InARow) -> tuple[Board, float, bool]:
    """The board after a move, for the other player; the reward, and whether the game is over."""
    row, column = divmod(action, game.columns)
    if game.fall:
        free = np.flatnonzero(board[:, action] == 0)
        row, column = (int(free[-1]) if len(free) else 0), action
    if board[row, column]:
        return board, -1.0, True
    after = board.copy()
    after[row, column] = 1
    won = winner(after, game.length)
    return -after, float(won), won or not (after == 0).any()


GAMES: dict[str, Callable[[], rl.InARow]] = {
    "tic-tac-toe": rl.TicTacToe,
    "connect four": rl.ConnectFour,
    "an oblong": lambda: rl.InARow(3, 5, 4),
}


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("legal", [True, False])
def test_moves_are_those_of_numpy(name: str, legal: bool) -> None:
    game = GAMES[name]()

    def act(seen: ot.Tensor) -> ot.Tensor:
        logits = ot.zeros(game.actions.count) + 0.0 * seen[..., :1]
        return rl.Categorical(rl.only_legal(logits, game.legal(seen)) if legal else logits).sample()

    played = rl.rollout(game, act, (b, i, t))
    found = ot.Program(**played.tensors).compile()(B=20, I=1, T=120)
    wins = 0
    for k in range(20):
        board = np.zeros((game.rows, game.columns), np.int64)
        for step in range(120):
            at = (k, 0, step)
            seen = found["observation"][at].reshape(game.rows, game.columns, 2)
            np.testing.assert_array_equal(seen[..., 0] - seen[..., 1], board)
            board, reward, over = moved(board, int(found["action"][at]), game)
            assert (found["reward"][at], found["terminated"][at]) == (reward, over)
            assert reward >= 0 or not legal
            wins += reward > 0
            board = np.zeros_like(board) if over else board
    assert wins > 0


def test_a_policy_that_played_both_sides_beats_one_that_moves_at_random() -> None:
    game = rl.TicTacToe()
    training = rl.ppo(
        game, games=64, steps=32, iterations=200, epochs=8, learning_rate=2.5e-3,
        activation="relu", discount=1.0, entropy=0.03,
    )  # fmt: skip
    weights = rl.learnt(training, seed=1)
    played = rl.evaluate(rl.Against(game), training.policy, weights, episodes=1000, seed=2)
    # at random each side wins 43 of 100 games
    assert (played.returns > 0).mean() > 0.7 and (played.returns < 0).mean() < 0.02
    itself = rl.Against(game, training.policy.with_weights(weights))
    mirrored = rl.evaluate(itself, training.policy, weights, episodes=500, greedy=False)
    assert abs(mirrored.mean_return) < 0.1


def first_free(seen: ot.Tensor) -> ot.Tensor:
    return (1.0 - seen.reshape((9, 2)).sum(-1)).argmax(-1)


def test_an_opponent_moves_in_between() -> None:
    """Who begins has the places 0, 2, 4 and 6, and wins with the fourth."""
    played = rl.rollout(rl.Against(rl.TicTacToe(), first_free), first_free, (b, i, t))
    found = ot.Program(**played.tensors).compile()(B=40, I=1, T=4)
    begins = found["observation"][:, 0, 0].sum(-1) == 0.0
    assert 5 < begins.sum() < 35
    assert found["reward"][begins, 0].tolist() == [[0, 0, 0, 1]] * int(begins.sum())
    assert found["reward"][~begins, 0, :3].tolist() == [[0, 0, -1]] * int((~begins).sum())
    assert found["terminated"][begins, 0].tolist() == [[False] * 3 + [True]] * int(begins.sum())


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "another algorithm": (
        lambda: rl.a2c(rl.TicTacToe()),
        "`a2c` gets a game of two players in turn\n  Give rl.Against(game), or train both",
    ),
    "replay": (lambda: rl.dqn(rl.TicTacToe()), "`dqn` gets a game of two players in turn"),
    "scaled boards": (
        lambda: rl.ppo(rl.TicTacToe(), normalise_observation=True),
        "scaled observations do not show which actions are legal\n  Leave out",
    ),
    "a memory": (
        lambda: rl.recurrent_ppo(rl.Against(rl.TicTacToe())),
        "an actor of legal actions that does not see what the environment shows\n  Let it",
    ),
    "an opponent in CartPole": (
        lambda: rl.Against(rl.CartPole()),
        "an opponent in `CartPole`, which one plays alone\n  Give a game of two",
    ),
    "an opponent with a memory": (
        lambda: rl.Against(rl.TicTacToe(), rl.Remembering(rl.CartPole(), 3, (3,))),
        "an opponent with a memory, for which a game has no place\n  Give one that decides",
    ),
    "a row that is too long": (
        lambda: rl.InARow(3, 4, 5),
        "5 in a row on a board of 3 x 4\n  Ask for at most 4.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_two_players_cannot_do_is_refused(name: str) -> None:
    mistake, text = REFUSED[name]
    with pytest.raises(ArgumentError) as caught:
        mistake()
    assert text in str(caught.value)

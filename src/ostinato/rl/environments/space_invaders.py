"""Space Invaders, step by step equal to MinAtar's."""

from __future__ import annotations

from ostinato.language.functions.basic import abs as distance
from ostinato.language.functions.basic import arange, minimum, where, zeros
from ostinato.language.functions.repetition import roll
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.rl.environments.boards import SIZE, dot, is_at, layers, moved
from ostinato.rl.environments.environment import Discrete, Game, at_each

COOL_DOWN, ALIEN_SHOT, SLOWEST, FASTEST = 5, 10, 12, 6  # steps
GROUND = SIZE - 1


class SpaceInvaders(Game):
    """A cannon against aliens that come down: stay 0, left 1, right 2, fire 3.

    An alien that is hit is gone, and rewarded with 1; the fewer there are the faster they move,
    and when all are gone new ones come, faster ones with ``ramping``. An episode terminates when
    a bullet or an alien reaches the cannon, or aliens on the ground would come down; it is never
    cut. The state is the column of the ``cannon``, boards of ``aliens``, of ``bullets`` and of
    ``bombs``, which aliens drop, whether aliens move ``right``, every how many steps at most
    (``pace``), and how many steps it takes until the cannon is ``loaded``, aliens move (``move``)
    and the one nearest to the cannon drops a bomb (``shot``). The agent sees the cannon, aliens,
    aliens that move left, aliens that move right, bullets and bombs.

    Source: Young and Tian 2019, MinAtar, with the actions that do something, none of them sticky:
    see `Sticky`.
    """

    actions = Discrete(4)
    observation_shape = (SIZE, SIZE, 6)

    def __init__(self, ramping: bool = True) -> None:
        self.ramping = ramping

    def reset(self, over: Over) -> Record:
        """Return 24 aliens above the cannon, the same at every point."""
        empty = zeros((SIZE, SIZE), "bool")
        return Record(
            cannon=at_each(5, over), aliens=_wave(), bullets=empty, bombs=empty,
            right=as_tensor(False), pace=as_tensor(SLOWEST), loaded=as_tensor(0),
            move=as_tensor(SLOWEST), shot=as_tensor(ALIEN_SHOT),
        )  # fmt: skip

    def observe(self, state: Record) -> Tensor:
        """Return boards with the cannon, aliens, those that move left, right, bullets, bombs."""
        aliens, right = state.aliens, state.right
        cannon = dot(GROUND, state.cannon)
        return layers(cannon, aliens, aliens & ~right, aliens & right, state.bullets, state.bombs)

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, whether it terminated, and that it was not cut."""
        fires = (action == 3) & (state.loaded == 0)
        cannon = moved(state.cannon, action == 1, action == 2)
        own = is_at(cannon, SIZE)
        bullets = _up(state.bullets | (dot(GROUND, state.cannon) & fires))
        bombs = _down(state.bombs)
        reached = (bombs[..., GROUND, :] & own).any() | (state.aliens[..., GROUND, :] & own).any()

        aliens, right, landed = self._marched(state)
        reached = reached | landed | ((state.move == 0) & (aliens[..., GROUND, :] & own).any())
        bombs = bombs | (_nearest(aliens, cannon) & (state.shot == 0))

        hit = aliens & bullets
        left = aliens & ~hit
        count = aliens.cast("int32").sum()
        over = ~left.any()
        move = where(
            state.move == 0, minimum(state.aliens.cast("int32").sum(), state.pace), state.move
        )
        loaded = where(fires, COOL_DOWN, state.loaded)
        faster = (over & (state.pace > FASTEST)).cast("int32") if self.ramping else 0
        following = Record(
            cannon=cannon,
            aliens=left | (over & _wave()),
            bullets=bullets & ~hit,
            bombs=bombs,
            right=right,
            pace=state.pace - faster,
            loaded=loaded - (loaded > 0).cast("int32"),
            move=move - 1,
            shot=where(state.shot == 0, ALIEN_SHOT, state.shot) - 1,
        )
        reward = (count - left.cast("int32").sum()).cast("float32").named("reward")
        return following, reward, reached, as_tensor(False)

    def _marched(self, state: Record) -> tuple[Tensor, Tensor, Tensor]:
        """The aliens after a move, whether they move right, and whether they would leave."""
        aliens, right = state.aliens, state.right
        moves = state.move == 0
        turns = moves & where(right, aliens[..., SIZE - 1].any(), aliens[..., 0].any())
        aside = where(right, roll(aliens, 1, 1), roll(aliens, -1, 1))
        after = where(turns, roll(aliens, 1, 0), where(moves, aside, aliens))
        return after, right ^ turns, turns & aliens[..., GROUND, :].any()


def _wave() -> Tensor:
    """Aliens in the first four rows, but for the two columns at each side."""
    place = arange(SIZE)
    return (place < 4)[:, None] & ((place >= 2) & (place < SIZE - 2))


def _up(board: Tensor) -> Tensor:
    return roll(board, -1, 0) & (arange(SIZE) < GROUND)[:, None]


def _down(board: Tensor) -> Tensor:
    return roll(board, 1, 0) & (arange(SIZE) > 0)[:, None]


def _nearest(aliens: Tensor, cannon: Tensor) -> Tensor:
    """The lowest alien of the column nearest to the cannon, the left one of two, as a board."""
    place = arange(SIZE)
    order = 2 * distance(place - cannon) + (place > cannon).cast("int32")
    column = where(aliens.any(0), order, 2 * SIZE + 1).argmin()
    row = where(aliens & is_at(column, SIZE), place[:, None], -1).max()
    return dot(row, column)

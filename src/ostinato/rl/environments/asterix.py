"""Asterix, step by step equal to MinAtar's."""

from __future__ import annotations

from ostinato.language import random
from ostinato.language.functions.along import cumsum
from ostinato.language.functions.basic import arange, floor, where, zeros
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.rl.environments.boards import LANES, SIZE, dot, in_lanes, layers, moved
from ostinato.rl.environments.environment import Discrete, Game, at_each, points

SPAWN, MOVE, RAMP = 10, 5, 100  # steps


class Asterix(Game):
    """A player collects gold and avoids enemies: stay 0, left 1, up 2, right 3, down 4.

    Enemies and gold cross eight lanes, at most one in each. Gold is rewarded with 1; an episode
    terminates when an enemy meets the player, and is never cut. With ``ramping`` everything comes
    more often and moves faster as time goes on. The state is the player's ``row`` and ``column``,
    for each lane whether something is ``there``, in which of the ``columns``, whether it moves
    ``right`` and is ``gold``, every how many steps something comes (``spawn``) and moves
    (``pace``), how many steps it takes until then (``next``, ``move``) and until the next change
    of speed (``ramp``), and how many of these there were (``level``). The agent sees the player,
    enemies, where enemies and gold were, and gold.

    Source: Young and Tian 2019, MinAtar, with the actions that do something, none of them sticky:
    see `Sticky`.
    """

    actions = Discrete(5)
    observation_shape = (SIZE, SIZE, 4)

    def __init__(self, ramping: bool = True) -> None:
        self.ramping = ramping

    def reset(self, over: Over) -> Record:
        """Return a player in the middle of empty lanes, the same at every point."""
        none = zeros((LANES,), "bool")
        return Record(
            row=as_tensor(5), column=as_tensor(5), there=none, columns=zeros((LANES,), "int32"),
            right=none, gold=none, spawn=as_tensor(SPAWN), pace=as_tensor(MOVE),
            next=at_each(SPAWN, over), move=as_tensor(MOVE), ramp=as_tensor(RAMP),
            level=as_tensor(0),
        )  # fmt: skip

    def observe(self, state: Record) -> Tensor:
        """Return boards with the player, enemies, where they and gold were, and gold."""
        back = state.columns - where(state.right, 1, -1)
        return layers(
            dot(state.row, state.column),
            in_lanes(state.columns, state.there & ~state.gold),
            in_lanes(back, state.there),
            in_lanes(state.columns, state.there & state.gold),
        )

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, whether it terminated, and that it was not cut."""
        comes, from_left, is_gold = _spawned(state, points(state, action))
        there, gold = state.there | comes, where(comes, is_gold, state.gold)
        right = where(comes, from_left, state.right)
        before = where(comes, where(from_left, 0, SIZE - 1), state.columns)
        row = moved(state.row, action == 2, action == 4, 1, SIZE - 2)
        column = moved(state.column, action == 1, action == 3)
        here = arange(LANES) + 1 == row

        # What meets the player before and after it moves.
        met = there & here & (before == column)
        there = there & ~(met & gold)
        moves = state.move == 0
        columns = where(moves, before + where(right, 1, -1), before)
        there = there & (columns >= 0) & (columns < SIZE)
        again = moves & there & here & (columns == column)
        spawn, pace, ramp, level = self._ramped(state)
        following = Record(
            row=row, column=column, there=there & ~(again & gold), columns=columns, right=right,
            gold=gold, spawn=spawn, pace=pace,
            next=where(state.next == 0, state.spawn, state.next) - 1,
            move=where(moves, state.pace, state.move) - 1, ramp=ramp, level=level,
        )  # fmt: skip
        found = ((met & gold) | (again & gold)).any()
        reward = where(found, 1.0, 0.0).named("reward")
        return following, reward, ((met | again) & ~gold).any(), as_tensor(False)

    def _ramped(self, state: Record) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """How often something comes and moves, the steps to the next change, and its level."""
        spawn, pace, ramp, level = state.spawn, state.pace, state.ramp, state.level
        if not self.ramping:
            return spawn, pace, ramp, level
        slow = (spawn > 1) | (pace > 1)
        change = slow & (ramp < 0)
        one = change.cast("int32")
        return (
            spawn - where(spawn > 1, one, 0),
            pace - where((pace > 1) & (level % 2 == 1), one, 0),
            where(change, RAMP, ramp - slow.cast("int32")),
            level + one,
        )


def _spawned(state: Record, over: Over) -> tuple[Tensor, Tensor, Tensor]:
    """In which lane something comes, if in any, whether from the left, and whether it is gold."""
    empty = (~state.there).cast("int32")
    chosen = floor(random.uniform(over=over) * empty.sum().cast("float32")).cast("int32")
    lane = ~state.there & (cumsum(empty, 0) - 1 == chosen) & (state.next == 0)
    return lane, random.bernoulli(0.5, over=over), random.bernoulli(1.0 / 3.0, over=over)

"""Environments by name: those of Gymnasium under the names that they have there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ostinato.language.kinds import Text
from ostinato.pdg.errors import ArgumentError, guess
from ostinato.provenance.place import place
from ostinato.rl.environments.acrobot import Acrobot
from ostinato.rl.environments.against import Against
from ostinato.rl.environments.asterix import Asterix
from ostinato.rl.environments.breakout import Breakout
from ostinato.rl.environments.cartpole import CartPole
from ostinato.rl.environments.catch import Catch
from ostinato.rl.environments.environment import Actions, Discrete, Env
from ostinato.rl.environments.freeway import Freeway
from ostinato.rl.environments.grid_worlds import CliffWalking, FrozenLake, Taxi
from ostinato.rl.environments.in_a_row import ConnectFour, TicTacToe
from ostinato.rl.environments.lander import Lander
from ostinato.rl.environments.mountain_car import MountainCar, MountainCarContinuous
from ostinato.rl.environments.pendulum import Pendulum
from ostinato.rl.environments.small import MemoryChain
from ostinato.rl.environments.space_invaders import SpaceInvaders
from ostinato.rl.environments.wrapper import PartiallyObserved, Sticky
from ostinato.rl.gymnasium.played_outside import Gymnasium
from ostinato.rl.gymnasium.vector_games import Mode

_MINATAR: tuple[Callable[[], Env[Discrete]], ...] = (Asterix, Breakout, Freeway, SpaceInvaders)


def _sticky(game: Callable[[], Env[Discrete]]) -> Env[Discrete]:
    return Sticky(game(), 0.1)


MAKERS: Mapping[str, Callable[[], Env[Actions]]] = {
    "Acrobot-v1": Acrobot,
    "AgainstRandom/ConnectFour": lambda: Against(ConnectFour()),
    "AgainstRandom/TicTacToe": lambda: Against(TicTacToe()),
    "MaskedCartPole": lambda: PartiallyObserved(CartPole(), (0, 2)),
    "MemoryChain": MemoryChain,
    **{f"MinAtar/{game.__name__}-v1": partial(_sticky, game) for game in _MINATAR},
    "CartPole-v1": CartPole,
    "Catch": Catch,
    "CliffWalking-v1": CliffWalking,
    "ConnectFour": ConnectFour,
    "FrozenLake-v1": FrozenLake,
    "FrozenLake8x8-v1": partial(FrozenLake, 8),
    "Lander": Lander,
    "MountainCar-v0": MountainCar,
    "MountainCarContinuous-v0": MountainCarContinuous,
    "Pendulum-v1": Pendulum,
    "Taxi-v3": Taxi,
    "TicTacToe": TicTacToe,
}


OUTSIDE: Mapping[str, Mode] = {
    "gymnasium": "sync",
    "gymnasium-async": "async",
    "envpool": "envpool",
}


def make(name: Text) -> Env[Actions]:
    """Return the environment of a name, with its usual settings.

    After ``gymnasium:`` it is the name of any environment of Gymnasium, which is called: see
    `Gymnasium`. With ``gymnasium-async:`` each game has a process, with ``envpool:`` it is EnvPool
    that plays.

    >>> from ostinato import rl
    >>> rl.make("CartPole-v1").actions
    Discrete(count=2)

    Errors: ArgumentError for a name that no environment has; OptionError if what plays it is not
    installed.
    """
    kind, colon, outside = name.partition(":")
    if colon and kind in OUTSIDE:
        return Gymnasium(outside, mode=OUTSIDE[kind])
    if name not in MAKERS:
        known = f"{', '.join(sorted(MAKERS))}; gymnasium:NAME for any of Gymnasium"
        remedy = f"{guess(name, sorted(MAKERS))}Known: {known}."
        raise ArgumentError(f"there is no environment `{name}`", remedy, place())
    return MAKERS[name]()

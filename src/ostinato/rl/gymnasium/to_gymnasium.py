"""From an environment of equations to one of Gymnasium."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ostinato.language.kinds import Count
from ostinato.pdg.errors import ArgumentError, optional
from ostinato.provenance.place import place
from ostinato.rl.environments.environment import Actions, Env

if TYPE_CHECKING:
    from ostinato.rl.gymnasium.adapters import SingleGame, VectorOfGames

Autoreset = Literal["next-step", "same-step", "disabled"]
MOST = 2**24
MODES = {"next-step": "NEXT_STEP", "same-step": "SAME_STEP", "disabled": "DISABLED"}


def to_gymnasium(
    env: Env[Actions], *, render_mode: Literal["rgb_array"] | None = None
) -> SingleGame:
    """Return an environment as a ``gymnasium.Env``: one game, stepped by compiled code.

    Draws follow from the seed of ``reset``. With ``render_mode="rgb_array"`` it draws itself.

    Errors: OptionError if Gymnasium is not installed.

    >>> from ostinato import rl
    >>> env = rl.to_gymnasium(rl.CartPole())
    >>> seen, _ = env.reset(seed=1)
    >>> seen, reward, terminated, truncated, _ = env.step(1)
    >>> seen.shape, reward, terminated
    ((4,), 1.0, False)
    """
    optional("gymnasium", "gym")
    from ostinato.rl.gymnasium.adapters import SingleGame

    return SingleGame(env, render_mode)


def to_gymnasium_vector(
    env: Env[Actions], n: Count, *, autoreset: Autoreset = "next-step"
) -> VectorOfGames:
    """Return ``n`` games as a ``gymnasium.vector.VectorEnv``, stepped by one compiled program.

    Games that ended begin again in the next step, in the same one, or by
    ``reset(options={"reset_mask": ...})``, as Gymnasium has these modes.

    Errors: OptionError if Gymnasium is not installed; ArgumentError for more than 2**24 games.

    >>> import numpy as np
    >>> from ostinato import rl
    >>> envs = rl.to_gymnasium_vector(rl.CartPole(), 3)
    >>> seen, _ = envs.reset(seed=1)
    >>> envs.step(np.array([0, 1, 1]))[1].tolist()
    [1.0, 1.0, 1.0]
    """
    if n > MOST:
        raise ArgumentError(f"{n:,} games at once", f"Give at most {MOST:,}.", place())
    vector: Any = optional("gymnasium.vector", "gym")
    from ostinato.rl.gymnasium.adapters import VectorOfGames

    return VectorOfGames(env, n, getattr(vector.AutoresetMode, MODES[autoreset]))

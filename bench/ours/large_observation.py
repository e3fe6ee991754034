"""PPO on a game that is seen as images: how much of all images is in memory at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import ostinato as ot
from bench.ours.compiled import EXAMPLES
from bench.ours.memory import peak
from ostinato import rl
from ostinato.cli.program_file import load_function
from ostinato.language.record import Record

UPDATES = 2  # the second one needs what the first one has learnt
SHARPNESS = 8.0  # of the spot


class SeenCartPole(rl.CartPole):
    """CartPole, of which images are seen: a spot that moves with the cart, and with the pole."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.side = side
        self.observation_shape = (3 * side * side,)

    def observe(self, state: Record) -> ot.Tensor:
        places = (2.0 * ot.arange(self.side).cast("float32") + 1.0) / self.side - 1.0
        x, _, angle, _ = (state.motion[..., k] for k in range(4))
        across = ot.exp(-SHARPNESS * ot.square(places - x[..., None]))
        down = ot.exp(-SHARPNESS * ot.square(places - 4.0 * angle[..., None]))
        spot = (down[..., :, None] * across[..., None, :]).reshape(self.side**2)
        return (ot.constant([1.0, 0.5, 0.25])[..., :, None] * spot[..., None, :]).reshape(
            3 * self.side**2
        )


def program(side: int, hidden: int) -> ot.Program:
    """Return the program of the example ``ppo_cartpole``, for images."""
    made: Any = load_function(f"{EXAMPLES / 'ppo_cartpole.py'}:ppo")
    found = made(SeenCartPole(side), hidden=(hidden,), cut_is_over=True)
    assert isinstance(found, ot.Program), "the example is a program"
    return found


def ppo(
    side: int,
    hidden: int,
    envs: int,
    steps: int,
    epochs: int,
    storage: str = "float32",
    limit_mib: int = 0,
) -> Callable[[], dict[str, float]]:
    """Return a sampler of steps of the game in a second, and of bytes of the peak.

    Values that are kept for later loops, such as images, have the type ``storage``. With
    ``limit_mib`` the program fits into so many MiB: images are drawn again.
    """
    extents: dict[str, Any] = {"B": envs, "T": steps, "E": epochs, "I": UPDATES}
    limit = limit_mib << 20 or None
    made = program(side, hidden)
    compiled = made.compile(hints=extents, storage=storage, memory_limit=limit)

    def sample() -> dict[str, float]:
        begun = time.perf_counter()
        compiled(**extents, seed=0)
        seconds = time.perf_counter() - begun
        rate = UPDATES * steps * envs / seconds
        return {"env_steps/s": rate, "peak_bytes": float(peak(compiled, extents))}

    return sample

"""From the states of an episode to frames, and to a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ostinato.compiler.program import Program
from ostinato.language.dims import dims
from ostinato.language.record import Record
from ostinato.language.recurrent import input
from ostinato.pdg.errors import ArgumentError, OptionError, to_write
from ostinato.pdg.functions import Array
from ostinato.provenance.place import place
from ostinato.rl.drawing import pictures
from ostinato.rl.drawing.canvas import Picture, pillow
from ostinato.rl.environments.acrobot import Acrobot
from ostinato.rl.environments.cartpole import CartPole
from ostinato.rl.environments.environment import Actions, Env
from ostinato.rl.environments.grid_worlds import CliffWalking, FrozenLake, Taxi
from ostinato.rl.environments.lander import Lander
from ostinato.rl.environments.mountain_car import MountainCar, MountainCarContinuous
from ostinato.rl.environments.pendulum import Pendulum
from ostinato.rl.environments.wrapper import Wrapper

State = Mapping[str, Array]
SLOWEST, FASTEST = 0.1, 100  # pictures per second: a GIF counts hundredths
WIDEST = 2**16 - 1  # pixels of a GIF
BY_STATE: Mapping[type, Callable[[State], Picture]] = {
    Acrobot: pictures.acrobot,
    CartPole: pictures.cart_pole,
    CliffWalking: pictures.cliff,
    Lander: pictures.lander,
    MountainCar: pictures.mountain_car,
    MountainCarContinuous: pictures.mountain_car,
    Pendulum: pictures.pendulum,
    Taxi: pictures.streets,
}


@runtime_checkable
class Draws(Protocol):
    """An environment that draws itself."""

    def draw(self, state: State) -> Picture:
        """Return a picture of a state: (height, width, 3) bytes."""
        ...


def frames(env: Env[Actions], states: Sequence[State]) -> list[Picture]:
    """Return a picture of each state.

    Errors: OptionError without Pillow; ArgumentError for an environment without a picture, and for
    what is no state of it.

    >>> import numpy as np
    >>> from ostinato import rl
    >>> rl.frames(rl.Pendulum(), [{"angle": np.array(0.5)}])[0].shape
    (200, 200, 3)
    """
    while isinstance(env, Wrapper):
        env = env.env
    if isinstance(env, Draws):
        return [env.draw(state) for state in states]
    try:
        return _drawn(env, states)
    except KeyError as lack:
        fact = f"a state of {type(env).__name__} lacks `{lack.args[0]}`"
        remedy = f"Give {', '.join(env.state.fields)} by name."
        raise ArgumentError(fact, remedy, place()) from None


def _drawn(env: Env[Actions], states: Sequence[State]) -> list[Picture]:
    """The pictures of an environment that is drawn here."""
    if isinstance(env, FrozenLake):
        return [pictures.lake(env, state) for state in states]
    known = BY_STATE.get(type(env))
    if known is not None:
        return [known(state) for state in states]
    if len(env.observation_shape) in (2, 3):
        return [pictures.board(seen) for seen in _seen(env, states)]
    fact = f"{type(env).__name__} has no picture"
    raise ArgumentError(fact, "Give it a method draw(state): (height, width, 3) bytes.")


def _seen(env: Env[Actions], states: Sequence[State]) -> Array:
    """What an agent sees in each state."""
    t = dims("frame")
    kinds = env.state.fields  # a wrapper keeps more
    inputs = {n: input(n, kind.shape, kind.dtype, over=t) for n, kind in kinds.items()}
    program = Program(seen=env.observe(Record(**inputs)))
    given = {name: np.stack([state[name] for state in states]) for name in program.inputs}
    return program.compile()(**given)["seen"]


def write_gif(path: str | Path, pictures: Sequence[Picture], per_second: float = 30.0) -> None:
    """Write pictures as a GIF that begins again at its end.

    Errors: OptionError without Pillow, and if the file cannot be written; ArgumentError for what is
    no picture.
    """
    image, where = pillow("Image"), place()
    if not SLOWEST <= per_second <= FASTEST:
        fact = f"a film of {per_second:g} pictures a second"
        raise ArgumentError(fact, f"Give from {SLOWEST} to {FASTEST}.", where)
    arrays = [np.asarray(picture) for picture in pictures]
    if not arrays or any(a.dtype != np.uint8 or a.shape[2:] != (3,) for a in arrays):
        fact = "a film is made of something else than pictures" if arrays else "a film of nothing"
        raise ArgumentError(fact, "Give arrays of (height, width, 3) bytes.", where)
    sizes = {array.shape[:2] for array in arrays}
    if len(sizes) > 1 or not all(0 < size <= WIDEST for size in arrays[0].shape[:2]):
        fact = f"a film of pictures of {', '.join(f'{h} x {w}' for h, w in sorted(sizes))}"
        raise ArgumentError(fact, f"Give pictures of one size, from 1 to {WIDEST:,}.", where)
    shown: list[Any] = [image.fromarray(array).quantize(64) for array in arrays]
    try:
        with Path(path).open("wb") as file:
            shown[0].save(
                file, "GIF", save_all=True, append_images=shown[1:], loop=0,
                duration=round(1000 / per_second),
            )  # fmt: skip
    except OSError as failure:
        fact = f"`{path}` cannot be written: {failure.strerror}"
        raise OptionError(fact, to_write(failure), where) from None

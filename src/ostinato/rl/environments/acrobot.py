"""Acrobot, step by step equal to Gymnasium's Acrobot-v1."""

from __future__ import annotations

import math

from ostinato.language import random
from ostinato.language.array.dtypes import DtypeName
from ostinato.language.functions.basic import abs as magnitude
from ostinato.language.functions.basic import (
    ceil,
    clip,
    cos,
    maximum,
    sign,
    sin,
    stack,
    unstack,
    where,
)
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.rl.environments.environment import Discrete, Game, real

GRAVITY, STEP_S = 9.8, 0.2
LENGTH, MASS, CENTRE, INERTIA = 1.0, 1.0, 0.5, 1.0  # of each link
MAX_SPEEDS = 4 * math.pi, 9 * math.pi
MAX_STEPS = 500


class Acrobot(Game):
    """Two links, of which the joint between them is driven until the end swings up.

    The state is ``motion`` (the angle of the first link, that of the second one to it, and their
    speeds) and ``steps``. Actions 0, 1, 2 are torques of -1, 0, 1. An episode terminates when the
    end is a link's length above the fixed joint, and is cut after 500 steps. The reward is -1 for
    every step but the last one.

    Units: radians, radians per second, newton metres; a step is 0.2 s.
    Source: Sutton 1996; equations of motion of Sutton and Barto's book, constants and order of
    operations as in Gymnasium's ``Acrobot-v1``.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b = ot.dims("b")
    >>> env = rl.Acrobot()
    >>> env.observe(env.reset(over=b))
    <float32[6] over (b)>
    """

    observation_shape = (6,)
    actions = Discrete(3)

    def __init__(self, dtype: DtypeName = "float32") -> None:
        self.dtype = real(dtype, "Acrobot")

    def reset(self, over: Over) -> Record:
        """Return angles and speeds drawn from [-0.1, 0.1), at every point of ``over``."""
        motion = random.uniform((4,), -0.1, 0.1, over=over, dtype=self.dtype)
        return Record(motion=motion, steps=as_tensor(0))

    def observe(self, state: Record) -> Tensor:
        """Return cosine and sine of both angles, and the speeds."""
        first, second, *speeds = unstack(state.motion)
        return stack([cos(first), sin(first), cos(second), sin(second), *speeds])

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, whether it terminated, and whether it was cut."""
        torque = (action - 1).cast(self.dtype)
        first, second, *speeds = unstack(_runge_kutta(state.motion, torque))
        limited = [clip(v, -most, most) for v, most in zip(speeds, MAX_SPEEDS, strict=True)]
        first, second = _wrapped(first), _wrapped(second)
        motion = stack([first, second, *limited]).named("motion")
        terminated = -cos(first) - cos(second + first) > 1.0
        reward = where(terminated, 0.0, -1.0).named("reward")
        steps = state.steps + 1
        return Record(motion=motion, steps=steps), reward, terminated, steps >= MAX_STEPS


def _wrapped(angle: Tensor) -> Tensor:
    """An angle from -pi to pi."""
    turns = maximum(ceil((magnitude(angle) - math.pi) / (2 * math.pi)), 0.0)
    return angle - sign(angle) * turns * (2 * math.pi)


def _runge_kutta(motion: Tensor, torque: Tensor) -> Tensor:
    """The motion a step later, by the method of order 4."""
    half = STEP_S / 2.0
    k1 = _slope(motion, torque)
    k2 = _slope(motion + half * k1, torque)
    k3 = _slope(motion + half * k2, torque)
    k4 = _slope(motion + STEP_S * k3, torque)
    return motion + STEP_S / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def _slope(motion: Tensor, torque: Tensor) -> Tensor:
    """The speeds, and the accelerations."""
    first, second, spin, bend = unstack(motion)
    reach = LENGTH**2 + CENTRE**2 + 2 * LENGTH * CENTRE * cos(second)
    d1 = MASS * CENTRE**2 + MASS * reach + INERTIA + INERTIA
    d2 = MASS * (CENTRE**2 + LENGTH * CENTRE * cos(second)) + INERTIA
    phi2 = MASS * CENTRE * GRAVITY * cos(first + second - math.pi / 2.0)
    coupled = MASS * LENGTH * CENTRE * sin(second)
    phi1 = (
        -coupled * bend**2
        - 2 * coupled * bend * spin
        + (MASS * CENTRE + MASS * LENGTH) * GRAVITY * cos(first - math.pi / 2)
        + phi2
    )
    pushed = torque + d2 / d1 * phi1 - coupled * spin**2 - phi2
    bending = pushed / (MASS * CENTRE**2 + INERTIA - d2**2 / d1)
    return stack([spin, bend, -(d2 * bending + phi1) / d1, bending])

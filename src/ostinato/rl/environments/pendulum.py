"""Pendulum, step by step equal to Gymnasium's Pendulum-v1."""

from __future__ import annotations

import math

from ostinato.language import random
from ostinato.language.array.dtypes import DtypeName
from ostinato.language.functions.basic import clip, cos, floor, sin, stack
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.rl.environments.environment import Box, Game, real

GRAVITY, MASS, LENGTH, STEP_S = 10.0, 1.0, 1.0, 0.05
MAX_SPEED, MAX_TORQUE, MAX_STEPS = 8.0, 2.0, 200


class Pendulum(Game):
    """A pole that is to be swung up and held by a motor too weak to do so at once.

    The state is ``angle`` (0 is upright), ``speed`` and ``steps``. The action is a torque of at
    most 2 in either direction; a greater one counts as 2. The reward is minus a cost of the angle,
    the speed and the torque. An episode never terminates and is cut after 200 steps.

    Units: radians, radians per second, newton metres; a step is 0.05 s.
    Source: constants and order of operations as in Gymnasium's ``Pendulum-v1``.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b = ot.dims("b")
    >>> env = rl.Pendulum()
    >>> env.observe(env.reset(over=b))
    <float32[3] over (b)>
    """

    observation_shape = (3,)
    actions = Box(1, -MAX_TORQUE, MAX_TORQUE)

    def __init__(self, dtype: DtypeName = "float32") -> None:
        self.dtype = real(dtype, "Pendulum")

    def reset(self, over: Over) -> Record:
        """Return any angle, and a speed of at most 1, at every point of ``over``."""
        angle = random.uniform((), -math.pi, math.pi, over=over, dtype=self.dtype)
        speed = random.uniform((), -1.0, 1.0, over=over, dtype=self.dtype)
        return Record(angle=angle, speed=speed, steps=as_tensor(0))

    def observe(self, state: Record) -> Tensor:
        """Return cosine and sine of the angle, and the speed."""
        return stack([cos(state.angle), sin(state.angle), state.speed])

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, that it did not terminate, and whether it was cut."""
        torque = clip(action[..., 0], -MAX_TORQUE, MAX_TORQUE).cast(self.dtype)
        turns = (state.angle + math.pi) / (2 * math.pi)
        upright = (turns - floor(turns)) * (2 * math.pi) - math.pi
        cost = upright**2 + 0.1 * state.speed**2 + 0.001 * torque**2
        pull = 3 * GRAVITY / (2 * LENGTH) * sin(state.angle) + 3.0 / (MASS * LENGTH**2) * torque
        speed = clip(state.speed + pull * STEP_S, -MAX_SPEED, MAX_SPEED).named("speed")
        angle = (state.angle + speed * STEP_S).named("angle")
        steps = state.steps + 1
        never = steps < 0  # one truth per step: a constant would have no dimensions
        return Record(angle=angle, speed=speed, steps=steps), -cost, never, steps >= MAX_STEPS

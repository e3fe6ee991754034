"""MountainCar, step by step equal to Gymnasium's MountainCar-v0 and MountainCarContinuous-v0."""

from __future__ import annotations

from ostinato.language import random
from ostinato.language.array.dtypes import DtypeName
from ostinato.language.functions.basic import clip, cos, stack, where
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.rl.environments.environment import Box, Discrete, Game, real

LEFT, RIGHT = -1.2, 0.6
MAX_SPEED = 0.07
GRAVITY = 0.0025
FORCE, GOAL, MAX_STEPS = 0.001, 0.5, 200
POWER, CONTINUOUS_GOAL, MAX_CONTINUOUS_STEPS = 0.0015, 0.45, 999


class _Car(Game):
    """A car in a valley that reaches the hill on the right only after gaining speed on the left."""

    observation_shape = (2,)

    def __init__(self, dtype: DtypeName = "float32") -> None:
        self.dtype = real(dtype, type(self).__name__)

    def reset(self, over: Over) -> Record:
        """Return a position in [-0.6, -0.4) at rest, at every point of ``over``."""
        position = random.uniform((), -0.6, -0.4, over=over, dtype=self.dtype)
        return Record(position=position, speed=as_tensor(0.0).cast(self.dtype), steps=as_tensor(0))

    def observe(self, state: Record) -> Tensor:
        """Return position and speed."""
        return stack([state.position, state.speed])

    def _driven(self, state: Record, speed: Tensor) -> Record:
        """The next state at a speed."""
        speed = clip(speed, -MAX_SPEED, MAX_SPEED)
        position = clip(state.position + speed, LEFT, RIGHT).named("position")
        stopped = where((position <= LEFT) & (speed < 0.0), 0.0, speed).named("speed")
        return Record(position=position, speed=stopped, steps=state.steps + 1)


class MountainCar(_Car):
    """A car that is pushed left (0), not (1) or right (2) until it is on top of the hill.

    The state is ``position``, ``speed`` and ``steps``. An episode terminates at position 0.5 and is
    cut after 200 steps. The reward is -1 for every step.

    Source: Moore 1990; constants and order of operations as in Gymnasium's ``MountainCar-v0``.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b = ot.dims("b")
    >>> env = rl.MountainCar()
    >>> env.observe(env.reset(over=b))
    <float32[2] over (b)>
    """

    actions = Discrete(3)

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, whether it terminated, and whether it was cut."""
        push = (action - 1).cast(self.dtype) * FORCE
        following = self._driven(state, state.speed + push - GRAVITY * cos(3.0 * state.position))
        terminated = (following.position >= GOAL) & (following.speed >= 0.0)
        reward = where(terminated, -1.0, -1.0).named("reward")  # one per step
        return following, reward, terminated, following.steps >= MAX_STEPS


class MountainCarContinuous(_Car):
    """A car that is pushed with a force from -1 to 1 until it is on top of the hill.

    The state is ``position``, ``speed`` and ``steps``. An episode terminates at position 0.45 and
    is cut after 999 steps. The reward is 100 at the end, less a tenth of the squared force.

    Source: constants and order of operations as in Gymnasium's ``MountainCarContinuous-v0``.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b = ot.dims("b")
    >>> rl.MountainCarContinuous().actions
    Box(size=1, low=-1.0, high=1.0)
    """

    actions = Box(1, -1.0, 1.0)

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, whether it terminated, and whether it was cut."""
        asked = action[..., 0].cast(self.dtype)
        force = clip(asked, -1.0, 1.0)
        pull = force * POWER - GRAVITY * cos(3.0 * state.position)
        following = self._driven(state, state.speed + pull)
        terminated = (following.position >= CONTINUOUS_GOAL) & (following.speed >= 0.0)
        reward = where(terminated, 100.0, 0.0).cast(self.dtype) - 0.1 * asked**2
        return following, reward, terminated, following.steps >= MAX_CONTINUOUS_STEPS

"""CartPole, step by step equal to Gymnasium's CartPole-v1."""

from __future__ import annotations

import math

from ostinato.language import random
from ostinato.language.array.dtypes import DtypeName
from ostinato.language.functions.basic import cos, sin, square, stack, unstack, where
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.rl.environments.environment import Discrete, Game, real

GRAVITY = 9.8
POLE_MASS = 0.1
TOTAL_MASS = POLE_MASS + 1.0
LENGTH = 0.5  # half the pole, in metres
POLE_MASS_LENGTH = POLE_MASS * LENGTH
FORCE = 10.0
STEP_S = 0.02
MAX_ANGLE = 12 * 2 * math.pi / 360
MAX_POSITION = 2.4
MAX_STEPS = 500


class CartPole(Game):
    """A cart that balances a pole; action 1 pushes it right, any other one left.

    The state is ``motion`` (position, velocity, angle, angular velocity) and ``steps``, the number
    of steps taken. An episode terminates when the cart is more than 2.4 m away or the pole leans by
    more than 12 degrees, and is cut after 500 steps. The reward is 1 for every step, the last one
    included.

    Units: metres, radians, seconds; a step is 0.02 s.
    Source: Barto, Sutton and Anderson 1983; constants and order of operations as in Gymnasium's
    ``CartPole-v1``, so that float64 gives its numbers.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, t = ot.dims("b t")
    >>> env = rl.CartPole()
    >>> state = ot.recurrent("state", like=env.state, over=(b, t))
    >>> state[b, 0] = env.reset(over=b)
    >>> state[b, t + 1] = env.step(state, action=ot.index(t) % 2)[0]
    >>> ot.Program(motion=state.motion).interpret(B=2, T=3)["motion"].shape
    (2, 3, 4)
    """

    observation_shape = (4,)
    actions = Discrete(2)

    def __init__(self, dtype: DtypeName = "float32") -> None:
        self.dtype = real(dtype, "CartPole")

    def reset(self, over: Over) -> Record:
        """Return states with every value drawn from [-0.05, 0.05), at every point of ``over``."""
        motion = random.uniform((4,), -0.05, 0.05, over=over, dtype=self.dtype)
        return Record(motion=motion, steps=as_tensor(0))

    def observe(self, state: Record) -> Tensor:
        return state.motion

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, whether it terminated, and whether it was cut."""
        x, v, angle, spin = unstack(state.motion)
        pull, push = _accelerations(angle, spin, action)
        # Euler: positions move with the speeds before the step.
        x, v = (x + STEP_S * v).named("position"), (v + STEP_S * push).named("velocity")
        angle = (angle + STEP_S * spin).named("angle")
        spin = (spin + STEP_S * pull).named("spin")
        steps = state.steps + 1
        terminated = (
            (x < -MAX_POSITION) | (x > MAX_POSITION) | (angle < -MAX_ANGLE) | (angle > MAX_ANGLE)
        )
        following = Record(motion=stack([x, v, angle, spin]), steps=steps)
        # One per step, which is read along the steps: a constant would have no dimensions.
        reward = where(terminated, 1.0, 1.0).named("reward")
        return following, reward, terminated, steps >= MAX_STEPS


def _accelerations(angle: Tensor, spin: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
    """Of the pole and of the cart, per second squared."""
    force = where(action == 1, FORCE, -FORCE).cast(angle.dtype)
    cosine, sine = cos(angle), sin(angle)
    pushed = (force + POLE_MASS_LENGTH * square(spin) * sine) / TOTAL_MASS
    pole = (GRAVITY * sine - cosine * pushed) / (
        LENGTH * (4.0 / 3.0 - POLE_MASS * square(cosine) / TOTAL_MASS)
    )
    return pole, pushed - POLE_MASS_LENGTH * pole * cosine / TOTAL_MASS

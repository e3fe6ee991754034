"""A lander like Gymnasium's LunarLander-v3, without its engine of physics."""

from __future__ import annotations

from ostinato.language import random
from ostinato.language.functions.basic import clip, cos, sin, sqrt, stack, where
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from ostinato.rl.environments.environment import Discrete, Game, at_each

STEP_S, GRAVITY = 0.02, 10.0
HEIGHT, MAX_STEPS = 9.4, 1000  # where it begins, above the pad
MAIN, SIDE, TURN = 17.5, 2.4, 6.7  # what the engines accelerate: m/s^2, rad/s^2
FEET = (-0.667, 0.667)  # across, in the frame of the body
LEG, BELLY, WIDTH = 0.6, 0.333, 0.567  # how far feet and belly are below the centre
INERTIA = 0.17  # per mass: m^2
SPRING, DAMPING, FRICTION = 200.0, 6.0, 4.0  # of each foot, per mass
BREAKS = 4.0  # m/s: a foot that comes down faster
HALF_WIDTH, HALF_HEIGHT = 10.0, 6.667  # of what Gymnasium shows
STILL, STILL_STEPS = 0.05, 25


class Lander(Game):
    """A lander to be brought down onto a pad: nothing 0, left engine 1, main engine 2, right 3.

    The state is ``motion``, which is position, speed, angle and spin, ``legs``, which touch the
    ground, what it is ``worth``, for how many steps it lay ``still``, and ``steps``. The agent sees
    the eight numbers of Gymnasium, and is rewarded likewise: for coming closer, slower and
    upright, less for fuel, with -100 for a crash or leaving, and 100 for lying still. An episode
    terminates then, and is cut after 1000 steps.

    Source: the sizes, engines and rewards of Gymnasium's ``LunarLander-v3``. What differs: the
    ground is flat; the lander is one rigid body, whose feet stand on springs with friction; it
    crashes where its belly touches the ground, or a foot at more than 4 m/s; engines do not
    sputter; it lies still after half a second below 0.05 m/s.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> env = rl.Lander()
    >>> env.observe(env.reset(over=ot.dims("b")))
    <float32[8] over (b)>
    """

    actions = Discrete(4)
    observation_shape = (8,)

    def reset(self, over: Over) -> Record:
        """Return a lander high above the pad that was pushed anywhere."""
        push = random.uniform((2,), -4.0, 4.0, over=over)
        zero = 0.0 * push[..., 0]
        motion = stack([zero, zero + HEIGHT, push[..., 0], push[..., 1], zero, zero])
        legs, none = stack([zero > 0.0, zero > 0.0]), at_each(0, over)
        worth = _worth(_seen(motion, legs))
        return Record(motion=motion, legs=legs, worth=worth, still=none, steps=none)

    def observe(self, state: Record) -> Tensor:
        """Return position, speed, angle and spin as Gymnasium scales them, and what legs touch."""
        return _seen(state.motion, state.legs)

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, whether it terminated, and whether it was cut."""
        x, y, vx, vy, angle, spin = (state.motion[..., k] for k in range(6))
        up, right = (-sin(angle), cos(angle)), (cos(angle), sin(angle))
        main, turn = where(action == 2, MAIN, 0.0), where(action == 1, 1.0, 0.0)
        turn = turn - where(action == 3, 1.0, 0.0)
        ax = main * up[0] - SIDE * turn * right[0]
        ay = main * up[1] - SIDE * turn * right[1] - GRAVITY
        torque = TURN * turn
        touching: list[Tensor] = []
        for foot in FEET:  # a spring pushes up, and the ground holds back
            across = foot * right[0] - LEG * up[0]
            below = foot * right[1] - LEG * up[1]
            depth = -(y + LEG + below)  # the ground is where feet are with the body at 0
            touches = depth > 0.0
            push = clip(SPRING * depth - DAMPING * (vy + spin * across), 0.0, 1e3)
            push = where(touches, push, 0.0)
            hold = where(touches, -FRICTION * (vx - spin * below), 0.0)
            ax, ay = ax + hold, ay + push
            torque = torque + (across * push - below * hold) / INERTIA
            touching.append(touches)
        vx, vy, spin = vx + STEP_S * ax, vy + STEP_S * ay, spin + STEP_S * torque
        x, y, angle = x + STEP_S * vx, y + STEP_S * vy, angle + STEP_S * spin
        motion = stack([x, y, vx, vy, angle, spin]).named("motion")
        legs = stack(touching)
        broken = (legs & ~state.legs).any(-1) & (state.motion[..., 3] < -BREAKS)
        return self._judged(state, motion, legs, action, broken)

    def _judged(
        self, state: Record, motion: Tensor, legs: Tensor, action: Tensor, broken: Tensor
    ) -> tuple[Record, Tensor, Tensor, Tensor]:
        """The next state with its reward, and whether the episode ends."""
        x, y, vx, vy, angle, spin = (motion[..., k] for k in range(6))
        belly = y + LEG - BELLY * cos(angle) - WIDTH * sqrt(sin(angle) ** 2)
        lost = broken | (belly <= 0.0) | (abs(x) >= HALF_WIDTH)
        slow = legs.all(-1) & (vx * vx + vy * vy < STILL**2) & (abs(spin) < STILL)
        still, steps = where(slow, state.still + 1, 0), state.steps + 1
        landed = still >= STILL_STEPS
        worth = _worth(_seen(motion, legs))
        fuel = where(action == 2, 0.3, where(action == 0, 0.0, 0.03))
        reward = where(lost, -100.0, where(landed, 100.0, worth - state.worth - fuel))
        after = Record(motion=motion, legs=legs, worth=worth, still=still, steps=steps)
        return after, reward.named("reward"), lost | landed, steps >= MAX_STEPS


def _seen(motion: Tensor, legs: Tensor) -> Tensor:
    x, y, vx, vy, angle, spin = (motion[..., k] for k in range(6))
    left, right = (legs[..., k].cast("float32") for k in range(2))
    place = (x / HALF_WIDTH, y / HALF_HEIGHT)
    speed = (vx * (HALF_WIDTH * STEP_S), vy * (HALF_HEIGHT * STEP_S))
    return stack([*place, *speed, angle, 20.0 * STEP_S * spin, left, right])


def _worth(seen: Tensor) -> Tensor:
    """How near, slow and upright it is, in points."""
    x, y, vx, vy, angle, _, left, right = (seen[..., k] for k in range(8))
    apart = sqrt(x * x + y * y) + sqrt(vx * vx + vy * vy) + abs(angle)
    return -100.0 * apart + 10.0 * (left + right)

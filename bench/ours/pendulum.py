"""Pendulum as equations, step by step equal to Gymnasium's Pendulum-v1."""

from __future__ import annotations

import math

import ostinato as ot
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor

GRAVITY, MASS, LENGTH, STEP_S = 10.0, 1.0, 1.0, 0.05
MAX_SPEED, MAX_TORQUE, MAX_STEPS = 8.0, 2.0, 200


def reset(over: Over = ()) -> Record:
    """Return an angle in [-pi, pi) and a speed in [-1, 1), at every point of ``over``."""
    angle = ot.random.uniform((), -math.pi, math.pi, over=over)
    return Record(
        angle=angle, speed=ot.random.uniform((), -1.0, 1.0, over=over), steps=as_tensor(0)
    )


def step(state: Record, torque: Tensor) -> tuple[Record, Tensor, Tensor]:
    """Return the next state, the reward, and whether the episode is cut."""
    pushed = ot.clip(torque, -MAX_TORQUE, MAX_TORQUE)
    turns = (state.angle + math.pi) / (2 * math.pi)
    upright = (turns - ot.floor(turns)) * (2 * math.pi) - math.pi
    cost = upright**2 + 0.1 * state.speed**2 + 0.001 * pushed**2
    pull = 3 * GRAVITY / (2 * LENGTH) * ot.sin(state.angle) + 3.0 / (MASS * LENGTH**2) * pushed
    speed = ot.clip(state.speed + pull * STEP_S, -MAX_SPEED, MAX_SPEED)
    angle, steps = state.angle + speed * STEP_S, state.steps + 1
    return Record(angle=angle, speed=speed, steps=steps), -cost, steps >= MAX_STEPS

"""The example program, and small ones whose sums cross the tiles that workers share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

import ostinato as ot
from ostinato import rl
from ostinato.cli.program_file import load_function

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "reinforce_cartpole.py"
Values = npt.NDArray[np.float32]


def reinforce() -> ot.Program:
    """Return the example: REINFORCE on CartPole with two layers of 64."""
    program = load_function(f"{EXAMPLE}:reinforce")(rl.CartPole())
    assert isinstance(program, ot.Program)
    return program


def normalised() -> ot.Program:
    """Return values against mean and deviation over all episodes and steps."""
    b, t = ot.dims("b t")
    x = ot.random.normal(over=(b, t))
    centred = x - x[:, :].mean()
    return ot.Program(y=centred / ot.sqrt((centred**2)[:, :].mean()), top=x[:, t].max())


def shared_weight() -> ot.Program:
    """Return gradient descent on one weight vector that all rows share."""
    b, i, t = ot.dims("b i t")
    weight = ot.recurrent("weight", (3,), over=i)
    x = ot.random.normal((3,), over=(b, t))
    miss = ot.tanh(x @ weight) - x.sum()
    loss = (miss**2)[:, i, :].mean()
    weight[0] = 0.1
    weight[i + 1] = weight - 0.1 * ot.grad(loss, weight)
    return ot.Program(loss=loss, weight=weight)


def crowd() -> ot.Program:
    """Return rows that move towards their common mean, step by step."""
    b, t = ot.dims("b t")
    place = ot.recurrent("place", (2,), over=(b, t))
    place[b, 0] = ot.random.uniform((2,), over=b)
    place[b, t + 1] = 0.9 * place + 0.1 * place[:, t].mean(0)
    spread = place[:, t].var(0).sum()
    return ot.Program(place=place, spread=spread)


def grid(size: int = 256) -> ot.Program:
    """Heat on a torus: every row of a step needs its neighbours of the step before."""
    t = ot.dims("t")
    x = ot.recurrent("x", (size, size), over=t)
    beside = ot.roll(x, 1, 0) + ot.roll(x, -1, 0) + ot.roll(x, 1, 1) + ot.roll(x, -1, 1)
    x[0] = ot.random.normal((size, size))
    x[t + 1] = x + 0.1 * (beside - 4.0 * x)
    return ot.Program(last=x[t.size - 1])


SMALL: dict[str, tuple[Callable[[], ot.Program], dict[str, int]]] = {
    "normalised": (normalised, {"B": 70, "T": 9}),
    "shared_weight": (shared_weight, {"B": 70, "T": 5, "I": 4}),
    "crowd": (crowd, {"B": 70, "T": 6}),
}

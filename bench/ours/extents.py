"""Programs whose extents are small, and trainings that run side by side."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from bench.harness.timing import rates
from ostinato import nn, rl

STEPS = 16


def seeds(seeds: int, games: int, threads: int = 0) -> Callable[[], float]:
    """All seeds in one program."""
    program = rl.a2c(rl.CartPole(), over=ot.dims("k")).program
    run = program.compile(threads=threads)
    extents = {"B": games, "T": STEPS, "K": seeds}
    return rates(lambda iterations: run(**extents, I=iterations), seeds * games * STEPS)


def one_by_one(seeds: int, games: int, threads: int = 0) -> Callable[[], float]:
    """The program of one seed, once for each."""
    run = rl.a2c(rl.CartPole()).program.compile(threads=threads)
    extents = {"B": games, "T": STEPS}

    def trained(iterations: int) -> None:
        for seed in range(seeds):
            run(**extents, I=iterations, seed=seed)

    return rates(trained, seeds * games * STEPS)


def generation() -> ot.Program:
    """A token at a time: what a step attends to depends on the steps before it."""
    b, t = ot.dims("b t")
    token = ot.recurrent("token", shape=(32,), over=(b, t))
    attended = nn.Attention(32, 4)(token, t)
    token[b, 0] = ot.random.normal((32,), over=b)
    token[b, t + 1] = ot.tanh(token + attended)
    return ot.Program(last=token[b, t.size - 1])


def states() -> ot.Program:
    """The last state of gated units."""
    b, t = ot.dims("b t")
    draws = ot.random.normal((16,), over=(b, t))
    return ot.Program(last=nn.LSTM(16, 32)(draws, t).hidden[b, t.size - 1])


def games() -> ot.Program:
    """A few updates of an actor-critic."""
    return rl.a2c(rl.CartPole()).program


PROGRAMS = {"generation": generation, "states": states, "games": games}
UPDATES = 32


def small(program: str, batch: int, steps: int, hinted: int = 0) -> Callable[[], float]:
    """Calls of a program at a small batch, with its size as a hint or without hints."""
    run = PROGRAMS[program]().compile(hints={"B": batch} if hinted else {})
    extents = {"B": batch, "T": steps, **({"I": UPDATES} if program == "games" else {})}

    def called(times: int) -> None:
        for _ in range(times):
            run(**extents)

    return rates(called, batch * steps * extents.get("I", 1))

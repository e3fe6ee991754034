"""What a program leaves of an environment's own speed: `python -m bench.gymnasium_share [NAME]`.

Random actions, by processor time: the games of `rl.Gymnasium` in a program that draws the actions,
beside the same vector environment in a loop of Python with actions that are there already.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import gymnasium
import numpy as np

import ostinato as ot
from ostinato import rl

b, i, t = ot.dims("b i t")


def alone(name: str, games: int, steps: int) -> float:
    """Seconds of processor time of the vector environment itself."""
    never = gymnasium.vector.AutoresetMode.NEXT_STEP
    envs: Any = gymnasium.vector.SyncVectorEnv(
        [lambda: gymnasium.make(name)] * games, copy=False, autoreset_mode=never
    )
    envs.reset(seed=0)
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(steps)]
    started = time.process_time()
    for action in actions:
        envs.step(action)
    taken = time.process_time() - started
    envs.close()
    return taken


def in_a_program(name: str, games: int, steps: int) -> float:
    """Seconds of processor time of a program with the same games."""
    with rl.Gymnasium(name, games) as env:
        play = rl.rollout(env, lambda seen: drawn(env), (b, i, t))
        run = ot.Program(**rl.finished(play)).compile(threads=1)
        run(B=games, I=1, T=2)
        started = time.process_time()
        run(B=games, I=10, T=steps // 10)
        return time.process_time() - started


def drawn(env: rl.Gymnasium) -> ot.Tensor:
    """A random action at every step."""
    match env.actions:
        case rl.Discrete(count):
            return ot.random.integers(0, count, over=(b, i, t))
        case rl.Discretes(sizes):
            return ot.stack([ot.random.integers(0, n, over=(b, i, t)) for n in sizes], -1)
        case rl.Box(size, low, high):
            return ot.random.uniform((size,), low, high, over=(b, i, t))


def share(name: str, games: int = 16, steps: int = 2000) -> float:
    """The median share of three pairs of runs."""
    pairs = [(alone(name, games, steps), in_a_program(name, games, steps)) for _ in range(3)]
    return float(np.median([own / all_ for own, all_ in pairs]))


if __name__ == "__main__":
    chosen = sys.argv[1] if len(sys.argv) > 1 else "CartPole-v1"
    print(f"{chosen}: {share(chosen):.2f} of the environment's own speed, by processor time")

"""REINFORCE on images of a game outside: what is kept of them is what the algorithm looks at."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import ostinato as ot
from bench.harness.images import DISCOUNT, RATE, UPDATES, shown
from bench.ours.memory import peak
from ostinato import nn, optim, rl


def program(pixels: int, hidden: int, lookahead: int) -> ot.Program:
    """Return the loss of every update, of returns of so many steps, or of all of them if 0."""
    i, b, t = ot.dims("i b t")
    model = nn.MLP(pixels, (hidden,), 3, over=i)
    seen = ot.recurrent("seen", (pixels,), over=(i, b, t))
    logits, value = model(seen)[i, b, t, :2], model(seen)[i, b, t, 2]
    policy = rl.Categorical(logits=logits)
    action = policy.sample()
    kinds = ((pixels,), "float32"), ((), "float32")
    step = partial(shown, pixels=pixels)
    made = ot.host(step, action, shape=kinds, over=b, effects="game", name="game")
    assert isinstance(made, tuple), "two results are declared"
    following, reward = made
    seen[i, b, 0] = 0.0
    seen[i, b, t + 1] = following
    no, after = ot.constant(False), model(following)[i, b, t, 2]
    if lookahead:
        gain = rl.n_step_return(reward, after, no, no, t, lookahead, discount=DISCOUNT)
    else:
        gain = rl.lambda_return(reward, after, no, no, t, discount=DISCOUNT, trace=1.0)
    gain = ot.stop_gradient(gain) - value
    each = 0.5 * gain**2 - policy.log_prob(action) * ot.stop_gradient(gain)
    loss = each[i, :, :].mean()
    model.update(optim.SGD(RATE), loss)
    return ot.Program(loss=loss)


def reinforce(
    pixels: int, hidden: int, episodes: int, steps: int, lookahead: int, limit_mib: int = 0
) -> Callable[[], dict[str, float]]:
    """Return a sampler of steps of the game in a second, and of bytes of the peak.

    With ``limit_mib`` the program fits into so many MiB.
    """
    extents: dict[str, Any] = {"B": episodes, "T": steps, "I": UPDATES}
    asked = program(pixels, hidden, lookahead)
    compiled = asked.compile(hints=extents, memory_limit=limit_mib << 20 or None)

    def sample() -> dict[str, float]:
        begun = time.perf_counter()
        compiled(**extents, seed=0)
        seconds = time.perf_counter() - begun
        taken = float(peak(compiled, extents))
        return {"env_steps/s": UPDATES * steps * episodes / seconds, "peak_bytes": taken}

    return sample

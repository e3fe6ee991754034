"""What a step was worth: returns and advantages of episodes one behind the other.

All functions work at every point of the dimensions of their operands; ``t`` counts steps. An
episode ends where it ``terminated`` or was ``truncated``, and the next one begins a step later.
Where it terminated nothing follows. Where it was truncated, and at the last step, what would have
followed is worth ``value_after``: the value of the state that a step led to, before any reset.
"""

from __future__ import annotations

from collections.abc import Callable

from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import exp, minimum, where
from ostinato.language.kinds import Count, Finite, Positive, Probability
from ostinato.language.recurrent import recurrent
from ostinato.language.tensor import Tensor
from ostinato.pdg.build import order
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place

MOST_STEPS = 64  # of returns that count some steps


def lambda_return(
    reward: Tensor,
    value_after: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    t: Dimension,
    *,
    discount: Tensor | Finite = 0.99,
    trace: Tensor | Probability = 0.95,
) -> Tensor:
    """Return ``G[t] = r + discount * ((1 - trace) * value_after + trace * G[t + 1])``.

    With ``trace=1`` it is the Monte Carlo return, with ``trace=0`` the target of TD(0).
    Source: Sutton and Barto 2018, Reinforcement learning, section 12.1.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> t = ot.dims("t")
    >>> reward, ends = ot.input("reward", over=t), ot.input("ends", dtype="bool", over=t)
    >>> returns = rl.lambda_return(reward, 0.0 * reward, ends, ends, t, discount=0.5, trace=1.0)
    >>> ot.Program(y=returns).interpret(reward=[1.0, 1.0, 4.0], ends=[False, True, False])["y"]
    array([1.5, 1. , 4. ], dtype=float32)
    """
    last = t == t.size - 1

    def step(later: Tensor) -> Tensor:
        goes_on = (1.0 - trace) * value_after + trace * later
        followed = where(last, value_after, where(truncated, value_after, goes_on))
        return reward + discount * where(terminated, 0.0, followed)

    return _backwards("lambda_return", step, reward, t)


def advantage(
    reward: Tensor,
    value: Tensor,
    value_after: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    t: Dimension,
    *,
    discount: Tensor | Finite = 0.99,
    trace: Tensor | Probability = 0.95,
) -> Tensor:
    """Return how much more each step brought than its value: ``lambda_return - value``.

    It is the sum of what was unexpected, ``r + discount * value_after - value``, at this step and
    at all later ones of the episode, each weighed by another ``discount * trace``.
    Source: Schulman et al. 2016, High-dimensional continuous control using generalized advantage
    estimation.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> t = ot.dims("t")
    >>> reward, value = ot.input("reward", over=t), ot.input("value", over=t)
    >>> no = ot.constant(False)
    >>> rl.advantage(reward, value, value, no, no, t)
    <advantage: float32[] over (t)>
    """
    surprise = reward + discount * where(terminated, 0.0, value_after) - value
    return _added_up("advantage", surprise, discount * trace, terminated | truncated, t)


def n_step_return(
    reward: Tensor,
    value_after: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    t: Dimension,
    steps: Count,
    *,
    discount: Tensor | Finite = 0.99,
) -> Tensor:
    """Return the rewards of so many steps, and what the state after them is worth.

    Fewer steps count where the episode, or the dimension, ends before. Errors: ArgumentError for
    more than 64 steps.
    Source: Sutton and Barto 2018, Reinforcement learning, section 7.1.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> t = ot.dims("t")
    >>> reward, no = ot.input("reward", over=t), ot.constant(False)
    >>> y = rl.n_step_return(reward, 100.0 + 0.0 * reward, no, no, t, steps=2, discount=0.5)
    >>> ot.Program(y=y).interpret(reward=[1.0, 2.0, 3.0])["y"].tolist()
    [27.0, 28.5, 53.0]
    """
    if steps > MOST_STEPS:
        fact = f"returns of {steps} steps, each of which is one more operation"
        raise ArgumentError(fact, f"Use at most {MOST_STEPS}, or lambda_return.", place())
    last = t == t.size - 1
    found = reward + discount * where(terminated, 0.0, value_after)
    for _ in range(steps - 1):
        later = where(last, value_after, found.at(**{t.name: t + 1}))
        followed = where(last, value_after, where(truncated, value_after, later))
        found = reward + discount * where(terminated, 0.0, followed)
    return found


def v_trace(
    reward: Tensor,
    value: Tensor,
    value_after: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    t: Dimension,
    log_ratio: Tensor,
    *,
    discount: Tensor | Finite = 0.99,
    most: Tensor | Positive = 1.0,
) -> tuple[Tensor, Tensor]:
    """Return targets of values, and advantages, of steps that another policy has chosen.

    ``log_ratio`` is the log-probability of each action under the policy to learn minus that under
    the one that acted; ratios above ``most`` count as ``most``, in the traces as 1.
    Source: Espeholt et al. 2018, IMPALA, section 4.1.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> t = ot.dims("t")
    >>> reward, value = ot.input("reward", over=t), ot.input("value", over=t)
    >>> no, same = ot.constant(False), 0.0 * reward
    >>> target, gain = rl.v_trace(reward, value, value, no, no, t, same)
    """
    ratio = exp(log_ratio)
    weight, passed = minimum(ratio, most), minimum(ratio, 1.0)
    surprise = weight * (reward + discount * where(terminated, 0.0, value_after) - value)
    ends, last = terminated | truncated, t == t.size - 1
    excess = _added_up("v_trace_excess", surprise, discount * passed, ends, t)
    target = value + excess
    later = where(last, value_after, target.at(**{t.name: t + 1}))
    followed = where(ends, value_after, later)
    gain = weight * (reward + discount * where(terminated, 0.0, followed) - value)
    return target, gain


def _added_up(
    name: str, surprise: Tensor, weight: Tensor | float, ends: Tensor, t: Dimension
) -> Tensor:
    """The sum of this and all later steps of an episode, each weighed by another weight."""
    last = t == t.size - 1

    def step(later: Tensor) -> Tensor:
        return surprise + weight * where(last, 0.0, where(ends, 0.0, later))

    return _backwards(name, step, surprise, t)


def _backwards(name: str, step: Callable[[Tensor], Tensor], kind: Tensor, t: Dimension) -> Tensor:
    """The tensor that a step gives from its own value one step later, of the type of ``kind``."""
    once = step(kind)  # never read: it says what shape, type and dimensions the values have
    out = recurrent(name, over=order({*once.over, t.dim}), like=once)
    out[True] = step(out.at(**{t.name: t + 1}))
    return out

"""Small environments that ask for one thing: choosing, or remembering."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.language import random
from ostinato.language.functions.basic import stack, take, where
from ostinato.language.kinds import Count, Finite, NonNegative
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.rl.environments.environment import Discrete, Game, at_each, points


class Bandit(Game):
    """A machine with several arms: each pays a Gaussian number with a mean of its own.

    An episode is one step, which terminates. The state is ``steps``; there is nothing to see.

    Source: Sutton and Barto 2018, chapter 2.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b = ot.dims("b")
    >>> env = rl.Bandit([0.0, 1.0, 5.0])
    >>> _, reward, *_ = env.step(env.reset(over=b), ot.constant(2))
    >>> round(float(ot.Program(mean=reward[:].mean()).compile()(B=10_000)["mean"]), 1)
    5.0
    """

    observation_shape = (1,)

    def __init__(self, means: Sequence[Finite], std: NonNegative = 1.0) -> None:
        self.means, self.std = tuple(means), std
        self.actions = Discrete(len(self.means))

    def reset(self, over: Over) -> Record:
        """Return the state before the step."""
        return Record(steps=at_each(0, over))

    def observe(self, state: Record) -> Tensor:
        """Return a 0."""
        return 0.0 * state.steps[..., None].cast("float32")

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, what the arm pays, that it terminated, and that it was not cut."""
        noise = random.normal(std=self.std, over=points(state, action))
        reward = take(as_tensor(self.means), action, 0) + noise
        return Record(steps=state.steps + 1), reward, as_tensor(True), as_tensor(False)


class MemoryChain(Game):
    """A sign at the beginning of a way of ``length`` steps, to be remembered until its end.

    The agent sees the sign, 1 or -1, in the first step and 0 afterwards, and how much of the way
    is left. Action 1 is right for the sign 1, action 0 for -1, in the last step: the reward is 1 if
    the agent is right there, else -1, and 0 before. The state is the ``sign``, 0 or 1, and
    ``steps``.

    Source: Osband et al. 2020, Behaviour suite for reinforcement learning, memory length.
    """

    actions = Discrete(2)
    observation_shape = (2,)

    def __init__(self, length: Count = 10) -> None:
        self.length = length

    def reset(self, over: Over) -> Record:
        """Return a sign, drawn at every point of ``over``."""
        return Record(sign=random.integers(0, 2, over=over), steps=as_tensor(0))

    def observe(self, state: Record) -> Tensor:
        """Return the sign, if it is still seen, and the share of the way that is left."""
        sign = where(state.steps == 0, 2 * state.sign - 1, 0).cast("float32")
        return stack([sign, 1.0 - state.steps.cast("float32") / self.length], -1)

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, whether it terminated, and that it was not cut."""
        steps = state.steps + 1
        arrived = steps >= self.length
        right = where(action == state.sign, 1.0, -1.0)
        reward = where(arrived, right, 0.0).named("reward")
        return Record(sign=state.sign, steps=steps), reward, arrived, as_tensor(False)

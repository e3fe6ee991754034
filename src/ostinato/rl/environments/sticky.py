"""Environments in which the last action may be repeated, whatever is chosen."""

from __future__ import annotations

from ostinato.language import random
from ostinato.language.functions.basic import where, zeros
from ostinato.language.kinds import Probability
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from ostinato.rl.environments.environment import Discrete, Env, at_each, points
from ostinato.rl.environments.wrapper import Wrapper


class Sticky(Wrapper[Discrete]):
    """An environment with sticky actions: with a probability an agent does the same as before.

    The state is that of the environment and the ``last`` action, 0 when an episode begins.

    Source: Machado et al. 2018, Revisiting the arcade learning environment.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b = ot.dims("b")
    >>> env = rl.Sticky(rl.Breakout(), 0.1)
    >>> following, *_ = env.step(env.reset(over=b), ot.constant(2))
    >>> moved = ot.Program(share=(following.paddle == 5)[:].mean())
    >>> round(float(moved.compile()(B=10000)["share"]), 2)
    0.9
    """

    def __init__(self, env: Env[Discrete], probability: Tensor | Probability = 0.1) -> None:
        super().__init__(env)
        self.probability = probability

    @property
    def state(self) -> Record:
        return Record(**self.env.state.fields, last=zeros((), "int32"))

    def begun(self, first: Record, over: Over) -> Record:
        """Return first states, before which the action was 0."""
        return Record(**first.fields, last=at_each(0, over))

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return what the environment does at the action, or at the last one."""
        repeats = random.bernoulli(self.probability, over=points(state, action))
        done = where(repeats, state.last, action)
        following, *results = self.env.step(state, done)
        reward, terminated, truncated = results
        return Record(**following.fields, last=done), reward, terminated, truncated

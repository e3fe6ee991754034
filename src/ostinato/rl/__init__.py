"""Reinforcement learning: environments as equations, and distributions over actions."""

from ostinato.language.surface import declare
from ostinato.rl.cartpole import CartPole
from ostinato.rl.categorical import Categorical, Sample, log_prob
from ostinato.rl.env import Env

__all__ = ["CartPole", "Categorical", "Env", "Sample", "log_prob"]

declare(__name__, __all__)

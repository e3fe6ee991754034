"""Reinforcement learning: environments as equations, distributions, returns, algorithms."""

from ostinato.language.surface import declare
from ostinato.rl.agent import (
    ActionCritic,
    ActionValues,
    Actor,
    Critic,
    DeterministicActor,
    Greedy,
    Remembering,
    SquashedActor,
    Training,
)
from ostinato.rl.algorithms.a2c import a2c
from ostinato.rl.algorithms.dqn import dqn
from ostinato.rl.algorithms.evolution import evolution
from ostinato.rl.algorithms.impala import impala
from ostinato.rl.algorithms.ppo import ppo
from ostinato.rl.algorithms.qr_dqn import qr_dqn
from ostinato.rl.algorithms.recurrent_ppo import recurrent_ppo
from ostinato.rl.algorithms.reinforce import reinforce
from ostinato.rl.algorithms.sac import sac
from ostinato.rl.algorithms.td3 import td3
from ostinato.rl.distributions.continuous import Beta, Normal, SquashedNormal
from ostinato.rl.distributions.discrete import Bernoulli, Categorical, MultiDiscrete, only_legal
from ostinato.rl.distributions.distribution import Distribution, Sample, log_prob
from ostinato.rl.drawing.film import frames, write_gif
from ostinato.rl.environments.acrobot import Acrobot
from ostinato.rl.environments.against import Against
from ostinato.rl.environments.asterix import Asterix
from ostinato.rl.environments.breakout import Breakout
from ostinato.rl.environments.cartpole import CartPole
from ostinato.rl.environments.catalogue import make
from ostinato.rl.environments.catch import Catch
from ostinato.rl.environments.environment import Actions, Box, Discrete, Discretes, Env
from ostinato.rl.environments.freeway import Freeway
from ostinato.rl.environments.grid_worlds import CliffWalking, FrozenLake, Taxi
from ostinato.rl.environments.in_a_row import ConnectFour, InARow, TicTacToe
from ostinato.rl.environments.lander import Lander
from ostinato.rl.environments.mountain_car import MountainCar, MountainCarContinuous
from ostinato.rl.environments.pendulum import Pendulum
from ostinato.rl.environments.small import Bandit, MemoryChain
from ostinato.rl.environments.space_invaders import SpaceInvaders
from ostinato.rl.environments.tabular import Tabular, Transitions
from ostinato.rl.environments.wrapper import (
    ChannelsFirst,
    FrameStack,
    PartiallyObserved,
    Sticky,
    TimeLimit,
    Wrapper,
)
from ostinato.rl.evaluation import Episodes, evaluate, filmed, learnt, recorded
from ostinato.rl.gymnasium.played_outside import Gymnasium
from ostinato.rl.gymnasium.to_gymnasium import to_gymnasium, to_gymnasium_vector
from ostinato.rl.moments import Moments
from ostinato.rl.normalising import Normalised, NormalisedRemembering, scaled_reward
from ostinato.rl.player import Player, export_onnx
from ostinato.rl.prioritised import PrioritisedReplay
from ostinato.rl.returns import advantage, lambda_return, n_step_return, v_trace
from ostinato.rl.rollout import (
    Rollout,
    across,
    allowed,
    along,
    averaged,
    exploring,
    finished,
    observed,
    rollout,
    seen,
    trainings,
)
from ostinato.rl.sampling import Replay, minibatch, replayed_return

__all__ = [
    "Acrobot",
    "ActionCritic",
    "ActionValues",
    "Actions",
    "Actor",
    "Against",
    "Asterix",
    "Bandit",
    "Bernoulli",
    "Beta",
    "Box",
    "Breakout",
    "CartPole",
    "Catch",
    "Categorical",
    "ChannelsFirst",
    "CliffWalking",
    "ConnectFour",
    "Critic",
    "DeterministicActor",
    "Discrete",
    "Discretes",
    "Distribution",
    "Env",
    "Episodes",
    "FrameStack",
    "Freeway",
    "FrozenLake",
    "Gymnasium",
    "PartiallyObserved",
    "Greedy",
    "InARow",
    "Lander",
    "MemoryChain",
    "Moments",
    "MountainCar",
    "MountainCarContinuous",
    "MultiDiscrete",
    "Normal",
    "Normalised",
    "NormalisedRemembering",
    "Pendulum",
    "Player",
    "PrioritisedReplay",
    "Remembering",
    "Replay",
    "Rollout",
    "Sample",
    "SpaceInvaders",
    "SquashedActor",
    "SquashedNormal",
    "Sticky",
    "Tabular",
    "Taxi",
    "TicTacToe",
    "TimeLimit",
    "Training",
    "Transitions",
    "Wrapper",
    "a2c",
    "across",
    "allowed",
    "advantage",
    "along",
    "averaged",
    "dqn",
    "evaluate",
    "evolution",
    "exploring",
    "export_onnx",
    "filmed",
    "finished",
    "frames",
    "impala",
    "lambda_return",
    "learnt",
    "log_prob",
    "make",
    "minibatch",
    "n_step_return",
    "observed",
    "only_legal",
    "ppo",
    "qr_dqn",
    "recorded",
    "recurrent_ppo",
    "reinforce",
    "replayed_return",
    "rollout",
    "sac",
    "scaled_reward",
    "seen",
    "td3",
    "to_gymnasium",
    "to_gymnasium_vector",
    "trainings",
    "v_trace",
    "write_gif",
]

declare(__name__, [name for name in __all__ if name != "Actions"])

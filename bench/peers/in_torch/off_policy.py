"""DQN and SAC as plain PyTorch scripts in CleanRL's style: one game, updates in eager mode.

The game is Gymnasium's, what it showed lies in NumPy arrays, and an update follows every step.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

import gymnasium
import numpy as np
import torch
from torch import nn
from torch.nn.functional import mse_loss, softplus

from bench.harness.learning import samples
from bench.harness.timing import rates

DISCOUNT = 0.99
LOWEST, HIGHEST = -5.0, 2.0  # the logarithm of a deviation
Batch = tuple[torch.Tensor, ...]
Hidden = tuple[int, int]  # units of the two hidden layers


def network(inputs: int, hidden: Hidden, outputs: int) -> nn.Sequential:
    first, second = hidden
    return nn.Sequential(
        nn.Linear(inputs, first),
        nn.ReLU(),
        nn.Linear(first, second),
        nn.ReLU(),
        nn.Linear(second, outputs),
    )


@torch.no_grad()
def average(slow: nn.Module, fast: nn.Module, decay: float) -> None:
    for old, new in zip(slow.parameters(), fast.parameters(), strict=True):
        old.lerp_(new, 1.0 - decay)


class Memory:
    """The last steps, each array with one row per step."""

    def __init__(self, window: int, seen: int, action: np.ndarray) -> None:
        self.seen = np.zeros((window, seen), np.float32)
        self.following = np.zeros((window, seen), np.float32)
        self.action = np.zeros((window, *action.shape), action.dtype)
        self.reward, self.ended = np.zeros((2, window), np.float32)
        self.count = 0

    def add(self, seen, action, reward, following, ended) -> None:
        row = self.count % len(self.seen)
        self.seen[row], self.action[row], self.following[row] = seen, action, following
        self.reward[row], self.ended[row] = reward, ended
        self.count += 1

    def draw(self, rows: int) -> Batch:
        found = np.random.randint(0, min(self.count, len(self.seen)), rows)
        arrays = self.seen, self.action, self.reward, self.following, self.ended
        return tuple(torch.from_numpy(array[found]) for array in arrays)


class Training(ABC):
    """One agent and its game: a step and an update after the other."""

    game_name: str
    window: int
    start: int  # steps before anything is learnt

    def __init__(self, batch: int, hidden: Hidden, seed: int = 0, start: int | None = None) -> None:
        torch.manual_seed(seed)
        np.random.seed(seed)
        self.batch = batch
        self.start = self.start if start is None else start
        self.game = gymnasium.make(self.game_name)
        self.seen, _ = self.game.reset(seed=seed)
        self.game.action_space.seed(seed)
        example = np.asarray(self.game.action_space.sample())
        self.memory = Memory(self.window, len(self.seen), example)
        self.returned = 0.0
        self.prepare(len(self.seen), hidden)

    @abstractmethod
    def prepare(self, inputs: int, hidden: Hidden) -> None: ...

    @abstractmethod
    def act(self) -> np.ndarray: ...

    @abstractmethod
    def learn(self, batch: Batch) -> None: ...

    def run(self, steps: int) -> list[float]:
        """Return what the games that ended have returned."""
        found = []
        for _ in range(steps):
            action = self.act()
            following, reward, ended, cut, _ = self.game.step(action)
            self.memory.add(self.seen, action, reward, following, ended)
            self.seen, self.returned = following, self.returned + float(reward)
            if ended or cut:
                found.append(self.returned)
                (self.seen, _), self.returned = self.game.reset(), 0.0
            if self.memory.count > self.start:
                self.learn(self.memory.draw(self.batch))
        return found


def descend(optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


class Dqn(Training):
    """Double DQN on CartPole."""

    game_name, window, start = "CartPole-v1", 10_000, 1000
    explored, least = 10_000, 0.01  # steps until few actions are random

    def prepare(self, inputs: int, hidden: Hidden) -> None:
        self.values = network(inputs, hidden, 2)
        self.slow = copy.deepcopy(self.values)
        self.optimizer = torch.optim.Adam(self.values.parameters(), lr=5e-4)

    @torch.no_grad()
    def act(self) -> np.ndarray:
        passed = self.memory.count / self.explored
        if np.random.random() < max(1.0 - (1.0 - self.least) * passed, self.least):
            return np.asarray(self.game.action_space.sample())
        return self.values(torch.from_numpy(self.seen)).argmax().numpy()

    def learn(self, batch: Batch) -> None:
        seen, action, reward, following, ended = batch
        with torch.no_grad():
            chosen = self.values(following).argmax(-1, keepdim=True)
            after = self.slow(following).gather(1, chosen)[:, 0]
            target = reward + DISCOUNT * after * (1.0 - ended)
        self.optimizer.zero_grad()
        mse_loss(self.values(seen).gather(1, action[:, None])[:, 0], target).backward()
        nn.utils.clip_grad_norm_(self.values.parameters(), 10.0)
        self.optimizer.step()
        average(self.slow, self.values, 0.99)


class Sac(Training):
    """Soft actor-critic on Pendulum, with two critics and a learnt temperature."""

    game_name, window, start = "Pendulum-v1", 20_000, 500
    highest = 2.0  # torque

    def prepare(self, inputs: int, hidden: Hidden) -> None:
        self.actor = network(inputs, hidden, 2)
        self.critics = nn.ModuleList(network(inputs + 1, hidden, 1) for _ in range(2))
        self.slow = copy.deepcopy(self.critics)
        self.log_temperature = torch.zeros((), requires_grad=True)
        parts: Iterable = (
            self.actor.parameters(), self.critics.parameters(), [self.log_temperature]
        )  # fmt: skip
        self.optimizers = [torch.optim.Adam(part, lr=1e-3) for part in parts]

    def acted(self, seen: torch.Tensor) -> Batch:
        """Return actions that are drawn, and the logarithm of their density."""
        mean, spread = self.actor(seen).chunk(2, -1)
        log_std = LOWEST + 0.5 * (HIGHEST - LOWEST) * (torch.tanh(spread) + 1.0)
        noise = torch.randn_like(mean)
        before = mean + log_std.exp() * noise
        normal = -0.5 * noise**2 - log_std - 0.5 * np.log(2 * np.pi)
        squashed = 2.0 * (np.log(2.0) - before - softplus(-2.0 * before)) + np.log(self.highest)
        return self.highest * torch.tanh(before), (normal - squashed).sum(-1)

    @torch.no_grad()
    def act(self) -> np.ndarray:
        if self.memory.count < self.start:
            return self.game.action_space.sample()
        return self.acted(torch.from_numpy(self.seen))[0].numpy()

    def worst(self, critics: nn.ModuleList, seen: torch.Tensor, action: torch.Tensor):
        rows = torch.cat([seen, action], -1)
        return torch.minimum(*(critic(rows)[:, 0] for critic in critics))

    def learn(self, batch: Batch) -> None:
        seen, action, reward, following, _ = batch
        temperature = self.log_temperature.detach().exp()
        with torch.no_grad():
            then, density = self.acted(following)
            after = self.worst(self.slow, following, then) - temperature * density
            target = reward + DISCOUNT * after
        rows = torch.cat([seen, action], -1)
        errors = sum(mse_loss(critic(rows)[:, 0], target) for critic in self.critics)
        descend(self.optimizers[1], errors)
        chosen, log_prob = self.acted(seen)
        policy = (temperature * log_prob - self.worst(self.critics, seen, chosen)).mean()
        descend(self.optimizers[0], policy)
        excess = 1.0 - log_prob.detach().mean()
        descend(self.optimizers[2], self.log_temperature.exp() * excess)
        average(self.slow, self.critics, 0.995)


def speed(kind: type[Training], batch: int, hidden: Hidden) -> Callable[[], float]:
    """Steps per second, once learning has begun."""
    training = kind(batch, hidden)
    training.run(training.start)
    return rates(training.run, 1)


def dqn(batch: int, hidden: int, second: int) -> Callable[[], float]:
    return speed(Dqn, batch, (hidden, second))


def sac(batch: int, hidden: int) -> Callable[[], float]:
    return speed(Sac, batch, (hidden, hidden))


def dqn_learning(batch: int, hidden: int, second: int, steps: int) -> Callable[[], float]:
    return samples(lambda seed: Dqn(batch, (hidden, second), seed).run(steps))


def sac_learning(batch: int, hidden: int, steps: int) -> Callable[[], float]:
    return samples(lambda seed: Sac(batch, (hidden, hidden), seed).run(steps))

"""PPO as one plain PyTorch script in CleanRL's style, with updates in eager mode.

CleanRL steps its environments one after the other, each in a wrapper of its own. ``in_numpy`` has
all of them in NumPy arrays.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

from bench.harness.learning import samples
from bench.harness.timing import rates

DISCOUNT, TRACE, CLIP = 0.99, 0.95, 0.2
EPOCHS, PARTS, HIDDEN = 4, 4, 64


def network(outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(4, HIDDEN),
        nn.Tanh(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.Tanh(),
        nn.Linear(HIDDEN, outputs),
    )


def game() -> gymnasium.Env:
    """Return one environment, which reports the length of every game that ends."""
    return gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))


def games_in_turn(envs: int) -> gymnasium.vector.VectorEnv:
    return gymnasium.vector.SyncVectorEnv([game] * envs)


def games_in_numpy(envs: int) -> gymnasium.vector.VectorEnv:
    mode = "vector_entry_point"
    games = gymnasium.make_vec("CartPole-v1", num_envs=envs, vectorization_mode=mode)
    return gymnasium.wrappers.vector.RecordEpisodeStatistics(games)


class Training:
    """One agent and its environments."""

    def __init__(
        self, envs: int, steps: int, updates: int = 1000, seed: int = 0, in_numpy: bool = False
    ) -> None:
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        self.envs, self.steps, self.updates, self.seed = envs, steps, updates, seed
        self.games = games_in_numpy(envs) if in_numpy else games_in_turn(envs)
        self.seen, _ = self.games.reset(seed=seed)
        self.over = np.zeros(envs, bool)
        self.actor, self.critic = network(2), network(1)
        self.parameters = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, lr=1e-3, eps=1e-5)
        self.done_updates = 0

    def run(self, iterations: int) -> list[float]:
        """Return the mean length of the games that ended in each iteration."""
        found = []
        for _ in range(iterations):
            left = max(0.0, 1.0 - self.done_updates / self.updates)
            self.optimizer.param_groups[0]["lr"] = 1e-3 * left
            batch, lengths = self.play()
            self.learn(*batch)
            self.done_updates += 1
            found.append(float(np.mean(lengths)) if lengths else 0.0)
        return found

    @torch.no_grad()
    def play(self) -> tuple[tuple[torch.Tensor, ...], list[float]]:
        """Return rows of experience with advantages, and the lengths of finished games."""
        shape = self.steps, self.envs
        seen, action = torch.zeros(*shape, 4), torch.zeros(shape)
        log_p, value, reward, over = (torch.zeros(shape) for _ in range(4))
        lengths: list[float] = []
        for t in range(self.steps):
            seen[t], over[t] = torch.from_numpy(self.seen), torch.from_numpy(self.over)
            policy = Categorical(logits=self.actor(seen[t]))
            chosen = policy.sample()
            action[t], log_p[t] = chosen, policy.log_prob(chosen)
            value[t] = self.critic(seen[t])[:, 0]
            self.seen, gained, ended, cut, more = self.games.step(chosen.numpy())
            reward[t] = torch.from_numpy(gained.astype(np.float32))
            self.over = ended | cut
            if "episode" in more:
                lengths.extend(more["episode"]["l"][self.over])
        better = self.judge(value, reward, over)
        rows = seen.view(-1, 4), action.view(-1), log_p.view(-1), better.view(-1), value.view(-1)
        return rows, lengths

    def judge(self, value: torch.Tensor, reward: torch.Tensor, over: torch.Tensor) -> torch.Tensor:
        after = self.critic(torch.from_numpy(self.seen))[:, 0]
        goes_on = 1.0 - torch.from_numpy(self.over).float()
        better = torch.zeros_like(reward)
        total = torch.zeros(self.envs)
        for t in reversed(range(self.steps)):
            surprise = reward[t] + DISCOUNT * after * goes_on - value[t]
            better[t] = total = surprise + DISCOUNT * TRACE * goes_on * total
            after, goes_on = value[t], 1.0 - over[t]
        return better

    def learn(self, seen, action, log_p, better, value) -> None:
        target = better + value
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(seen)).chunk(PARTS):
                policy = Categorical(logits=self.actor(seen[rows]))
                ratio = (policy.log_prob(action[rows]) - log_p[rows]).exp()
                weight = better[rows]
                weight = (weight - weight.mean()) / (weight.std() + 1e-8)
                held = ratio.clamp(1 - CLIP, 1 + CLIP)
                gain = torch.minimum(ratio * weight, held * weight).mean()
                error = (self.critic(seen[rows])[:, 0] - target[rows]).square().mean()
                loss = 0.5 * error - gain - 0.01 * policy.entropy().mean()
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.parameters, 0.5)
                self.optimizer.step()


def sampler(envs: int, steps: int) -> Callable[[], float]:
    return rates(Training(envs, steps).run, envs * steps)


def sampler_in_numpy(envs: int, steps: int) -> Callable[[], float]:
    return rates(Training(envs, steps, in_numpy=True).run, envs * steps)


def returns(envs: int, steps: int, iterations: int, seed: int) -> list[float]:
    """Return the mean length of finished games in every iteration of a whole training."""
    return Training(envs, steps, iterations, seed).run(iterations)


def learning(envs: int, steps: int, updates: int) -> Callable[[], float]:
    return samples(lambda seed: returns(envs, steps, updates, seed))

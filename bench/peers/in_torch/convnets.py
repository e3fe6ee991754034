"""The same networks of convolutions in PyTorch, channels first or last in memory."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from bench.harness.picture_networks import (
    BLOCKS,
    CHOICES,
    CONVOLUTIONS,
    HIDDEN,
    PICTURES,
    flat_size,
    samples,
)
from bench.harness.timing import rates

RATE = 0.01


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.second(torch.relu(self.first(torch.relu(x))))


def layers(network: str) -> nn.Sequential:
    channels, _ = PICTURES[network]
    found: list[nn.Module] = []
    if network == "residual":
        for features in BLOCKS:
            found += [nn.Conv2d(channels, features, 3, padding=1), nn.MaxPool2d(3, 2, padding=1)]
            found += [Residual(features), Residual(features)]
            channels = features
        found.append(nn.ReLU())
    else:
        for features, size, stride in CONVOLUTIONS[network]:
            found += [nn.Conv2d(channels, features, size, stride), nn.ReLU()]
            channels = features
    wide = HIDDEN[network]
    return nn.Sequential(
        *found,
        nn.Flatten(),
        nn.Linear(flat_size(network), wide),
        nn.ReLU(),
        nn.Linear(wide, CHOICES),
    )


def sampler(network: str, batch: int, order: str) -> Callable[[], float]:
    torch.manual_seed(0)
    model, (pictures, labels) = layers(network), samples(network, batch)
    x, label = torch.from_numpy(pictures), torch.from_numpy(labels).long()
    if order == "last":
        x = x.to(memory_format=torch.channels_last)
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), label).backward()
            optimizer.step()

    return rates(run, batch)

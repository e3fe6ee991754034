"""Networks of convolutions in training: those of DQN, of MinAtar, and IMPALA's residual one."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from bench.harness.picture_networks import (
    BLOCKS,
    CHOICES,
    CONVOLUTIONS,
    HIDDEN,
    PICTURES,
    flat_size,
    samples,
)
from bench.ours.networks import RATE, trained
from ostinato import nn, optim
from ostinato.language.dims import Dimension


class Plain(nn.Module):
    """Convolutions with a rectifier behind each."""

    def __init__(self, network: str, over: Dimension) -> None:
        channels, _ = PICTURES[network]
        self.layers: list[nn.Conv] = []
        for k, (features, size, stride) in enumerate(CONVOLUTIONS[network]):
            kernel, name = (size, size), f"conv_{k}"
            self.layers.append(nn.Conv(channels, features, kernel, over, stride=stride, name=name))
            channels = features

    def __call__(self, x: ot.Tensor) -> ot.Tensor:
        for layer in self.layers:
            x = ot.relu(layer(x))
        return x


class Residual(nn.Module):
    """What two convolutions add to a picture."""

    def __init__(self, channels: int, over: Dimension, name: str) -> None:
        self.first, self.second = (
            nn.Conv(channels, channels, (3, 3), over, padding=1, name=f"{name}_{which}")
            for which in ("first", "second")
        )

    def __call__(self, x: ot.Tensor) -> ot.Tensor:
        return x + self.second(ot.relu(self.first(ot.relu(x))))


class Deep(nn.Module):
    """Blocks of a convolution, pooling and two residual parts."""

    def __init__(self, over: Dimension) -> None:
        self.convolutions: list[nn.Conv] = []
        self.parts: list[Residual] = []
        channels, _ = PICTURES["residual"]
        for k, features in enumerate(BLOCKS):
            conv = nn.Conv(channels, features, (3, 3), over, padding=1, name=f"block_{k}")
            self.convolutions.append(conv)
            self.parts += [Residual(features, over, f"block_{k}_{part}") for part in "ab"]
            channels = features

    def __call__(self, x: ot.Tensor) -> ot.Tensor:
        for k, convolution in enumerate(self.convolutions):
            x = ot.max_pool2d(convolution(x), 3, 2, padding=1)
            x = self.parts[2 * k + 1](self.parts[2 * k](x))
        return ot.relu(x)


class Network(nn.Module):
    """Convolutions, a layer of hidden units, and a score for every choice."""

    def __init__(self, network: str, over: Dimension) -> None:
        self.body: Plain | Deep = Deep(over) if network == "residual" else Plain(network, over)
        self.hidden = nn.Linear(flat_size(network), HIDDEN[network], over, name="hidden")
        self.scores = nn.Linear(HIDDEN[network], CHOICES, over, name="scores")

    def __call__(self, x: ot.Tensor) -> ot.Tensor:
        return self.scores(ot.relu(self.hidden(self.body(x).reshape(-1))))


def classifier(network: str) -> ot.Program:
    """Return the loss of every step on all pictures."""
    b, i = ot.dims("b i")
    channels, side = PICTURES[network]
    model = Network(network, i)
    x = ot.input("x", shape=(channels, side, side), over=b)
    label = ot.input("label", dtype="int32", over=b)
    chosen = (ot.log_softmax(model(x), -1) * ot.one_hot(label, CHOICES)).sum(-1)
    loss = -chosen[:, i].mean()
    model.update(optim.SGD(RATE), loss)
    return ot.Program(loss=loss)


def sampler(network: str, batch: int) -> Callable[[], float]:
    x, label = samples(network, batch)
    return trained(classifier(network), {"x": x, "label": label}, {"B": batch}, batch)

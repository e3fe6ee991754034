"""Networks, gradients and optimisers in plain NumPy, against which algorithms are held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

import ostinato as ot
from ostinato import rl
from ostinato.language.recurrent import Over

Array = npt.NDArray[Any]
A = TypeVar("A", rl.Discrete, rl.Box)
Layers = list[Array]  # weight, bias, weight, bias, ...


def forward(layers: Layers, x: Array, activation: str) -> list[Array]:
    """What enters each layer, and what leaves the last one."""
    kept = [x]
    for k in range(0, len(layers), 2):
        x = x @ layers[k] + layers[k + 1]
        if k + 2 < len(layers):
            x = np.tanh(x) if activation == "tanh" else np.maximum(x, 0.0)
        kept.append(x)
    return kept


def backward(
    layers: Layers, kept: list[Array], slope: Array, activation: str
) -> tuple[Layers, Array]:
    """The gradients of the layers and of what entered the first, by that of what left the last."""
    found: Layers = []
    for k in reversed(range(0, len(layers), 2)):
        if k + 2 < len(layers):
            left = kept[k // 2 + 1]
            slope = slope * (1.0 - left**2 if activation == "tanh" else left > 0.0)
        found = [kept[k // 2].T @ slope, slope.sum(0), *found]
        slope = slope @ layers[k].T
    return found, slope


class Adam:
    """Adam, after gradients were scaled down to a common norm."""

    def __init__(self, rate: float, eps: float = 1e-8, norm: float = np.inf) -> None:
        self.rate, self.eps, self.norm, self.count = rate, eps, norm, 0
        self.first: dict[int, Array] = {}
        self.second: dict[int, Array] = {}

    def step(self, parameters: Sequence[Array], gradients: Sequence[Array]) -> list[Array]:
        """The parameters after a step."""
        self.count += 1
        length = np.sqrt(sum((g**2).sum() for g in gradients))
        factor = min(1.0, self.norm / (length + 1e-6))
        found: list[Array] = []
        for k, (x, g) in enumerate(zip(parameters, gradients, strict=True)):
            g = g * factor
            self.first[k] = 0.9 * self.first.get(k, 0.0) + 0.1 * g
            self.second[k] = 0.999 * self.second.get(k, 0.0) + 0.001 * g**2
            mean = self.first[k] / (1 - 0.9**self.count)
            size = np.sqrt(self.second[k] / (1 - 0.999**self.count))
            found.append(x - self.rate * mean / (size + self.eps))
        return found


class Erratic(Generic[A]):
    """A game without chance, whose episodes end often, in both ways: recorded data of any kind."""

    observation_shape = (3,)

    def __init__(self, actions: A) -> None:
        self.actions: A = actions

    @property
    def state(self) -> ot.Record:
        return ot.Record(x=ot.zeros(3))

    def reset(self, over: Over) -> ot.Record:
        return ot.Record(x=ot.random.uniform((3,), -1.0, 1.0, over=over))

    def observe(self, state: ot.Record) -> ot.Tensor:
        return state.x

    def step(
        self, state: ot.Record, action: ot.Tensor
    ) -> tuple[ot.Record, ot.Tensor, ot.Tensor, ot.Tensor]:
        pushed = action.sum(-1) if action.ndim else 0.5 * action
        x = ot.sin(7.0 * ot.flip(state.x, -1) + pushed[..., None] + 0.3)
        return ot.Record(x=x), x[..., 2] + 0.1 * pushed, x[..., 0] > 0.8, x[..., 1] > 0.8


def recorded(
    training: rl.Training, modules: dict[str, Sequence[ot.Tensor]], **arguments: int
) -> tuple[dict[str, Array], dict[str, list[Array]]]:
    """What a training computed, and the parameters before every update, and after the last one."""
    parameters = {f"{name}_{k}": x for name, xs in modules.items() for k, x in enumerate(xs)}
    program = ot.Program(**training.tensors, **parameters)
    given = {**training.arguments, **arguments}
    hints = {name: n for name, n in given.items() if name in program.extents}
    found = program.compile(hints=hints, without="forms")(seed=3, **given)  # planned once
    return (
        {name: found[name].astype(np.float64) for name in training.tensors},
        {
            n: [found[f"{n}_{k}"].astype(np.float64) for k in range(len(xs))]
            for n, xs in modules.items()
        },
    )

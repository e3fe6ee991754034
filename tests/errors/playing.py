"""What functions get that evaluate, draw and export, for the calls of the public surface."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import ostinato as ot
from ostinato import nn, rl


def ignore(*arguments: object) -> None:
    """A function that returns nothing."""


@cache
def outside() -> rl.Gymnasium:
    """An environment of Gymnasium whose games began."""
    env = rl.Gymnasium("CartPole-v1")
    env.reset(over=ot.dims("b"))
    return env


WRAPPED: dict[str, Callable[[], rl.Env[rl.Actions]]] = {
    "Wrapper": lambda: rl.Wrapper(rl.CartPole()),
    "TimeLimit": lambda: rl.TimeLimit(rl.CartPole(), 3),
    "FrameStack": lambda: rl.FrameStack(rl.CartPole(), 3),
    "ChannelsFirst": lambda: rl.ChannelsFirst(rl.Breakout()),
    "Gymnasium": lambda: outside(),
    "Lander": rl.Lander,
    **{"InARow": rl.TicTacToe, "TicTacToe": rl.TicTacToe, "ConnectFour": rl.ConnectFour},
    "Against": lambda: rl.Against(rl.TicTacToe()),
}


@cache
def player() -> rl.Player:
    return rl.Player(rl.CartPole(), actor(), weights(actor()))


@cache
def actor() -> rl.Actor:
    return rl.Actor(rl.CartPole(), (3,), ot.carried(ot.dims("i")))


def weights(module: nn.Module) -> dict[str, object]:
    return {w.name: w.array(np.ones(w.tensor.shape, np.float32)) for w in module.named_weights()}


PLAYING = ("rl.evaluate", "rl.filmed", "rl.recorded", "rl.export_onnx", "Player")
OF_EVALUATION: dict[str, Callable[[Any], object]] = {
    **{f"{name}.policy": lambda s: actor() for name in PLAYING},
    **{f"{name}.weights": lambda s: weights(actor()) for name in PLAYING},
    "Wrapper.begun.first": lambda s: rl.CartPole().state,
    "TimeLimit.begun.first": lambda s: rl.CartPole().state,
    "FrameStack.begun.first": lambda s: rl.CartPole().state,
    "Against.begun.first": lambda s: rl.TicTacToe().state,
    "Against.env": lambda s: rl.TicTacToe(),
    "Against.any_move.observation": lambda s: ot.zeros(18),
    **{f"{name}.legal.observation": lambda s: ot.zeros(18) for name in ("InARow", "TicTacToe")},
    "ConnectFour.legal.observation": lambda s: ot.zeros(84),
    "rl.only_legal.legal": lambda s: s.x > 0,
    "Sticky.begun.first": lambda s: rl.Catch().state,
    "Wrapper.restart.following": lambda s: rl.CartPole().state,
    "Gymnasium.begin.games": lambda s: s.b,
    "Gymnasium.restart.following": lambda s: outside().state,
    "Gymnasium.name": lambda s: "CartPole-v1",
    "Gymnasium.settings": lambda s: 7,
    "Gymnasium.alone.settings": lambda s: 7,
    "ChannelsFirst.env": lambda s: rl.Breakout(),
    "Player.__call__.observation": lambda s: np.zeros(4),
    "rl.learnt.training": lambda s: rl.a2c(rl.CartPole(), games=1, steps=2, iterations=2),
    "rl.learnt.changes": lambda s: 1,
    "rl.frames.states": lambda s: [{"motion": np.zeros(4)}],
    "pictures": lambda s: [np.zeros((2, 2, 3), np.uint8)],
    "rl.write_gif.path": lambda s: "film.gif",
    "rl.export_onnx.path": lambda s: "no/such/policy.onnx",
    "Program.to_onnx.path": lambda s: "no/such/program.onnx",
    "save_weights.path": lambda s: "w.safetensors",
    "load_weights.path": lambda s: "none.safetensors",
    "save_weights.weights": lambda s: {"w": np.ones(2)},
    "Module.arguments.weights": lambda s: weights(nn.Linear(3, 2)),
    "Module.with_weights.weights": lambda s: weights(nn.Linear(3, 2)),
    "returns": lambda s: np.ones(2),
    "lengths": lambda s: np.ones(2, np.int64),
    "ended": lambda s: np.ones(2, np.bool_),
}

PLAYERS: dict[str, Callable[[Any], object]] = {
    "Player": lambda s: player(),
    "_Gated": lambda s: nn.GRUCell(3, 3),
}
NAMED = {
    "rl.learnt.changes": "I",
    "Gymnasium.settings": "max_episode_steps",
    "Gymnasium.alone.settings": "max_episode_steps",
}
NO_FILE = ("load_weights", "rl.export_onnx", "Program.to_onnx")  # refused for want of one

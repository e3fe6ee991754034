"""Modules of PyTorch with what they give, as a file: `python -m tests.nn.pytorch_modules`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load, save

Arrays = dict[str, npt.NDArray[Any]]
RECORDED = Path(__file__).with_name("pytorch_modules.safetensors")


def recorded() -> dict[str, Arrays]:
    """By module the weights, an input `x` of 5 steps, and the output `y` of every step."""
    out: dict[str, Arrays] = {}
    for path, array in load(RECORDED.read_bytes()).items():
        module, _, name = path.partition("/")
        out.setdefault(module, {})[name] = array
    return out


def computed() -> dict[str, Arrays]:
    """The same by PyTorch, which draws the weights."""
    torch: Any = import_module("torch")
    nn = torch.nn
    torch.manual_seed(0)
    made: dict[str, Any] = {
        "mlp": nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)),
        "conv": nn.Conv2d(1, 2, (2, 3)),
        "norm": nn.LayerNorm(3),
        "gru": nn.GRU(3, 4),
        "lstm": nn.LSTM(3, 4),
    }
    shapes = {"conv": (5, 1, 4, 4)}
    out: dict[str, Arrays] = {}
    for name, module in made.items():
        x = torch.randn(shapes.get(name, (5, 3)))
        y: Any = module(x)
        if name in ("gru", "lstm"):
            y, _ = y
        weights = {key: value.numpy() for key, value in module.state_dict().items()}
        out[name] = {**weights, "x": x.numpy(), "y": y.detach().numpy()}
    return out


if __name__ == "__main__":
    arrays = {f"{m}/{n}": a for m, found in computed().items() for n, a in found.items()}
    RECORDED.write_bytes(save({name: np.ascontiguousarray(a) for name, a in arrays.items()}))

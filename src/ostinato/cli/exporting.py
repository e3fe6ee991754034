"""``ostinato export``: the policy of a run for other programs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console

from ostinato import nn, rl
from ostinato.cli.trained_policy import TrainedPolicy, acting_in, trained_policy
from ostinato.pdg.errors import OptionError
from ostinato.pdg.functions import Array


def export(
    run: Path, file: Path, environment: str | None, training: int | None, console: Console
) -> int:
    """Write the weights, or the policy as a graph, as the name of the file says; exit status."""
    if file.suffix not in (".onnx", ".safetensors"):
        fact = f"`{file}` is neither a .onnx nor a .safetensors file."
        raise OptionError(fact, "Give policy.onnx, or weights.safetensors.")
    trained = trained_policy(run, environment, console)
    weights = _of_one(trained, training)
    if file.suffix == ".onnx":
        with acting_in(environment):
            rl.export_onnx(file, trained.env, trained.single, weights)
    else:
        nn.save_weights(file, weights)
    numbers = sum(array.size for array in weights.values())
    text = (
        f"{file}: {len(weights)} weights of {numbers:,} numbers after {trained.step:,} iterations"
    )
    console.print(text, soft_wrap=True)
    return 0


def _of_one(trained: TrainedPolicy, training: int | None) -> dict[str, Array]:
    """The weights of one training.

    Errors: OptionError if there are several and none is named, and for one that there is not.
    """
    ranks = {weight.name: weight.tensor.ndim for weight in trained.policy.named_weights()}
    rows = {n: a.reshape(-1, *a.shape[a.ndim - ranks[n] :]) for n, a in trained.weights.items()}
    count = max((len(array) for array in rows.values()), default=1)
    if training is None and count > 1:
        fact = f"The run has {count} trainings, and a file has one policy."
        raise OptionError(fact, f"Name one: --training 0, to {count - 1}.")
    chosen = training or 0
    if chosen >= count:
        raise OptionError(f"There is no training {chosen}.", f"Give one from 0 to {count - 1}.")
    return {n: np.array(array[min(chosen, len(array) - 1)], order="C") for n, array in rows.items()}

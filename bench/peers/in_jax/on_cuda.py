"""The programs of JAX on a GPU: as they come, and with loops as command buffers.

``FLAGS`` is set before JAX is imported: a process of its own measures each form. They share the GPU
with ours, so none takes most of its memory at once.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable

FLAGS = "--xla_gpu_enable_command_buffer=+WHILE"


def sampler(
    module: str, command_buffers: int, fewer_steps: int = 0, **size: int
) -> Callable[[], float]:
    """Return the sampler ``module:function`` of this package, for fewer steps if that is said.

    Errors: RuntimeError if JAX has found no GPU.
    """
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if command_buffers:
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}"
    import jax

    if jax.default_backend() != "gpu":
        raise RuntimeError(f"JAX runs on {jax.default_backend()}, not on a GPU")
    if fewer_steps:
        size["steps"] = fewer_steps
    file, _, function = module.partition(":")
    found = importlib.import_module(f"bench.peers.in_jax.{file}")
    made: Callable[[], float] = getattr(found, function)(**size)
    return made

"""The programs of JAX on a GPU: as they come, and with loops as command buffers.

``FLAGS`` is set before JAX is imported: a process of its own measures each form.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable

FLAGS = "--xla_gpu_enable_command_buffer=+WHILE"


def sampler(program: str, command_buffers: int, **size: int) -> Callable[[], float]:
    """Return the sampler ``module:function`` of this package.

    Errors: RuntimeError if JAX has found no GPU.
    """
    if command_buffers:
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}"
    import jax

    if jax.default_backend() != "gpu":
        raise RuntimeError(f"JAX runs on {jax.default_backend()}, not on a GPU")
    module, _, function = program.partition(":")
    found = importlib.import_module(f"bench.peers.in_jax.{module}")
    made: Callable[[], float] = getattr(found, function)(**size)
    return made

"""Decoding in JAX, with the bytes that XLA says that it takes: arguments, results, temporaries."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import jax

from bench.peers.in_jax.models import generated, transformer


def decode(layers: int, batch: int, steps: int) -> Callable[[], dict[str, float]]:
    """Return a sampler of tokens in a second, and of bytes by XLA's account."""
    p = transformer(layers, steps)
    compiled = jax.jit(partial(generated, batch=batch, steps=steps, window=0)).lower(p).compile()
    taken = compiled.memory_analysis()
    bytes_ = taken.argument_size_in_bytes + taken.output_size_in_bytes + taken.temp_size_in_bytes

    def sample() -> dict[str, float]:
        begun = time.perf_counter()
        jax.block_until_ready(compiled(p))
        seconds = time.perf_counter() - begun
        return {"tokens/s": steps * batch / seconds, "peak_bytes": float(bytes_)}

    return sample

"""Products of matrices, their gradients, and a convolution in JAX, each in one jit."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from bench.harness.timing import rates


def _drawn(*shapes: tuple[int, ...]) -> list[jax.Array]:
    rng = np.random.default_rng(0)
    return [jnp.asarray(rng.standard_normal(shape), jnp.float32) for shape in shapes]


def _measured(
    function: Callable[..., object], given: list[jax.Array], amount: float
) -> Callable[[], float]:
    compiled = jax.jit(function)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            jax.block_until_ready(compiled(*given))

    return rates(run, amount)


def sampler(size: int) -> Callable[[], float]:
    given = _drawn((size, size), (size, size))
    return _measured(lambda a, b: a @ b, given, size**3)


def gradients(size: int) -> Callable[[], float]:
    given = _drawn((size, size), (size, size))
    both = jax.grad(lambda a, b: ((a @ b) ** 2).sum(), (0, 1))
    return _measured(both, given, 3 * size**3)


def chain(size: int) -> Callable[[], float]:
    given = _drawn(*[(size, size)] * 3, (size, 1))
    return _measured(lambda a, b, c, v: a @ (b @ (c @ v)), given, 1)


def convolution(batch: int, channels: int, size: int) -> Callable[[], float]:
    given = _drawn((batch, channels, size, size), (channels, channels, 3, 3))

    def layer(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME")

    return _measured(layer, given, batch)

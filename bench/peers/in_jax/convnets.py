"""The same networks of convolutions in JAX, channels last or first, a step a call or all in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from bench.harness.picture_networks import (
    BLOCKS,
    CHOICES,
    CONVOLUTIONS,
    HIDDEN,
    PICTURES,
    flat_size,
    samples,
)
from bench.peers.in_jax.networks import Params, trained

ORDERS = {"last": ("NHWC", "HWIO", "NHWC"), "first": ("NCHW", "OIHW", "NCHW")}


def conv(x: jax.Array, w: jax.Array, b: jax.Array, order: str, stride: int, pad: int) -> jax.Array:
    padding = [(pad, pad)] * 2
    out = jax.lax.conv_general_dilated(
        x, w, (stride, stride), padding, dimension_numbers=ORDERS[order]
    )
    return out + (b if order == "last" else b[:, None, None])


def pooled(x: jax.Array, order: str) -> jax.Array:
    wide = (1, 3, 3, 1) if order == "last" else (1, 1, 3, 3)
    steps = (1, 2, 2, 1) if order == "last" else (1, 1, 2, 2)
    pads = [(int(n == 3), int(n == 3)) for n in wide]
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, wide, steps, pads)


def body(params: Params, x: jax.Array, network: str, order: str) -> jax.Array:
    found = iter(zip(params[::2], params[1::2], strict=True))
    if network != "residual":
        for (w, b), (_, _, stride) in zip(found, CONVOLUTIONS[network], strict=False):
            x = jax.nn.relu(conv(x, w, b, order, stride, 0))
        return x
    for _ in BLOCKS:
        x = pooled(conv(x, *next(found), order, 1, 1), order)
        for _ in range(2):
            inner = jax.nn.relu(conv(jax.nn.relu(x), *next(found), order, 1, 1))
            x = x + conv(inner, *next(found), order, 1, 1)
    return jax.nn.relu(x)


def loss(network: str, order: str, params: Params, x: jax.Array, label: jax.Array) -> jax.Array:
    *convolutions, hidden, bias, scores, shift = params
    rows = body(convolutions, x, network, order).reshape(len(x), -1)
    logits = jax.nn.relu(rows @ hidden + bias) @ scores + shift
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), label[:, None], 1)
    return -chosen.mean()


def kernels(network: str) -> Iterator[tuple[int, int, int]]:
    """The side, channels and features of every convolution."""
    channels, _ = PICTURES[network]
    if network == "residual":
        for features in BLOCKS:
            yield 3, channels, features
            yield from [(3, features, features)] * 4
            channels = features
    else:
        for features, size, _ in CONVOLUTIONS[network]:
            yield size, channels, features
            channels = features


def initial(network: str, order: str) -> Params:
    rng, found = np.random.default_rng(0), Params()

    def layer(shape: tuple[int, ...], entering: int, leaving: int) -> None:
        weight = rng.normal(size=shape) * entering**-0.5
        found.extend([jnp.asarray(weight, jnp.float32), jnp.zeros(leaving)])

    for size, channels, features in kernels(network):
        last = (size, size, channels, features)
        shape = last if order == "last" else (features, channels, size, size)
        layer(shape, channels * size**2, features)
    flat, wide = flat_size(network), HIDDEN[network]
    layer((flat, wide), flat, wide)
    layer((wide, CHOICES), wide, CHOICES)
    return found


def sampler(network: str, batch: int, order: str, form: str) -> Callable[[], float]:
    x, label = samples(network, batch)
    x = x.transpose(0, 2, 3, 1) if order == "last" else x
    data = jnp.asarray(x), jnp.asarray(label)
    return trained(partial(loss, network, order), initial(network, order), data, batch, form)

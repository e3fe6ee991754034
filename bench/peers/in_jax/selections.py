"""What is found along the last axis, in JAX: one jitted function of an array each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from bench.peers.in_jax.called import called

FOUND: dict[str, Callable[[jax.Array], jax.Array]] = {
    "sum": lambda x: x.sum(-1),
    "max": lambda x: x.max(-1),
    "var": lambda x: x.var(-1),
    "argmax": lambda x: x.argmax(-1),
    "logsumexp": lambda x: jax.nn.logsumexp(x, -1),
    "softmax": lambda x: jax.nn.softmax(x, -1),
    "cumsum": lambda x: jnp.cumsum(x, -1),
    "top_k": lambda x: jax.lax.top_k(x, 8)[1],
}


def along_rows(function: str, rows: int, length: int) -> Callable[[], float]:
    x = np.random.default_rng(0).normal(size=(rows, length))
    return called(jax.jit(FOUND[function]), [jnp.asarray(x, jnp.float32)], rows * length)


def searched(form: str, length: int, values: int) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    known = jnp.asarray(np.sort(rng.normal(size=length)), jnp.float32)
    sought = jnp.asarray(rng.normal(size=values), jnp.float32)
    return called(jax.jit(partial(jnp.searchsorted, method=form)), [known, sought], values)


@partial(jax.jit, static_argnums=1)
def draw(logits: jax.Array, form: str) -> jax.Array:
    if form == "by noise":
        return jax.random.categorical(jax.random.key(0), logits)
    total = jnp.cumsum(jax.nn.softmax(logits), 1)
    u = jax.random.uniform(jax.random.key(0), (len(logits), 1))
    return jax.vmap(partial(jnp.searchsorted, side="right"))(total, u)[:, 0]


def drawn(form: str, rows: int, words: int) -> Callable[[], float]:
    x = jnp.asarray(np.random.default_rng(0).normal(size=(rows, words)), jnp.float32)
    return called(lambda logits: draw(logits, form), [x], rows * words)

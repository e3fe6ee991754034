"""Decoders in JAX: one jitted function of arrays each; what runs over time is a scan."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.nn import log_softmax, logsumexp, softmax

from bench.peers.in_jax.called import called

LEAST = -1e30


def chain(states: int, batch: int, steps: int) -> tuple[jax.Array, jax.Array]:
    """Log-probabilities of moves, and of what was seen: time first."""
    rng = np.random.default_rng(0)
    move = rng.normal(size=(states, states))
    move -= np.log(np.exp(move).sum(1, keepdims=True))
    seen = rng.normal(size=(batch, steps, states))
    return jnp.asarray(move, jnp.float32), jnp.asarray(seen.swapaxes(0, 1), jnp.float32)


@jax.jit
def by_pointers(move: jax.Array, seen: jax.Array) -> jax.Array:
    """Every choice is kept on the way forwards."""

    def step(score: jax.Array, seen: jax.Array) -> tuple[jax.Array, jax.Array]:
        ways = score[:, :, None] + move
        return ways.max(1) + seen, ways.argmax(1)

    def back(state: jax.Array, came: jax.Array) -> tuple[jax.Array, jax.Array]:
        before = jnp.take_along_axis(came, state[:, None], 1)[:, 0]
        return before, before

    score, came = lax.scan(step, seen[0], seen[1:])
    last = score.argmax(1)
    return jnp.concatenate([lax.scan(back, last, came, reverse=True)[1], last[None]])


@jax.jit
def by_scores(move: jax.Array, seen: jax.Array) -> jax.Array:
    """Scores are kept; the choice that a path makes is found again on the way back."""

    def step(score: jax.Array, seen: jax.Array) -> tuple[jax.Array, jax.Array]:
        return (score[:, :, None] + move).max(1) + seen, score

    def back(state: jax.Array, score: jax.Array) -> tuple[jax.Array, jax.Array]:
        before = (score + move.T[state]).argmax(1)
        return before, before

    score, scores = lax.scan(step, seen[0], seen[1:])
    last = score.argmax(1)
    return jnp.concatenate([lax.scan(back, last, scores, reverse=True)[1], last[None]])


def viterbi(form: str, states: int, batch: int, steps: int) -> Callable[[], float]:
    function = by_pointers if form == "pointers" else by_scores
    return called(function, chain(states, batch, steps), batch * steps)


@jax.jit
def by_logarithms(move: jax.Array, seen: jax.Array) -> jax.Array:
    def forth(score: jax.Array, seen: jax.Array) -> tuple[jax.Array, jax.Array]:
        score = logsumexp(score[:, :, None] + move, 1) + seen
        return score, score

    def back(score: jax.Array, seen: jax.Array) -> tuple[jax.Array, jax.Array]:
        score = logsumexp(move + (seen + score)[:, None], 2)
        return score, score

    forward = jnp.concatenate([seen[:1], lax.scan(forth, seen[0], seen[1:])[1]])
    ends = jnp.zeros_like(seen[0])
    backward = jnp.concatenate([lax.scan(back, ends, seen[1:], reverse=True)[1], ends[None]])
    return softmax(forward + backward, -1)


def _scaled(x: jax.Array) -> jax.Array:
    return x / x.sum(-1, keepdims=True)


@jax.jit
def by_products(move: jax.Array, seen: jax.Array) -> jax.Array:
    kernel, likely = jnp.exp(move), jnp.exp(seen)

    def forth(p: jax.Array, likely: jax.Array) -> tuple[jax.Array, jax.Array]:
        p = _scaled((p @ kernel) * likely)
        return p, p

    def back(p: jax.Array, likely: jax.Array) -> tuple[jax.Array, jax.Array]:
        p = _scaled((likely * p) @ kernel.T)
        return p, p

    first, ends = _scaled(likely[0]), jnp.ones_like(seen[0])
    forward = jnp.concatenate([first[None], lax.scan(forth, first, likely[1:])[1]])
    backward = jnp.concatenate([lax.scan(back, ends, likely[1:], reverse=True)[1], ends[None]])
    return _scaled(forward * backward)


def hmm(form: str, states: int, batch: int, steps: int) -> Callable[[], float]:
    function = by_logarithms if form == "logarithms" else by_products
    return called(function, chain(states, batch, steps), batch * steps)


@jax.jit
def ctc_slope(logits: jax.Array, wanted: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The losses of all sequences, and the gradient of their sum by the logits, time first."""
    batch, labels = wanted.shape
    spelled = jnp.zeros((batch, 2 * labels + 1), jnp.int32).at[:, 1::2].set(wanted)
    before = jnp.pad(spelled, ((0, 0), (2, 0)))[:, :-2]
    skip = jnp.where((spelled != 0) & (spelled != before), 0.0, LEAST)

    def losses(logits: jax.Array) -> tuple[jax.Array, jax.Array]:
        where = jnp.broadcast_to(spelled, (len(logits), *spelled.shape))
        heard = jnp.take_along_axis(log_softmax(logits), where, 2)
        first = jnp.where(jnp.arange(2 * labels + 1) < 2, heard[0], LEAST)

        def step(score: jax.Array, heard: jax.Array) -> tuple[jax.Array, None]:
            one, two = (
                jnp.pad(score, ((0, 0), (k, 0)), constant_values=LEAST)[:, :-k] for k in (1, 2)
            )
            return logsumexp(jnp.stack([score, one, two + skip]), 0) + heard, None

        loss = -logsumexp(lax.scan(step, first, heard[1:])[0][:, -2:], 1)
        return loss.sum(), loss

    slope, loss = jax.grad(losses, has_aux=True)(logits)
    return loss, slope


def ctc(classes: int, labels: int, batch: int, steps: int) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(batch, steps, classes)).swapaxes(0, 1)
    wanted = rng.integers(1, classes, (batch, labels))
    given = jnp.asarray(logits, jnp.float32), jnp.asarray(wanted, jnp.int32)
    return called(ctc_slope, given, batch * steps)


@partial(jax.jit, static_argnums=(2, 3))
def best_texts(
    logits: jax.Array, first: jax.Array, width: int, steps: int
) -> tuple[jax.Array, jax.Array]:
    table, words = log_softmax(logits), len(logits)
    Beam = tuple[jax.Array, jax.Array]

    def step(beam: Beam, _: None) -> tuple[Beam, Beam]:
        score, word = beam
        ahead = score[:, :, None] + table[word]
        best, place = lax.top_k(ahead.reshape(len(first), -1), width)
        return (best, place % words), (place % words, place // words)

    def back(slot: jax.Array, made: Beam) -> tuple[jax.Array, jax.Array]:
        word, came = made
        text = jnp.take_along_axis(word, slot, 1)
        return jnp.take_along_axis(came, slot, 1), text

    start = jnp.where(jnp.arange(width) == 0, 0.0, LEAST)
    shape = (len(first), width)
    begun = jnp.broadcast_to(start, shape), jnp.broadcast_to(first[:, None], shape)
    (score, _), made = lax.scan(step, begun, None, steps - 1)
    slot = jnp.broadcast_to(jnp.arange(width, dtype=jnp.int32), shape)
    slot, text = lax.scan(back, slot, made, reverse=True)
    return score, jnp.concatenate([jnp.take_along_axis(begun[1], slot, 1)[None], text])


def beam(words: int, width: int, batch: int, steps: int) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    logits = jnp.asarray(rng.normal(size=(words, words)), jnp.float32)
    first = jnp.asarray(rng.integers(0, words, batch), jnp.int32)

    def function(logits: jax.Array, first: jax.Array) -> tuple[jax.Array, jax.Array]:
        return best_texts(logits, first, width, steps)

    return called(function, (logits, first), batch * steps)

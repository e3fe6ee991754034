"""Decoders: best paths, probabilities of states, losses over alignments, beams."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ostinato as ot
from bench.ours.called import called
from ostinato.language.tensor import Tensor

LEAST = -1e30  # as good as minus infinity, and harmless in differences


def chain(states: int, batch: int, steps: int) -> dict[str, object]:
    """Log-probabilities of moves, and of what was seen at every step."""
    rng = np.random.default_rng(0)
    move = rng.normal(size=(states, states))
    move -= np.log(np.exp(move).sum(1, keepdims=True))
    seen = rng.normal(size=(batch, steps, states))
    return {"move": move.astype(np.float32), "seen": seen.astype(np.float32)}


def best_paths(states: int) -> ot.Program:
    """The likeliest state of every step: best scores forwards, and back along their choices."""
    b, t = ot.dims("b t")
    move = ot.input("move", (states, states))
    seen = ot.input("seen", (states,), over=(b, t))
    score = ot.recurrent("score", (states,), over=(b, t))
    path = ot.recurrent("path", dtype="int32", over=(b, t))
    ways = score[..., None] + move  # from each state to each other one
    score[b, 0] = seen[b, 0]
    score[b, t + 1] = ways.max(0) + seen[b, t + 1]
    path[b, -1] = score[b, -1].argmax(0)
    path[b, t] = ot.take(ways.argmax(0), path[b, t + 1], axis=0)
    return ot.Program(path=path)


def viterbi(states: int, batch: int, steps: int, threads: int = 0) -> Callable[[], float]:
    given = chain(states, batch, steps)
    return called(best_paths(states), given, batch * steps, threads)


def posteriors(states: int, is_log: bool) -> ot.Program:
    """The probability of every state at every step, given all that was seen."""
    b, t = ot.dims("b t")
    move = ot.input("move", (states, states))
    seen = ot.input("seen", (states,), over=(b, t))
    forward, backward = (ot.recurrent(n, (states,), over=(b, t)) for n in ("forward", "backward"))
    if is_log:
        forward[b, 0] = seen[b, 0]
        forward[b, t + 1] = ot.logsumexp(forward[..., None] + move, 0) + seen[b, t + 1]
        backward[b, -1] = ot.zeros((states,))
        backward[b, t] = ot.logsumexp(move + (seen + backward)[b, t + 1], 1)
        return ot.Program(state=ot.softmax(forward + backward))
    kernel, likely = ot.exp(move), ot.exp(seen)
    forward[b, 0] = _scaled(likely[b, 0])
    forward[b, t + 1] = _scaled((forward @ kernel) * likely[b, t + 1])
    backward[b, -1] = ot.ones((states,))
    backward[b, t] = _scaled(((likely * backward)[b, t + 1]) @ kernel.T)
    return ot.Program(state=_scaled(forward * backward))


def _scaled(x: Tensor) -> Tensor:
    return x / x.sum(-1, keepdims=True)


def hmm(form: str, states: int, batch: int, steps: int, threads: int = 0) -> Callable[[], float]:
    given = chain(states, batch, steps)
    return called(posteriors(states, form == "logarithms"), given, batch * steps, threads)


def alignments(classes: int, labels: int) -> ot.Program:
    """The loss of label sequences by connectionist temporal classification, and its gradient.

    Class 0 is the blank, which may stand between two labels, and must between two equal ones.
    Source: Graves et al. 2006, Connectionist temporal classification.
    """
    b, t = ot.dims("b t")
    logits = ot.input("logits", (classes,), over=(b, t))
    wanted = ot.input("wanted", (labels,), "int32", over=b)
    places = 2 * labels + 1
    blanks = ot.zeros((labels, 1), "int32")
    pairs = ot.concatenate([blanks, wanted[..., None]], axis=1).reshape(2 * labels)
    spelled = ot.concatenate([pairs, ot.zeros((1,), "int32")], axis=0)
    before = ot.concatenate([ot.zeros((2,), "int32"), spelled[..., :-2]], axis=0)
    may_skip = (spelled != 0) & (spelled != before)
    heard = ot.take(ot.log_softmax(logits), spelled, axis=0)
    score = ot.recurrent("score", (places,), over=(b, t))
    score[b, 0] = ot.where(ot.arange(places) < 2, heard[b, 0], LEAST)
    one, two = (ot.concatenate([ot.full((k,), LEAST), score[..., :-k]], axis=0) for k in (1, 2))
    total = ot.logsumexp(ot.stack([score, one, ot.where(may_skip, two, LEAST)]), 0)
    score[b, t + 1] = total + heard[b, t + 1]
    loss = -ot.logsumexp(score[b, -1][-2:], 0)
    return ot.Program(loss=loss, slope=ot.grad(loss[:].sum(0), logits))


def speech(classes: int, labels: int, batch: int, steps: int) -> dict[str, object]:
    """Outputs of a network, and the labels that it should have."""
    rng = np.random.default_rng(0)
    return {
        "logits": rng.normal(size=(batch, steps, classes)).astype(np.float32),
        "wanted": rng.integers(1, classes, (batch, labels)).astype(np.int32),
    }


def ctc(classes: int, labels: int, batch: int, steps: int, threads: int = 0) -> Callable[[], float]:
    given = speech(classes, labels, batch, steps)
    return called(alignments(classes, labels), given, batch * steps, threads)


def beams(words: int, width: int) -> ot.Program:
    """The best sequences of a bigram model: the best continuations at each step are kept."""
    b, t = ot.dims("b t")
    table = ot.log_softmax(ot.input("logits", (words, words)))
    first = ot.input("first", dtype="int32", over=b)
    score = ot.recurrent("score", (width,), over=(b, t))
    word, came, slot = (
        ot.recurrent(n, (width,), "int32", over=(b, t)) for n in ("word", "came", "slot")
    )
    ahead = score[..., None] + ot.take(table, word, axis=0)
    best, place = ot.top_k(ahead.reshape(width * words), width)
    score[b, 0] = ot.where(ot.arange(width) == 0, 0.0, LEAST)
    score[b, t + 1] = best
    word[b, 0] = ot.broadcast_to(first, (width,))
    word[b, t + 1] = place % words
    came[b, 0] = ot.arange(width)
    came[b, t + 1] = place // words
    slot[b, -1] = ot.arange(width)
    slot[b, t] = ot.take(came[b, t + 1], slot[b, t + 1], axis=0)
    return ot.Program(score=score[b, -1], text=ot.take(word, slot, axis=0))


def bigrams(words: int, batch: int) -> dict[str, object]:
    """The model, and the words that sequences begin with."""
    rng = np.random.default_rng(0)
    return {
        "logits": rng.normal(size=(words, words)).astype(np.float32),
        "first": rng.integers(0, words, batch).astype(np.int32),
    }


def beam(words: int, width: int, batch: int, steps: int, threads: int = 0) -> Callable[[], float]:
    given = {**bigrams(words, batch), "T": steps}
    return called(beams(words, width), given, batch * steps, threads)

"""Products that episodes cut off, gathers in a shuffled order, and extremes that tie."""

from __future__ import annotations

import ostinato as ot
from ostinato.language.tensor import Tensor
from tests.property.constructs.slices import FOLDS, SPANS, folded
from tests.property.constructs.table import Step, Workshop, construct, place


def gates(x: Tensor) -> Tensor:
    """A discount, and 0 where an episode ends."""
    return ot.where(x > 0.3, 0.0, 0.9 + 0.05 * ot.sin(x))


@construct("ends", "discount_with_ends", "sum_with_ends", "recurrence_with_ends")
def with_ends(w: Workshop, s: Step) -> Tensor | None:
    """What is left of a value some steps away."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 1 or any(not n.is_const for n in x.node.shape):
        return None
    names = sorted(SPANS)
    span = SPANS[names[s.b % len(names)]](d, s.c)
    kept, terms = place(gates(x), d, span), place(x, d, span)
    if s.op == "discount_with_ends":
        return kept.prod(0) + x
    if s.op == "sum_with_ends":
        return (ot.cumprod(kept, axis=0) * terms).sum(0) * 0.5
    return ot.linear_recurrence(kept, terms, axis=0, reverse=s.c % 2 == 0).mean(0)


@construct("ends")
def advantage(w: Workshop, s: Step) -> Tensor | None:
    """A backward recurrence that starts again at each end."""
    d, x = w.along(s), w.real(s)
    if d is None or any(not n.is_const for n in x.node.shape):
        return None
    r = ot.recurrent(f"a{w.number}", shape=x.shape, dtype=x.dtype, over=w.over(x))
    r[tuple(-1 if e.name == d.name else e for e in w.over(x))] = place(x, d, -1)
    r[True] = x + gates(x) * place(r, d, d + 1)
    return r * 0.5


@construct("ends")
def shuffled(w: Workshop, s: Step) -> Tensor | None:
    """A value carried through the steps of a dim in random order, another one in every pass."""
    x = w.real(s)
    loops = w.over(x)
    if not loops or any(not n.is_const for n in x.node.shape):
        return None
    *outer, d = loops
    order = ot.random.permutation(d.size, over=tuple(outer))
    chosen = x.at(**{d.name: order[..., d]})
    total = ot.carry(f"c{w.number}", ot.zeros(x.shape, x.dtype), over=loops)
    total.step(ot.tanh(total) * 0.5 + chosen)
    return total.after if s.c == 2 else total - chosen


@construct("ends")
def tied(w: Workshop, s: Step) -> Tensor | None:
    """A fold of steps of which each is there twice."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 2:
        return None
    names = sorted(SPANS)
    pairs = place(x, d, d // 2)
    fold = s.fold if s.b % 2 else FOLDS[2 + s.c % 2]
    return folded(place(pairs, d, SPANS[names[s.b % len(names)]](d, s.c)), fold)


@construct("ends", "tied_array", "tied_pair")
def tied_elements(w: Workshop, s: Step) -> Tensor | None:
    x = w.array(s)
    if x is None:
        return None
    if s.op == "tied_pair":
        y = ot.roll(ot.concatenate([x, x], axis=-1), s.c)
        return ot.maximum(y, ot.flip(y, -1)).sum(-1) * 0.5
    both = ot.concatenate([x, ot.flip(x, -1)], axis=-1)
    return both.max(-1) - both.min(-1) * 0.5 if s.c > 1 else ot.cummax(both, axis=-1).mean(-1)

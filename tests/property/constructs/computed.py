"""Reads of steps that are themselves computed, and values through nested loops."""

from __future__ import annotations

import ostinato as ot
from ostinato.language.dims import Dimension
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct, place


def step_of(x: Tensor, d: Dimension, span: int = 7) -> Tensor:
    """A step of a dim that follows from values."""
    scalar = x.sum() if x.ndim else x
    return ot.floor(ot.abs(scalar) * 5.0).cast("int32") % span % ot.index(d.size) + d * 0


@construct("computed steps")
def at_computed_step(w: Workshop, s: Step) -> Tensor | None:
    d, x = w.along(s), w.real(s)
    return None if d is None else x.at(**{d.name: step_of(x, d)})


@construct("computed steps")
def at_several_computed_steps(w: Workshop, s: Step) -> Tensor | None:
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 1:
        return None
    chosen = ot.stack([step_of(x, d), step_of(x, d, 3)])
    return x.at(**{d.name: chosen}).sum(0) * 0.5


@construct("computed steps")
def within_window(w: Workshop, s: Step) -> Tensor | None:
    """A computed step of the last few."""
    d, x = w.along(s), w.real(s)
    if d is None:
        return None
    low = ot.maximum(d - s.c, 0)
    index = ot.minimum(ot.index(low) + step_of(x, d, s.c + 1), ot.index(d))
    return x.at(**{d.name: index}, within=(low, d + 1))


@construct("computed steps")
def own_past_at_computed_step(w: Workshop, s: Step) -> Tensor | None:
    """A recurrence that reads a computed step of its own past."""
    d, x = w.along(s), w.real(s)
    if d is None or any(not n.is_const for n in x.node.shape):
        return None
    r = ot.recurrent(f"r{w.number}", shape=x.shape, dtype=x.dtype, over=w.over(x))
    r[tuple(0 if e.name == d.name else e for e in w.over(x))] = place(x, d, 0)
    low = ot.maximum(d - s.c, 0)
    index = ot.minimum(ot.index(low) + step_of(x, d, s.c), ot.index(d) - 1)
    r[True] = r.at(**{d.name: index}, within=(low, d)) * 0.5 + x
    return r


@construct("nested loops")
def carried(w: Workshop, s: Step) -> Tensor | None:
    """A value carried through one, two or three dims, before or after each step."""
    x = w.real(s)
    loops = w.over(x)
    if not loops or any(not n.is_const for n in x.node.shape):
        return None
    outside = 1 if len(loops) > 1 and s.c == 3 else 0
    total = ot.carry(
        f"c{w.number}", ot.zeros(x.shape, x.dtype), over=loops[outside:], each=loops[:outside]
    )
    total.step(ot.tanh(total) * 0.5 + x)
    return total.after * 0.5 if s.c == 2 else total - x


@construct("nested loops")
def where_loops_begin(w: Workshop, s: Step) -> Tensor | None:
    """The carried value with which each pass of the innermost loop begins."""
    x = w.real(s)
    loops = w.over(x)
    if len(loops) < 2 or any(not n.is_const for n in x.node.shape):
        return None
    total = ot.carry(f"c{w.number}", ot.ones(x.shape, x.dtype), over=loops)
    total.step(total * 0.5 + ot.sin(x))
    return total.at(**{loops[-1].name: 0}) + (total.final if s.c == 2 else x)

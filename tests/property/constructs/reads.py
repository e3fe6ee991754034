"""Reads of other points: one position of one or several dims."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.dims import Dimension, IndexExpression
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct, place

Point = Callable[[Dimension, int], IndexExpression | int]

# Index expressions that stay inside the box for every extent.
POINTS: dict[str, Point] = {
    "back": lambda d, c: ot.maximum(d - c, 0),
    "ahead": lambda d, c: ot.minimum(d + c, d.size - 1),
    "first": lambda d, c: d * 0,
    "last": lambda d, c: d.size - 1,
    "end": lambda d, c: -1,
    "mirror": lambda d, c: d.size - 1 - d,
    "half": lambda d, c: d // (c + 1),
    "cycle": lambda d, c: d % c,
    "twice": lambda d, c: ot.minimum(d * 2, d.size - 1),
    "round_down": lambda d, c: d // (c + 1) * (c + 1),
    "swap_pairs": lambda d, c: ot.minimum(d + 1 - d % 2 * 2, d.size - 1),
    "middle": lambda d, c: d.size // 2,
    "between": lambda d, c: ot.maximum(ot.minimum(d * 2 - c, d.size - 1), 0),
    "from_end": lambda d, c: ot.maximum(d.size - 1 - d * 2, 0),
}


@construct("reads", *POINTS)
def point(w: Workshop, s: Step) -> Tensor | None:
    d = w.along(s)
    return None if d is None else place(w.any(s), d, POINTS[s.op](d, s.c))


# Positions of one dim that another dim has a part in.
MIXED: dict[str, Callable[[Dimension, Dimension, int], IndexExpression]] = {
    "sum_of_dims": lambda d, e, c: ot.minimum(d + e, d.size - 1),
    "difference": lambda d, e, c: ot.maximum(d - e, 0),
    "shifted_sum": lambda d, e, c: ot.minimum((d + e + c) // 2, d.size - 1),
    "least_of_three": lambda d, e, c: ot.minimum(d, e + c, d.size - 1),
    "greatest_of_three": lambda d, e, c: ot.minimum(ot.maximum(d - 1, e, 0), d.size - 1),
    "mirror_of_other": lambda d, e, c: ot.maximum(d.size - 1 - e, 0),
    "cycle_of_sum": lambda d, e, c: ot.minimum((d + e) % (c + 1), d.size - 1),
}


@construct("reads", *MIXED)
def mixed(w: Workshop, s: Step) -> Tensor | None:
    d, e = w.along(s), w.second(s)
    if d is None or e is None:
        return None
    return place(w.any(s), d, MIXED[s.op](d, e, s.c))


@construct("reads")
def by_another_dim(w: Workshop, s: Step) -> Tensor | None:
    """The step with the number of a dim that the tensor may lack: its domain changes."""
    d = w.along(s)
    if d is None or len(w.dims) < 2:
        return None
    rest = [e for e in w.dims if e.name != d.name]
    return place(w.any(s), d, ot.minimum(rest[s.b % len(rest)], d.size - 1))


@construct("reads")
def exchanged(w: Workshop, s: Step) -> Tensor | None:
    """Two dims indexed at once, each by the other."""
    d, e = w.along(s), w.second(s)
    if d is None or e is None:
        return None
    at = {d.name: ot.minimum(e, d.size - 1), e.name: ot.minimum(d, e.size - 1)}
    return w.any(s).at(**at)


@construct("reads")
def several(w: Workshop, s: Step) -> Tensor | None:
    """Every dim of the tensor at another position."""
    x = w.any(s)
    names = sorted(POINTS)
    own = w.over(x)
    if not own:
        return None
    chosen = {d.name: POINTS[names[(s.b + 5 * k) % len(names)]](d, s.c) for k, d in enumerate(own)}
    return x.at(**chosen)


@construct("reads")
def nested(w: Workshop, s: Step) -> Tensor | None:
    """A read of a read: ``x[t-1][t-1]``."""
    d = w.along(s)
    if d is None:
        return None
    names = sorted(POINTS)
    inner, outer = POINTS[names[s.b % len(names)]], POINTS[names[(s.b * 3 + s.c) % len(names)]]
    x = place(w.any(s), d, inner(d, s.c))
    return x if d.name not in [e.name for e in x.node.domain] else place(x, d, outer(d, 1))


@construct("reads")
def constant_step(w: Workshop, s: Step) -> Tensor | None:
    """A fixed step: the program then needs that many steps."""
    d = w.along(s)
    return None if d is None else place(w.any(s), d, s.c if s.b % 2 else -s.c)


@construct("reads", "guarded", "guarded_ahead", "guarded_lag")
def guarded(w: Workshop, s: Step) -> Tensor | None:
    """A read that leaves the domain where another side is chosen."""
    d, x = w.along(s), w.any(s)
    if d is None:
        return None
    if s.op == "guarded":
        return ot.where(d >= s.c, place(x, d, d - s.c), x)
    if s.op == "guarded_ahead":
        return ot.where(d < d.size - s.c, place(x, d, d + s.c), x)
    e = w.second(s)
    return None if e is None else ot.where(e <= d, place(x, d, d - e), x)

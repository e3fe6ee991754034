"""Recurrent tensors: forwards, backwards, mutual, over two dims, with long memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ostinato as ot
from ostinato.language.dims import Dimension, IndexExpression
from ostinato.language.recurrent import Recurrent
from ostinato.language.tensor import Tensor
from ostinato.pdg.index import expr
from tests.property.constructs.table import Step, Workshop, construct, place

At = tuple[IndexExpression | int, ...]


@dataclass(frozen=True)
class Frame:
    """What the body of a recurrence is written with."""

    x: Tensor
    d: Dimension
    over: tuple[Dimension, ...]
    name: str
    c: int

    def made(self, suffix: str = "") -> Recurrent:
        return ot.recurrent(
            self.name + suffix, shape=self.x.shape, dtype=self.x.dtype,
            over=self.over,
        )  # fmt: skip

    def at(self, index: IndexExpression | int, d: Dimension | None = None) -> At:
        name = (self.d if d is None else d).name
        return tuple(index if e.name == name else e for e in self.over)

    def first(self) -> Tensor:
        return place(self.x, self.d, 0)


BODIES: dict[str, Callable[[Frame], Tensor]] = {}


def body(make: Callable[[Frame], Tensor]) -> Callable[[Frame], Tensor]:
    BODIES[make.__name__] = make
    return make


@body
def forward(f: Frame) -> Tensor:
    r = f.made()
    r[f.at(0)] = place(f.x, f.d, f.d * 0) * 0.5
    r[f.at(f.d + 1)] = r * 0.5 + f.x
    return r


@body
def backward(f: Frame) -> Tensor:
    r = f.made()
    r[f.at(f.d.size - 1)] = place(f.x, f.d, f.d.size - 1)
    r[f.at(f.d)] = place(r, f.d, f.d + 1) * 0.7 + f.x
    return r


@body
def cases(f: Frame) -> Tensor:
    r = f.made()
    r[f.d % (f.c + 1) == 0] = f.x * 0.5
    r[True] = ot.tanh(place(r, f.d, f.d - 1)) + f.x
    return r


@body
def stride(f: Frame) -> Tensor:
    r = f.made()
    r[f.d < f.c] = f.x
    r[True] = place(r, f.d, f.d - f.c) * 0.5 + f.x
    return r


@body
def tail(f: Frame) -> Tensor:
    r = f.made()
    r[f.at(0)] = place(f.x, f.d, f.d * 0)
    r[f.at(f.d)] = ot.sin(place(r, f.d, f.d - 1)) * ot.tanh(f.x)
    return r


@body
def pair(f: Frame) -> Tensor:
    r, q = f.made(), f.made("q")
    start = place(f.x, f.d, f.d * 0)
    r[f.at(0)], q[f.at(0)] = start, start * 0.1
    r[f.at(f.d + 1)], q[f.at(f.d + 1)] = r * 0.5 + q, ot.tanh(r) - q * 0.25 + f.x
    return r + q


@body
def overlapping(f: Frame) -> Tensor:
    """Cases that overlap: the first one written wins."""
    r = f.made()
    r[f.d < f.c] = f.x * 0.5
    r[f.d < 2 * f.c] = f.x - 1.0
    r[f.d >= f.d.size - 1] = place(r, f.d, f.d - f.c) + 0.25
    r[f.d % 2 == 1] = ot.tanh(place(r, f.d, f.d - 2)) + f.x
    r[True] = place(r, f.d, f.d - 1) * 0.5 - f.x
    return r


@body
def ahead_of_left(f: Frame) -> Tensor:
    """An equation of ``r[t + 2]`` that reads ``r[t + 1]``."""
    r = f.made()
    r[f.d < 2] = f.x
    r[f.at(f.d + 2)] = 0.5 * place(r, f.d, f.d + 1) + 0.25 * r + f.x
    return r


@body
def backward_stride(f: Frame) -> Tensor:
    r = f.made()
    r[f.d >= f.d.size - f.c] = f.x
    r[True] = ot.tanh(place(r, f.d, f.d + f.c)) * 0.5 + f.x
    return r


@body
def own_history(f: Frame) -> Tensor:
    """Each step reads all steps before."""
    r = f.made()
    r[f.at(0)] = f.first()
    past = place(r, f.d, slice(None, f.d))
    r[True] = ot.tanh(past.sum(0) if f.c % 2 else past.mean(0)) * 0.5 + f.x
    return r


@body
def own_window(f: Frame) -> Tensor:
    r = f.made()
    r[f.d < f.c] = f.x
    window = place(r, f.d, slice(f.d - f.c, f.d))
    r[True] = (window.max(0) if f.c % 2 else window.sum(0) * 0.3) * 0.5 + f.x
    return r


@body
def reads_the_future(f: Frame) -> Tensor:
    """A recurrence of a suffix sum of another tensor."""
    r = f.made()
    r[f.at(0)] = f.first()
    r[f.at(f.d + 1)] = r * 0.5 + place(f.x, f.d, slice(f.d, None)).mean(0)
    return r


@body
def there_and_back(f: Frame) -> Tensor:
    """A backward recurrence of a forward one."""
    r, q = f.made(), f.made("back")
    r[f.at(0)] = f.first()
    r[f.at(f.d + 1)] = ot.tanh(r) * 0.5 + f.x
    q[f.at(-1)] = place(r, f.d, -1)
    q[f.at(f.d)] = place(q, f.d, f.d + 1) * 0.5 + r
    return q


@body
def resetting(f: Frame) -> Tensor:
    """A state that starts again where it grows too large."""
    r = f.made()
    r[f.at(0)] = f.first()
    r[f.at(f.d + 1)] = ot.where(ot.abs(r) > 0.7, f.x * 0.5, r * 1.3 + f.x * 0.25)
    return r


@body
def counting(f: Frame) -> Tensor:
    """An integer state that decides a float one."""
    n = ot.recurrent(f.name + "n", dtype="int64", over=f.over)
    n[f.at(0)] = 1
    n[f.at(f.d + 1)] = (n * 5 + f.c) % 11
    r = f.made()
    r[f.at(0)] = f.first()
    r[f.at(f.d + 1)] = ot.where(n % 2 == 0, r * 0.5, f.x) + n.cast(f.x.dtype) * 0.01
    return r


@body
def by_two_equations_of_each_other(f: Frame) -> Tensor:
    """Two tensors, each of which needs the other at the same step or the one before."""
    r, q = f.made(), f.made("q")
    r[f.at(0)] = f.first()
    q[f.at(f.d)] = ot.tanh(r) * 0.5 + f.x
    r[f.at(f.d + 1)] = q * 0.5 - f.x
    return q


@construct("recurrences", *BODIES)
def recurrence(w: Workshop, s: Step) -> Tensor | None:
    d, x = w.along(s), w.real(s)
    if d is None or any(not n.is_const for n in x.node.shape):
        return None
    return BODIES[s.op](Frame(x, d, w.over(x), f"r{w.number}", s.c))


PLANES: dict[str, Callable[[Frame, Dimension], Tensor]] = {}


def plane(make: Callable[[Frame, Dimension], Tensor]) -> Callable[[Frame, Dimension], Tensor]:
    PLANES[make.__name__] = make
    return make


@plane
def grid(f: Frame, e: Dimension) -> Tensor:
    """Every point needs its neighbours along both dims."""
    r = f.made()
    r[(f.d == 0) | (e == 0)] = f.x
    r[True] = 0.4 * place(r, f.d, f.d - 1) + 0.3 * place(r, e, e - 1) + f.x
    return r


@plane
def diagonal(f: Frame, e: Dimension) -> Tensor:
    r = f.made()
    r[(f.d == 0) | (e == 0)] = f.x * 0.5
    r[True] = ot.tanh(r.at(**{f.d.name: f.d - 1, e.name: e - 1})) + f.x
    return r


@plane
def mixed_batch(f: Frame, e: Dimension) -> Tensor:
    """Each step needs the mean over another dim of the step before."""
    r = f.made()
    r[f.at(0)] = f.first()
    r[f.at(f.d + 1)] = ot.tanh(r) * 0.5 + place(r, e, slice(None)).mean(0) * 0.25 + f.x
    return r


@plane
def snake(f: Frame, e: Dimension) -> Tensor:
    """The first step of each row needs the last step of the row before."""
    r = f.made()
    r[(f.d == 0) & (e == 0)] = f.x
    r[f.d == 0] = r.at(**{f.d.name: f.d.size - 1, e.name: e - 1}) * 0.5
    r[True] = place(r, f.d, f.d - 1) * 0.5 + f.x
    return r


@plane
def opposite_ways(f: Frame, e: Dimension) -> Tensor:
    """Forwards along one dim, backwards along the other."""
    r = f.made()
    r[(f.d == 0) | (e == e.size - 1)] = f.x
    r[True] = 0.4 * place(r, f.d, f.d - 1) - 0.3 * place(r, e, e + 1) + f.x
    return r


@plane
def quadrants(f: Frame, e: Dimension) -> Tensor:
    """Conditions on two dims, some of them overlapping."""
    r = f.made()
    r[(f.d < 2) & ~(e == 0)] = f.x * 0.5
    r[(f.d <= e) | (e % 2 == 1)] = f.x + 0.5
    r[f.d == 2] = f.x - 0.25
    r[True] = ot.tanh(place(r, f.d, f.d - 1)) - f.x
    return r


@plane
def runs_that_few_look_at(f: Frame, e: Dimension) -> Tensor:
    """A run along one dim at every step of another, read where it ends, at some steps."""
    r = f.made()
    r[f.at(0, e)] = place(f.x, e, 0)
    r[f.at(e + 1, e)] = ot.tanh(r) * 0.5 + f.x
    return ot.where(f.d % (f.c + 1) == 0, place(r, e, e.size - 1), 0.25)


@plane
def delayed_update(f: Frame, e: Dimension) -> Tensor:
    """A state that some steps change, by what runs along another dim make of it."""
    over = tuple(d for d in f.over if d.name != e.name)
    q = ot.recurrent(f.name + "q", shape=f.x.shape, dtype=f.x.dtype, over=over)
    r = f.made()
    r[f.at(0, e)] = q * 0.5
    r[f.at(e + 1, e)] = ot.tanh(r) * 0.5 + f.x
    last = place(r, e, e.size - 1)
    at = tuple(0 if d.name == f.d.name else d for d in over)
    following = tuple(f.d + 1 if d.name == f.d.name else d for d in over)
    q[at] = place(place(f.x, f.d, 0), e, 0)
    q[following] = ot.where(f.d % (f.c + 1) == f.c, last - q, q)
    return q


@construct("recurrences", *PLANES)
def recurrence_of_two(w: Workshop, s: Step) -> Tensor | None:
    d, e, x = w.along(s), w.second(s), w.real(s)
    if d is None or e is None or any(not n.is_const for n in x.node.shape):
        return None
    return PLANES[s.op](Frame(x, d, w.over(x), f"r{w.number}", s.c), e)


@construct("recurrences")
def through_a_matrix(w: Workshop, s: Step) -> Tensor | None:
    """A vector state that a product moves on."""
    d, x = w.along(s), w.real(s)
    if d is None or x.node.shape != (expr(3),):
        return None
    f = Frame(x, d, w.over(x), f"r{w.number}", s.c)
    matrix = ot.constant([[0.3, -0.2, 0.1], [0.0, 0.4, 0.2], [-0.3, 0.1, 0.2]], w.dtype)
    r = f.made()
    r[f.at(0)] = f.first()
    r[f.at(d + 1)] = ot.tanh(r @ matrix) + x
    return r

"""Incremental: sums of exponentials over sliding windows, joined from windows of half the length.

A window is two of half the length, each shifted by its own greatest value; the shifts differ by
factors that are at most 1. About ``2 log2 w`` steps for each point instead of w, nothing is ever
taken back out of a sum, and nothing overflows. Infinite greatest values are treated as in
`ostinato.rewrite.rules.online`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

HALVES = "A long window takes a few steps: it is two windows of half the length."
_law = Family("incremental/", "proofs/test_online.py", HALVES, "reassociates", "inside the box")

a, c, d, e, h, i, j, k, m, o, p, q, r, s = variables("a c d e h i j k m o p q r s")
v, w, x, y, z, ns, np = variables("v w x y z ns np")


def _most(s: Variable) -> Term:
    """The greatest value of a window."""
    return most(k, sl(d, s, x))


def _as_row(s: Variable) -> Term:
    return reshape(r, sizes(1, then=h), _most(s))


def _powers(s: Variable) -> Term:
    """The exponentials of a window, shifted by its greatest value."""
    return exp(sub(sl(d, s, x), finite(_as_row(s), y)))


def _power(x: Expression) -> Term:
    """A power with the shift of the whole window."""
    return exp(sub(x, finite(_most(s), reshape(0, o, z))))


@dataclass(frozen=True, slots=True)
class _Sum:
    """What is summed up: exponentials alone, times rows, or times vectors."""

    name: str
    when: tuple[Fact, ...]
    of_values: bool = True
    column: Callable[[Variable, Term], Term] = lambda s, powers: powers  # over a window
    number: Callable[[Term], Term] = lambda power: power  # a power beside the sum

    def terms(self, s: Variable, powers: Term) -> Term:
        powers = self.column(s, powers)
        return mul(powers, sl(d, s, v)) if self.of_values else powers

    def of(self, s: Variable) -> Term:
        return total(m, self.terms(s, _powers(s)))

    @property
    def both(self) -> Term:
        """Two windows of half the length, with the shift of the whole."""
        near = mul(self.number(_power(_most(p))), self.of(p))
        far = mul(self.number(_power(at(d, a, _most(p)))), at(d, a, self.of(p)))
        return add(near, far)

    @property
    def doubled(self) -> Term:
        return case(c, self.both, self.of(p))

    @property
    def halved(self) -> Term:
        """Both, and one element more in a window of an odd number of steps."""
        power = self.number(_power(at(d, i, x)))
        last = mul(power, at(d, i, v)) if self.of_values else power
        return case(j, self.doubled, add(self.both, last))


_ALONE = _Sum("sum-of-powers", (eq(m, 1 << rank(x)),), of_values=False)
_ROWS = _Sum("softmax-sum", (eq(r, rank(v)), eq(m, 1 << rank(v))))
_LENGTHS = {s: ns, p: np}
_VECTORS = _Sum(
    "softmax-sum-of-vectors",
    (
        eq(0, r),
        eq(1, rank(v)),
        eq(m, 1 << rank(v)),
        eq(ns, length(s)),
        eq(np, length(p)),
    ),
    column=lambda s, powers: column(size(_LENGTHS[s]), powers),
    number=beside,
)
_HISTORY = (
    is_in(d, dom(x)),
    eq(r, rank(x)),
    eq(k, 1 << r),
    eq(h, shape(x)),
    eq(e, dtype(x)),
    zero(e, z),
)
_WIDTH = eq(sizes(1, then=h), shape(finite(_as_row(s), y)))  # that of x
_SHIFT = (ones(r, o), eq(0.0, value(y)), _WIDTH)


def _joined(each: _Sum) -> Rule:
    return _law(
        f"sliding-{each.name}",
        "a softmax-weighted sum of a window = those of its halves, with factors for their shifts",
        each.of(s),
        each.halved,
        *(halved(d, s, p, a, c, i, j), *each.when, *_HISTORY, *_SHIFT),
    )


SLIDING: tuple[Rule, ...] = tuple(map(_joined, (_ALONE, _ROWS, _VECTORS)))

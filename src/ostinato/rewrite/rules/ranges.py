"""Incremental: folds over ranges that follow the point, made of running folds and shorter windows.

``prefix(d, s)``: slice s is ``0 : d + 1``; ``suffix(d, s)``: it is ``d : D``. A fold over a range
of length n at each of n points is n^2 / 2 steps; the scan is n. ``moved(d, s, q, a, c)``: slice s
is q at index a, where it has elements (c holds). Windows of constant length are joined from two of
half the length: about ``2 log2 w`` steps for each point, whatever overlaps counts once, and nothing
is ever taken back out of a sum. ``repeats(f, g)``: folding with f is applying g again and again,
which rounds or does not.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Exactness, Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

ONE_STEP = "One step per point instead of one pass over the whole range."
ELSEWHERE = "One running fold serves every range that begins where it begins."
HALVES = "A long window takes a few steps: it is two windows of half the length."
FOLDS = "proofs/test_incremental.py"

_law = Family("incremental/", FOLDS, ONE_STEP, valid="inside the box")

a, c, d, e, f, g, h, i, j, k, m, p = variables("a c d e f g h i j k m p")
q, r, s, u, x = variables("q r s u x")

_LEADING = (eq(m, 1 << rank(x)), is_in(d, dom(x)))


def _range(
    name: str,
    law: str,
    right: Term,
    relation: Fact,
    *when: Fact,
    reason: str = HALVES,
    exact: Exactness = "exact",
    bits: tuple[Fact, ...] = (),
) -> Rule:
    """A law about a fold over a range."""
    proof = FOLDS if reason is ONE_STEP else "proofs/test_ranges.py"
    return _law(name, law, red(f, m, sl(d, s, x)), right, relation, *_LEADING, *when,
                reason=reason, exact=exact, proof=proof, bits=bits)  # fmt: skip


_NOTHING = (eq(e, dtype(LHS)), empty(f, e, u), eq(h, shape(LHS)), eq(r, rank(LHS)), ones(r, k))
_HALF = red(f, m, sl(d, p, x))
_DOUBLED = case(c, map2(g, _HALF, at(d, a, _HALF)), _HALF)

RANGES: tuple[Rule, ...] = (
    _range("running",
           "fold(x[0 : d + 1]) = scan(fold, x, d), and that of x[d : D] = scan backwards",
           running(f, d, i, x), nearby(d, s, i, a, c), repeats(f, g), reason=ONE_STEP,
           exact="reassociates", bits=(exactly(f, g),)),
    _law("suffix-sum", "sum(x[d : D]) = y where y[d] = x[d] + y[d + 1]",
         total(m, sl(d, s, x)), lin(d, 1, reshape(0, h, u), x),
         suffix(d, s), _LEADING[0], eq(r, rank(x)), unit(dtype(x), u), ones(r, h),
         exact="reassociates"),
    _range("range-elsewhere",
           "fold(x[s]) = fold(x[q]) at a, where the range s is q at a, else the fold of nothing",
           case(c, at(d, a, red(f, m, sl(d, q, x))), bcast(h, reshape(0, k, u))),
           moved(d, s, q, a, c), repeats(f, g), *_NOTHING, reason=ELSEWHERE),
    _range("window-overlapping",
           "the greatest of a window is that of two shorter windows that cover it",
           _DOUBLED, overlapping(d, s, p, a, c), exactly(f, g), exact="zero signs"),
    _range("window-halved",
           "a window is one of half its steps and another next to it, and of odd ones an element",
           case(j, _DOUBLED, map2(g, _DOUBLED, at(d, i, x))),
           halved(d, s, p, a, c, i, j), rounded(f, g), exact="reassociates"),
)  # fmt: skip

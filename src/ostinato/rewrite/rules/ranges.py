"""Incremental: folds over ranges that follow the point, made of running folds and shorter windows.

``until(d, s, a, c)``: slice s ends behind index a, where it has elements (c holds); ``from_``: it
begins at a. Windows of constant length are joined from two of half the length: about ``2 log2 w``
steps for each point, whatever overlaps counts once, and nothing is ever taken back out of a sum.
``exactly(f, g)`` and ``rounded(f, g)``: folding with f is applying g again and again.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Exactness, Rule
from ostinato.rewrite.terms import *

RUNNING = "One running fold serves every range that begins where it begins."
HALVES = "A long window takes a few steps: it is two windows of half the length."

a, c, d, e, f, g, h, i, j, k, m, p = variables("a c d e f g h i j k m p")
q, r, s, u, x = variables("q r s u x")

_GROUPS: tuple[tuple[Fact, str, Exactness], ...] = (
    (exactly(f, g), "", "exact"),
    (rounded(f, g), "-rounded", "reassociates"),
)


def _range(
    name: str, law: str, relation: Fact, right: Term, *when: Fact, reason: str = RUNNING
) -> tuple[Rule, ...]:
    """A law about folds over a range, for folds that round and for those that do not."""
    return tuple(
        Rule(
            name=f"incremental/{name}{suffix}",
            law=law,
            reason=reason,
            left=red(f, m, sl(d, s, x)),
            right=right,
            when=(relation, group, eq(m, 1 << rank(x)), is_in(d, dom(x)), *when),
            exact="zero signs" if relation.head == "overlapping" else exact,
            valid="inside the box",
            proof="proofs/test_ranges.py",
        )
        for group, suffix, exact in _GROUPS
    )


def _where_some(there: Term) -> Term:
    """What a range with elements is, which it has where c holds, else the fold of nothing."""
    return case(c, there, bcast(h, reshape(0, k, u)))


_NOTHING = (eq(e, dtype(LHS)), empty(f, e, u), eq(h, shape(LHS)), eq(r, rank(LHS)), ones(r, k))
_SO_FAR, _TO_COME = at(d, a, scan(f, d, x)), at(d, a, back(f, d, x))
_HALF = red(f, m, sl(d, p, x))
_DOUBLED = case(c, map2(g, _HALF, at(d, a, _HALF)), _HALF)

RANGES: tuple[Rule, ...] = (
    *_range("suffix", "fold(x[d : D]) = scan(fold, x, d) from D - 1 backwards",
            suffix(d, s), back(f, d, x)),
    *_range("always-until", "fold(x[0 : a + 1]) = scan(fold, x)[d = a] where a >= 0",
            always_until(d, s, a), _SO_FAR),
    *_range("until",
            "fold(x[0 : a + 1]) = scan(fold, x)[d = a] where a >= 0, else the fold of nothing",
            until(d, s, a, c), _where_some(_SO_FAR), *_NOTHING),
    *_range("always-from", "fold(x[a : D]) = scan(fold, x) backwards, at d = a, where a < D",
            always_from(d, s, a), _TO_COME),
    *_range(
        "from",
        "fold(x[a : D]) = scan(fold, x) backwards, at d = a, where a < D, else the fold of nothing",
        from_(d, s, a, c),
        _where_some(_TO_COME),
        *_NOTHING,
    ),
    _range("window-doubled", "a window of 2 w steps is one of w steps and another next to it",
           doubled(d, s, p, a, c), _DOUBLED, reason=HALVES)[1],
    _range("window-overlapping",
           "the greatest of a window is that of two shorter windows that cover it",
           overlapping(d, s, p, a, c), _DOUBLED, reason=HALVES)[0],
    _range("window-lengthened",
           "a window of 2 w + 1 steps is one of w steps, another next to it, and one element more",
           lengthened(d, s, p, a, c, i, j), case(j, map2(g, _DOUBLED, at(d, i, x)), _DOUBLED),
           reason=HALVES)[1],
    _range("window-elsewhere", "a window beside the point is one that touches a point beside it",
           moved(d, s, q, a, c), _where_some(at(d, a, red(f, m, sl(d, q, x)))), *_NOTHING)[0],
)  # fmt: skip

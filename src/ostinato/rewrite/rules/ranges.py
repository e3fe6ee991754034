"""Incremental: folds over ranges that follow the point, made of running folds and shorter windows.

``until d s a c``: slice s ends behind index a, where it has elements (c holds); ``from``: it begins
at a. Windows of constant length are joined from two of half the length: about ``2 log2 w`` steps
for each point, whatever overlaps counts once, and nothing is ever taken back out of a sum.
``exactly f g`` and ``rounded f g``: folding with f is applying g again and again.
"""

from __future__ import annotations

from typing import Literal

from ostinato.rewrite.engine.rule import Exactness, Rule

RUNNING = "One running fold serves every range that begins where it begins."
HALVES = "A long window takes a few steps: it is two windows of half the length."
PROOF = "proofs/test_ranges.py"
Group = Literal["exactly", "rounded"]

_GROUPS: tuple[tuple[Group, str, Exactness], ...] = (
    ("exactly", "", "exact"),
    ("rounded", "-rounded", "reassociates"),
)
_LEADING = ("(= m (<< 1 (rank x)))", "(!= 0 (& d (dom x)))")
_NOTHING = ("(= e (dtype lhs))", "(empty f e u)", "(= h (shape lhs))", "(= r (rank lhs))")
_UNIT = "(bcast h (reshape 0 k u))"


def _range(
    name: str, law: str, relation: str, right: str, *when: str, reason: str = RUNNING
) -> tuple[Rule, ...]:
    """A law about folds over a range, for folds that round and for those that do not."""
    return tuple(
        Rule(
            name=f"incremental/{name}{suffix}",
            law=law,
            reason=reason,
            left="(red f m (sl d s x))",
            right=right,
            when=(relation, f"({group} f g)", *_LEADING, *when),
            exact="zero signs" if relation.startswith("(overlapping") else exact,
            valid="inside the box",
            proof=PROOF,
        )
        for group, suffix, exact in _GROUPS
    )


def _joined(first: str, second: str) -> str:
    """Both parts of a window where the second has elements, else the first."""
    return f"(case c (map2 g {first} (at d a {second})) {first})"


def _fold(s: str) -> str:
    return f"(red f m (sl d {s} x))"


_DOUBLED = _joined(_fold("p"), _fold("p"))

RANGES: tuple[Rule, ...] = (
    *_range(
        "suffix",
        "fold(x[d : D]) = scan(fold, x, d) from D - 1 backwards",
        "(suffix d s)",
        "(back f d x)",
    ),
    *_range(
        "always-until",
        "fold(x[0 : a + 1]) = scan(fold, x)[d = a] where a >= 0",
        "(always_until d s a)",
        "(at d a (scan f d x))",
    ),
    *_range(
        "until",
        "fold(x[0 : a + 1]) = scan(fold, x)[d = a] where a >= 0, else the fold of nothing",
        "(until d s a c)",
        f"(case c (at d a (scan f d x)) {_UNIT})",
        *_NOTHING,
        "(ones r k)",
    ),
    *_range(
        "always-from",
        "fold(x[a : D]) = scan(fold, x) backwards, at d = a, where a < D",
        "(always_from d s a)",
        "(at d a (back f d x))",
    ),
    *_range(
        "from",
        "fold(x[a : D]) = scan(fold, x) backwards, at d = a, where a < D, else the fold of nothing",
        "(from d s a c)",
        f"(case c (at d a (back f d x)) {_UNIT})",
        *_NOTHING,
        "(ones r k)",
    ),
    _range(
        "window-doubled",
        "a window of 2 w steps is one of w steps and another next to it",
        "(doubled d s p a c)",
        _DOUBLED,
        reason=HALVES,
    )[1],
    _range(
        "window-overlapping",
        "the greatest of a window is that of two shorter windows that cover it",
        "(overlapping d s p a c)",
        _DOUBLED,
        reason=HALVES,
    )[0],
    _range(
        "window-lengthened",
        "a window of 2 w + 1 steps is one of w steps, another next to it, and one element more",
        "(lengthened d s p a c i j)",
        f"(case j (map2 g {_DOUBLED} (at d i x)) {_DOUBLED})",
        reason=HALVES,
    )[1],
    _range(
        "window-elsewhere",
        "a window beside the point is one that touches a point beside it",
        "(moved d s q a c)",
        f"(case c (at d a {_fold('q')}) {_UNIT})",
        *_NOTHING,
        "(ones r k)",
    )[0],
)

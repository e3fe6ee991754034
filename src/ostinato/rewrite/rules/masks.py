"""Incremental: a fold of what a mask keeps is a fold over the range that it keeps.

``keeps(c, k, s)``: c holds exactly at the positions s of axis -k; loading decides it for every
condition on positions, however it is spelled. A mask of two ranges gives two folds. What is done to
a part of an axis is done to the parts of operands (`ostinato.rewrite.rules.tiles`), so the part of
a history is a range of it, of which other laws make running folds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ostinato.rewrite.engine.rule import Exactness, Rule, Validity
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

KEPT = "What a mask leaves out need not be read."
ONE_FORM = "Masks are choices, however they are written."
_law = Family("incremental/", "proofs/test_masks.py")

a, b, c, d, e, f, g, h, k, m, n, o, q = variables("a b c d e f g h k m n o q")
s, u, w, x, y, z = variables("s u w x y z")

_ONE_RANGE, _TWO_RANGES = keeps(c, k, s), keeps_both(c, k, s, q)


def _rule(
    name: str,
    law: str,
    left: Expression,
    right: Term,
    *when: Fact,
    exact: Exactness = "exact",
    valid: Validity = "everywhere",
    bits: tuple[Fact, ...] = (),
) -> Rule:
    reason = KEPT if isinstance(left, Term) and left.head == "red" else ONE_FORM
    return _law(name, law, left, right, *when, reason=reason, exact=exact, valid=valid, bits=bits)


def _folds() -> Iterator[Rule]:
    """Folds with what a fold of nothing gives in place of what a mask leaves out."""
    left, choice = red(f, m, w), eq(w, where(c, y, reshape(0, o, u)))
    known = (
        *(choice, empty(f, e, u), eq(n, rank(y)), ones(n, o), eq(shape(w), shape(y))),
        *(axis(y, k, h), axis(c, k, h), eq(m, 1 << (k - 1))),
    )
    parts = [red(f, m, cut(k, part, y)) for part in (s, q)]
    masked = partial(_rule, valid="inside the box", bits=(exactly(f, g),))
    law, facts = (
        "fold(where(s is in a range, x[s], nothing)) = fold(x[range])",
        (repeats(f, g), *known),
    )
    yield masked("masked-fold", law, left, parts[0], _ONE_RANGE, *facts, exact="zero signs")
    law = "the same for a mask of two ranges is the fold of both"
    yield masked("masked-folds", law, left, map2(g, *parts), _TWO_RANGES, *facts,
                 exact="reassociates")  # fmt: skip


def _forms() -> Iterator[Rule]:
    """Masks as choices around all that they multiply."""
    law = "x[s] times 1 where s is in a range, else 0, = where(s is in the range, x[s], 0)"
    number = (real_cast(f), eq(e, dtype(x)), zero(e, z), eq(n, rank(x)), ones(n, o))
    found = either("mul", y, map1(f, c), x)
    yield _masked("number", law, where(c, x, reshape(0, o, z)), found, *number)
    law = "where(s is in a range, w, 0) x[s] = where(s is in the range, w x[s], 0)"
    found = either("mul", y, where(c, w, z), x)
    yield _masked("product", law, where(c, mul(w, x), z), found, eq(0.0, value(z)))


def _masked(name: str, law: str, right: Term, *when: Fact) -> Rule:
    """A mask that multiplies, as a choice around the product."""
    return _rule(f"masked-{name}", law, y, right, _ONE_RANGE, *when, exact="skips zeros",
                 valid="inside the box")  # fmt: skip


MASKS: tuple[Rule, ...] = (
    *_folds(),
    *_forms(),
    _rule("counts-in-part", "a part of 0, 1, ... is that of d for all d",
          cut(1, s, leaf(n)), cut(1, s, sl(d, b, leaf(a))),
          eq(b, full(d)), counts(n, length(b)), here(a, d)),
)  # fmt: skip

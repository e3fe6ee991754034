"""Algebra: identities of numbers, folds and matrix products that do not depend on dimensions.

``value(x)`` is the number that fills a constant. Facts about the shape of the left side say that no
operand repeats: ``x * 1`` is ``x`` only where the one does not lengthen an axis. No law commutes or
regroups without a bound; where both orders of operands matter a law asks for ``either``. Laws that
leave a part of a term bring it to its normal form.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Exactness, Phase, Rule, Validity
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

FEWER = "An operator that changes nothing need not run."
PROOF = "proofs/test_algebra.py"
_law = Family("algebra/", PROOF, FEWER)
MASKS = f"unproved: it computes with masks of axes; {PROOF} decides every mask of 5 axes"

c, e, f, g, h, k, m, n, r, s, v, w, x, y, z = variables("c e f g h k m n r s v w x y z")

_SAME = eq(shape(x), shape(LHS))
_FILLED = filled(n)
_ZERO, _ONE, _TWO = ((eq(number, value(y)), _SAME) for number in (0.0, 1.0, 2.0))


def _rule(
    name: str,
    law: str,
    left: Expression,
    right: Expression,
    *when: Fact,
    exact: Exactness = "exact",
    proof: str = PROOF,
    phase: Phase = "rewrite",
    bits: tuple[Fact, ...] = (),
) -> Rule:
    valid: Validity = "inside the box" if _FILLED in when else "everywhere"
    phase = "normal" if isinstance(right, Variable) else phase
    return _law(name, law, left, right, *when, exact=exact, valid=valid,
                proof=proof, phase=phase, bits=bits)  # fmt: skip


_TWO_BESIDE = add(reshape(0, h, w), reshape(0, h, w))  # with axes of size 1 only
_NEUTRAL = (
    _rule(
        "times-one",
        "x * 1 = x, and so x / 1 and x ** 1",
        z,
        x,
        either(f, z, x, y),
        multiplies(f),
        *_ONE,
        exact="reassociates",
        bits=(scales(f),),
    ),
    _rule(
        "plus-zero",
        "x + 0 = x, and x - 0 = x",
        z,
        x,
        either(f, z, x, y),
        adds(f),
        *_ZERO,
        exact="zero signs",
    ),
    _rule("zero-sub", "0 - x = -x", sub(y, x), neg(x), *_ZERO, exact="zero signs"),
    _rule(
        "power-of-power",
        "(x ** y) ** z = x ** (y z) for numbers x and z > 0",
        power(power(x, y), z),
        power(x, mul(y, z)),
        positive(x),
        positive(z),
        bounded(z),
        exact="reassociates",
    ),
    _rule(
        "root-of-power",
        "sqrt(x ** y) = x ** (y / (1 + 1)) for a number x > 0",
        map1("sqrt", power(x, y)),
        power(x, div(y, _TWO_BESIDE)),
        positive(x),
        eq(e, dtype(x)),
        unit(e, w),
        eq(n, rank(y)),
        ones(n, h),
        exact="reassociates",
    ),
    _rule("square", "x ** 2 = x * x", power(x, y), mul(x, x), *_TWO, exact="reassociates"),
)


_CANCEL = (
    _rule("twice", "-(-x) = x, and not not x = x", map1(f, map1(f, x)), x, involution(f)),
    _rule("add-neg", "x + -y = x - y, and x - -y = x + y",
          z, map2(g, x, y), either(f, z, x, neg(y)), turned(f, g)),
    _rule("neg-sub", "-(x - y) = y - x", neg(sub(x, y)), sub(y, x), exact="zero signs"),
    _rule("where-same", "where(c, x, x) = x", where(c, x, x), x, _SAME),
    _rule("where-not", "where(c, x, y) = where(not c, y, x)",
          where(c, x, y), where(w, y, x), opposite(c, w)),
    _rule("case-always", "x where a condition that always holds does, else y, is x",
          case(c, x, y), x, everywhere(c)),
    _rule("case-same", "x where any condition holds, else x, is x", case(c, x, x), x),
    _rule("stop-gradient", "stop_gradient(x) = x once gradients are taken",
          map1("stop_gradient", x), x),
)  # fmt: skip


_MATRIX = (
    _rule("transpose-product", "(A B)^T = B^T A^T", tr(mm(x, y)), mm(tr(y), tr(x))),
    _rule("product-of-transposes", "A^T B^T = (B A)^T", mm(tr(x), tr(y)), tr(mm(y, x))),
)  # fmt: skip


_FOLDS = (
    _rule("sum-of-scaled", "sum(x y) = sum(x) y, and so for x / y, where y has size 1 there",
          total(m, z), map2(f, total(m, x), part(k, 0, y)),
          either(f, z, x, y), scales(f), axis(y, k, 1), axis(x, k, n), _FILLED,
          eq(m, 1 << (k - 1)), exact="distributes"),
    _rule("factor", "a b + a c = a (b + c)", add(v, w), mul(x, add(y, z)),
          either("mul", v, x, y), either("mul", w, x, z), exact="distributes"),
    _rule("sum-of-negated", "sum(-x) = -sum(x)",
          total(m, neg(x)), neg(total(m, x)), exact="zero signs"),
    _rule("reshape-twice", "reshape(reshape(x)) = one reshape",
          reshape(k, h, reshape(r, g, x)), reshape(r, h, x), eq(k, hlen(g)), phase="normal"),
    _rule("reshape-fewer", "an axis that stays in front of a reshape is no part of it",
          reshape(k, cons(s, h), x), reshape(k - 1, h, x), axis(x, k, s), phase="normal"),
    _rule("quotient-reshaped", "reshape(x / y) = reshape(x) / y for one y",
          reshape(k, g, div(x, y)), div(reshape(k, g, x), reshape(k, h, y)),
          eq(k, rank(x)), ones(k, s), eq(s, shape(y)), eq(m, hlen(g)), ones(m, h)),
    _rule("reshape-same", "reshape(x) to the shape it has = x",
          reshape(r, h, x), x, eq(shape(x), shape(LHS))),
)  # fmt: skip

_FOLD_TWICE = _rule(
    "fold-twice",
    "a fold of a fold over axes further left is one fold",
    red(f, m, red(f, n, x)),
    red(f, m | n, x),
    m < (n & 0 - n),
    ne(f, "argmax"),
    ne(f, "argmin"),
    exact="reassociates",
    proof=MASKS,
)

ALGEBRA: tuple[Rule, ...] = (*_NEUTRAL, *_CANCEL, *_MATRIX, *_FOLDS, _FOLD_TWICE)

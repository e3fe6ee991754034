"""Algebra: identities of numbers, folds and matrix products that do not depend on dimensions.

``value x`` is the number that fills a constant. Facts about ``(shape lhs)`` say that no operand
repeats: ``x * 1`` is ``x`` only where the one does not lengthen an axis. No law commutes or
regroups without a bound; where both orders of operands matter there are two laws.
"""

from __future__ import annotations

from ostinato.rewrite.registry import Exactness, Rule

FEWER = "An operator that changes nothing need not run."
SAME = "(= (shape x) (shape lhs))"
PROOF = "proofs/test_algebra.py"


def _rule(
    name: str, law: str, left: str, right: str, *when: str, exact: Exactness = "exact"
) -> Rule:
    return Rule(
        name=f"algebra/{name}",
        law=law,
        reason=FEWER,
        left=left,
        right=right,
        when=when,
        exact=exact,
        proof=PROOF,
    )


_NEUTRAL = (
    _rule("mul-one", "x * 1 = x", '(map2 "mul" x y)', "x", "(= 1.0 (value y))", SAME),
    _rule("one-mul", "1 * x = x", '(map2 "mul" y x)', "x", "(= 1.0 (value y))", SAME),
    _rule("div-one", "x / 1 = x", '(map2 "div" x y)', "x", "(= 1.0 (value y))", SAME),
    _rule(
        "sub-zero",
        "x - 0 = x",
        '(map2 "sub" x y)',
        "x",
        "(= 0.0 (value y))",
        SAME,
        exact="zero signs",
    ),
    _rule(
        "add-zero",
        "x + 0 = x",
        '(map2 "add" x y)',
        "x",
        "(= 0.0 (value y))",
        SAME,
        exact="zero signs",
    ),
    _rule(
        "zero-add",
        "0 + x = x",
        '(map2 "add" y x)',
        "x",
        "(= 0.0 (value y))",
        SAME,
        exact="zero signs",
    ),
    _rule(
        "zero-sub",
        "0 - x = -x",
        '(map2 "sub" y x)',
        '(map1 "neg" x)',
        "(= 0.0 (value y))",
        SAME,
        exact="zero signs",
    ),
    _rule(
        "pow-one",
        "x ** 1 = x",
        '(map2 "pow" x y)',
        "x",
        "(= 1.0 (value y))",
        SAME,
        exact="reassociates",
    ),
    _rule(
        "square",
        "x ** 2 = x * x",
        '(map2 "pow" x y)',
        '(map2 "mul" x x)',
        "(= 2.0 (value y))",
        SAME,
        exact="reassociates",
    ),
)

_CANCEL = (
    _rule("neg-neg", "-(-x) = x", '(map1 "neg" (map1 "neg" x))', "x"),
    _rule("not-not", "not not x = x", '(map1 "not" (map1 "not" x))', "x"),
    _rule("add-neg", "x + -y = x - y", '(map2 "add" x (map1 "neg" y))', '(map2 "sub" x y)'),
    _rule("neg-add", "-x + y = y - x", '(map2 "add" (map1 "neg" x) y)', '(map2 "sub" y x)'),
    _rule("sub-neg", "x - -y = x + y", '(map2 "sub" x (map1 "neg" y))', '(map2 "add" x y)'),
    _rule(
        "neg-sub",
        "-(x - y) = y - x",
        '(map1 "neg" (map2 "sub" x y))',
        '(map2 "sub" y x)',
        exact="zero signs",
    ),
    _rule("max-same", "max(x, x) = x", '(map2 "maximum" x x)', "x"),
    _rule("min-same", "min(x, x) = x", '(map2 "minimum" x x)', "x"),
    _rule("where-same", "where(c, x, x) = x", '(map3 "where" c x x)', "x", SAME),
    _rule(
        "where-not",
        "where(not c, x, y) = where(c, y, x)",
        '(map3 "where" (map1 "not" c) x y)',
        '(map3 "where" c y x)',
    ),
    _rule("case-same", "x where any condition holds, else x, is x", "(case c x x)", "x"),
    _rule(
        "stop-gradient",
        "stop_gradient(x) = x once gradients are taken",
        '(map1 "stop_gradient" x)',
        "x",
    ),
)

_MATRIX = (
    _rule("transpose-product", "(A B)^T = B^T A^T", "(tr (mm x y))", "(mm (tr y) (tr x))"),
    _rule("product-of-transposes", "A^T B^T = (B A)^T", "(mm (tr x) (tr y))", "(tr (mm y x))"),
    _rule(
        "sum-of-products",
        "A W + B W = (A + B) W",
        '(map2 "add" (mm x w) (mm y w))',
        '(mm (map2 "add" x y) w)',
        "(= (shape x) (shape y))",
        exact="reassociates",
    ),
)

_FOLDS = (
    _rule(
        "factor-left",
        "a b + a c = a (b + c)",
        '(map2 "add" (map2 "mul" x y) (map2 "mul" x z))',
        '(map2 "mul" x (map2 "add" y z))',
        exact="reassociates",
    ),
    _rule(
        "factor-right",
        "b a + c a = (b + c) a",
        '(map2 "add" (map2 "mul" y x) (map2 "mul" z x))',
        '(map2 "mul" (map2 "add" y z) x)',
        exact="reassociates",
    ),
    _rule(
        "sum-of-negated",
        "sum(-x) = -sum(x)",
        '(red "sum" m (map1 "neg" x))',
        '(map1 "neg" (red "sum" m x))',
        exact="zero signs",
    ),
    _rule(
        "reshape-twice",
        "reshape(reshape(x)) = one reshape",
        "(reshape k h (reshape r g x))",
        "(reshape r h x)",
        "(= k (hlen g))",
    ),
    _rule(
        "reshape-same",
        "reshape(x) to the shape it has = x",
        "(reshape r h x)",
        "x",
        "(= r (rank x))",
        "(= h (shape x))",
    ),
)

ALGEBRA: tuple[Rule, ...] = (*_NEUTRAL, *_CANCEL, *_MATRIX, *_FOLDS)

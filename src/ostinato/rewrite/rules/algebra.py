"""Algebra: identities of numbers, folds and matrix products that do not depend on dimensions.

``value x`` is the number that fills a constant. Facts about ``(shape lhs)`` say that no operand
repeats: ``x * 1`` is ``x`` only where the one does not lengthen an axis. No law commutes or
regroups without a bound; where both orders of operands matter there are two laws.
"""

from __future__ import annotations

from dataclasses import replace

from ostinato.rewrite.engine.rule import Exactness, Rule

FEWER = "An operator that changes nothing need not run."
SAME = "(= (shape x) (shape lhs))"
PROOF = "proofs/test_algebra.py"
MASKS = f"unproved: it computes with masks of axes; {PROOF} decides every mask of 5 axes"


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
        valid="inside the box" if "(filled n)" in when else "everywhere",
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

_FUNCTIONS = (
    _rule(
        "abs-neg",
        "abs(-x) = abs(x) for numbers with a sign",
        '(map1 "abs" (map1 "neg" x))',
        '(map1 "abs" x)',
        "(= e (dtype x))",
        '(!= e "uint32")',
    ),
    _rule("abs-abs", "abs(abs(x)) = abs(x)", '(map1 "abs" (map1 "abs" x))', '(map1 "abs" x)'),
    _rule(
        "neg-times-neg",
        "-x * -y = x y",
        '(map2 "mul" (map1 "neg" x) (map1 "neg" y))',
        '(map2 "mul" x y)',
    ),
    _rule(
        "log-of-exp",
        "log(exp(x)) = x",
        '(map1 "log" (map1 "exp" x))',
        "x",
        exact="reassociates",
    ),
    *(
        _rule(
            f"truth-as-{inner}-as-{outer}",
            f"a truth value as {inner} as {outer} = the truth value as {outer}",
            f'(map1 "cast:{outer}" (map1 "cast:{inner}" x))',
            f'(map1 "cast:{outer}" x)',
            '(= "bool" (dtype x))',
        )
        for inner, outer in (("int32", "float32"), ("int32", "float64"), ("float32", "int32"))
    ),
)

_MATRIX = (
    _rule("transpose-product", "(A B)^T = B^T A^T", "(tr (mm x y))", "(mm (tr y) (tr x))"),
    _rule("product-of-transposes", "A^T B^T = (B A)^T", "(mm (tr x) (tr y))", "(tr (mm y x))"),
    _rule(
        "product-of-scaled",
        "(s A) B = s (A B) for a number s",
        '(mm (map2 "mul" x s) y)',
        '(map2 "mul" (mm x y) s)',
        "(axes2 s (size 1) (size 1))",
        "(axis x 1 n)",
        "(filled n)",
        exact="distributes",
    ),
    _rule(
        "product-with-scaled",
        "A (s B) = s (A B) for a number s",
        '(mm x (map2 "mul" y s))',
        '(map2 "mul" (mm x y) s)',
        "(axes2 s (size 1) (size 1))",
        "(axis x 1 n)",
        "(filled n)",
        exact="distributes",
    ),
    _rule(
        "sum-of-products",
        "A W + B W = (A + B) W",
        '(map2 "add" (mm x w) (mm y w))',
        '(mm (map2 "add" x y) w)',
        "(= (shape x) (shape y))",
        exact="distributes",
    ),
)


def _products(first: str, second: str) -> tuple[str, str]:
    return f'(map2 "mul" {first})', f'(map2 "mul" {second})'


def _factored(name: str, law: str, left: str, right: str) -> Rule:
    return _rule(
        name,
        law,
        f'(map2 "add" {left} {right})',
        '(map2 "mul" x (map2 "add" y z))',
        exact="distributes",
    )


def _free_factor(name: str, law: str, product: str) -> Rule:
    """A factor that is the same along the summed axis is multiplied once, after the sum."""
    return _rule(
        name,
        law,
        f'(red "sum" m (map2 "mul" {product}))',
        '(map2 "mul" (red "sum" m x) (part k 0 y))',
        "(axis y k (size 1))",
        "(axis x k n)",
        "(filled n)",
        "(= m (<< 1 (- k 1)))",
        exact="distributes",
    )


_FOLDS = (
    _free_factor("sum-of-scaled", "sum(x y) = sum(x) y where y has size 1 there", "x y"),
    _free_factor("scaled-sum", "sum(y x) = sum(x) y where y has size 1 there", "y x"),
    _factored("factor-first-last", "a b + c a = a (b + c)", *_products("x y", "z x")),
    _factored("factor-last-first", "b a + a c = a (b + c)", *_products("y x", "x z")),
    _rule(
        "factor-left",
        "a b + a c = a (b + c)",
        '(map2 "add" (map2 "mul" x y) (map2 "mul" x z))',
        '(map2 "mul" x (map2 "add" y z))',
        exact="distributes",
    ),
    _rule(
        "factor-right",
        "b a + c a = (b + c) a",
        '(map2 "add" (map2 "mul" y x) (map2 "mul" z x))',
        '(map2 "mul" (map2 "add" y z) x)',
        exact="distributes",
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

_FOLD_TWICE = replace(
    _rule(
        "fold-twice",
        "a fold of a fold over axes further left is one fold",
        "(red f m (red f n x))",
        "(red f (| m n) x)",
        "(< m (& n (- 0 n)))",
        '(!= f "argmax")',
        '(!= f "argmin")',
        exact="reassociates",
    ),
    proof=MASKS,
)

ALGEBRA: tuple[Rule, ...] = (*_NEUTRAL, *_CANCEL, *_FUNCTIONS, *_MATRIX, *_FOLDS, _FOLD_TWICE)

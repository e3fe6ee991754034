"""Incremental: products with triangular matrices of powers, which are discounted sums.

Row i and column j are steps of dimension d. ``lag x d b``: x is ``j - i`` where b is 1, ``i - j``
where it is 0; ``facing c d b``: c says where that is not negative; ``ramp m d b g``: m is g to the
power of it there, else 0. However such a matrix is spelled, a product with it is the linear
recurrence ``y[d] = x[d] + g y[d + 1]``, or with ``d - 1``: T steps instead of T^2.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.registry import Rule

PROOF = "proofs/test_ramps.py"
ONE_STEP = "Discounted sums are one multiply-add per step, not a product with a triangle."
SEEN = "A triangle of powers is known by what it is, however it is spelled."

_STEPS = ("(= s (full d))", "(= n (size (length s)))")
_COUNTED = ("(counts k (length s))", *_STEPS)
_ROW = "(reshape 1 (cons (size 1) (cons n (nil))) (leaf k))"
_COLUMN = "(reshape 1 (cons n (cons (size 1) (nil))) (leaf k))"
_NUMBER = ("(= 2 (rank g))", "(axis g 1 (size 1))", "(axis g 2 (size 1))", "(= 0 (& d (dom g)))")
_ZERO = ("(= 0.0 (value z))", "(= 2 (rank z))", "(axis z 1 (size 1))", "(axis z 2 (size 1))")
_OTHER = "(= e (- 1 b))"


def _m2(fn: str, a: str, b: str) -> str:
    return f'(map2 "{fn}" {a} {b})'


def _seen(name: str, law: str, term: str, concluded: str, *when: str) -> Rule:
    """What a matrix is, from what it is made of."""
    return Rule(
        name=f"incremental/{name}",
        law=law,
        reason=SEEN,
        left="x",
        right="x",
        when=(f"(= x {term})", *when),
        also=(concluded,),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


def _lag(name: str, law: str, term: str, b: str, *when: str) -> Rule:
    return _seen(f"lag-{name}", law, term, f"(lag x d {b})", *when)


def _facing(name: str, law: str, term: str, b: str, *when: str) -> Rule:
    return _seen(f"facing-{name}", law, term, f"(facing x d {b})", *when)


_LAGS = (
    _lag("ahead", "columns - rows = j - i", _m2("sub", _ROW, _COLUMN), "1", *_COUNTED),
    _lag("behind", "rows - columns = i - j", _m2("sub", _COLUMN, _ROW), "0", *_COUNTED),
    _lag("negated", "-(j - i) = i - j", '(map1 "neg" y)', "e", "(lag y d b)", _OTHER),
    _lag("transposed", "(j - i)^T = i - j", "(tr y)", "e", "(lag y d b)", _OTHER),
    _lag("cast", "j - i as a float is j - i", "(map1 f y)", "b", "(lag y d b)", "(real_cast f)"),
)
_LAG_Y = ("(lag y d b)", *_ZERO)
_FACINGS = (
    _facing("ge", "j - i >= 0", _m2("ge", "y", "z"), "b", *_LAG_Y),
    _facing("le", "j - i <= 0 says i - j >= 0", _m2("le", "y", "z"), "e", *_LAG_Y, _OTHER),
    _facing("ahead", "j >= i says j - i >= 0", _m2("ge", _ROW, _COLUMN), "1", *_COUNTED),
    _facing("behind", "i >= j says i - j >= 0", _m2("ge", _COLUMN, _ROW), "0", *_COUNTED),
    _facing("not-behind", "i <= j says j - i >= 0", _m2("le", _COLUMN, _ROW), "1", *_COUNTED),
    _facing("not-ahead", "j <= i says i - j >= 0", _m2("le", _ROW, _COLUMN), "0", *_COUNTED),
)


def _ramps() -> Iterator[Rule]:
    """Powers of the lag where it is not negative, chosen or multiplied by 0 and 1."""
    power, lag = _m2("pow", "g", "y"), "(lag y d b)"
    mask = "(map1 f c)"
    chosen, first, last = (
        f'(map3 "where" c {power} z)',
        _m2("mul", power, mask),
        _m2("mul", mask, power),
    )
    known = ("(facing c d b)", lag, *_NUMBER)
    law = "where(j >= i, g^(j - i), 0)"
    yield _seen("ramp", law, chosen, "(ramp x d b g)", *known, *_ZERO)
    law = "g^(j - i) times 1 where j >= i, else 0"
    yield _seen("ramp-masked", law, first, "(ramp x d b g)", *known, "(real_cast f)")
    yield _seen("ramp-masked-first", law, last, "(ramp x d b g)", *known, "(real_cast f)")
    law = "where(j >= i, exp(c (j - i)), 0) is a ramp of exp(c)"
    for name, product in (("last", _m2("mul", "y", "g")), ("first", _m2("mul", "g", "y"))):
        term = f'(map3 "where" c (map1 "exp" {product}) z)'
        concluded = '(ramp x d b (map1 "exp" g))'
        yield _seen(f"ramp-of-exponents-{name}", law, term, concluded, *known, *_ZERO)
    law = "a ramp transposed faces the other way"
    known = ("(ramp y d b g)", *_NUMBER, _OTHER)
    yield _seen("ramp-transposed", law, "(tr y)", "(ramp x d e g)", *known)


def _product(name: str, law: str, left: str, right: str, *when: str) -> Rule:
    return Rule(
        name=f"incremental/{name}",
        law=law,
        reason=ONE_STEP,
        left=left,
        right=right,
        when=("(ramp m d b g)", *_STEPS, *_NUMBER, *when),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


def _chained(name: str, law: str, left: str, right: str, *when: str) -> Rule:
    """Sums with weights that are products of factors along the way."""
    return Rule(
        name=f"incremental/chained-{name}",
        law=law,
        reason="Weights that are products of factors cost one multiply-add per step.",
        left=left,
        right=right,
        when=(
            "(= r (rank x))",
            "(= r (rank g))",
            "(= m (<< 1 r))",
            "(= a (+ 1 r))",
            "(= (shape x) (shape g))",
            *when,
        ),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


def _weighted(weights: str, x: str) -> Iterator[tuple[str, str]]:
    """The sum of a product in both orders."""
    for name, pair in (("", (weights, x)), ("-last", (x, weights))):
        yield name, f'(red "sum" m {_m2("mul", *pair)})'


def _chains() -> Iterator[Rule]:
    so_far, before = '(along1 "prod" a i (sl d s g))', '(along1 "prod" a i (sl d q g))'
    law = "sum_k g[d] ... g[d + k] x[d + k] = y where y[d] = g[d] x[d] + g[d] y[d + 1]"
    for order, left in _weighted(so_far, "(sl d s x)"):
        right = f"(lin d 1 g {_m2('mul', 'g', 'x')})"
        yield _chained(f"sum{order}", law, left, right, "(suffix d s)")
    law = "sum_k g[d] ... g[d + k - 1] x[d + k] = y where y[d] = x[d] + g[d] y[d + 1]"
    one = ("(= 1.0 (value u))", "(axis u a (size 1))")
    for order, left in _weighted(f"(cat a u {before})", "(sl d s x)"):
        ranges = ("(suffix d s)", "(shortened d q)")
        yield _chained(f"rest{order}", law, left, "(lin d 1 g x)", *ranges, *one)
    law = "x[d] + sum_k g[d] ... g[d + k] x[d + 1 + k] = y where y[d] = x[d] + g[d] y[d + 1]"
    for order, left in _weighted(before, "(sl d s x)"):
        for place, pair in (("", ("x", left)), ("-before", (left, "x"))):
            name, ranges = f"step{place}{order}", ("(rest d s)", "(shortened d q)")
            yield _chained(name, law, _m2("add", *pair), "(lin d 1 g x)", *ranges)


def _discounted_chains() -> Iterator[Rule]:
    """Powers beside products of factors: discounted sums that end where a factor is 0."""
    law = "sum_k g^k c[d] ... c[d + k - 1] x[d + k] = y where y[d] = x[d] + g c[d] y[d + 1]"
    powers, one = '(map2 "pow" g (map1 f (leaf k)))', ("(= 1.0 (value u))", "(axis u 1 (size 1))")
    chain, x = '(cat 1 u (along1 "prod" 1 i (sl d q c)))', "(sl d s x)"
    when = (
        *("(suffix d s)", "(shortened d q)", "(counts k (length s))", "(real_cast f)"),
        *(
            "(= 0 (rank c))",
            "(= 0 (rank x))",
            "(= 1 (rank g))",
            "(axis g 1 (size 1))",
            "(= 0 (& d (dom g)))",
        ),
        *one,
    )
    scaled = _m2("mul", "(part 1 0 g)", "c")
    for name, first, second, third in (
        ("powers-and-chain", powers, chain, x),
        ("chain-and-powers", chain, powers, x),
        ("values-and-powers", x, powers, chain),
        ("powers-and-values", powers, x, chain),
        ("values-and-chain", x, chain, powers),
        ("chain-and-values", chain, x, powers),
    ):
        both = _m2("mul", first, second)
        for order, pair in (("", (both, third)), ("-last", (third, both))):
            left = f'(red "sum" 1 {_m2("mul", *pair)})'
            yield _powered(f"{name}{order}", law, left, f"(lin d 1 {scaled} x)", *when)


def _powered(name: str, law: str, left: str, right: str, *when: str) -> Rule:
    return Rule(
        name=f"incremental/discounted-chain-{name}",
        law=law,
        reason="Weights that are products of factors cost one multiply-add per step.",
        left=left,
        right=right,
        when=when,
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


_COLUMN_OF = "(reshape 1 (cons n (cons (size 1) (nil))) (sl d s {}))"
_ROW_OF = "(reshape 1 (cons (size 1) (cons n (nil))) (sl d s {}))"
_SUM = "sum_j m[d, j] x[j] where m is a ramp = y where y[d] = x[d] + g y[d +- 1]"
_SUM_OF_ROWS = "sum_i x[i] m[i, d] where m is a ramp = y where y[d] = x[d] + g y[d -+ 1]"
_ALONG = "(lin d {} (reshape 2 (nil) g) x)"
_BATCH = "(sl d s (lin d {} (reshape 2 (cons (size 1) (nil)) g) (sl q u x)))"
_TOGETHER = ("(= 0 (rank x))", "(!= d q)", "(= 0 (& d (mask u)))", "(= 0 (& q (dom g)))")
RAMPS: tuple[Rule, ...] = (
    *_LAGS,
    *_FACINGS,
    *_ramps(),
    _product(
        "ramp-times-vectors",
        _SUM,
        "(mm m (sl d s x))",
        "(sl d s (lin d b (reshape 2 (cons (size 1) (nil)) g) x))",
        "(= 1 (rank x))",
    ),
    _product(
        "ramp-times-column",
        _SUM,
        f"(mm m {_COLUMN_OF.format('x')})",
        _COLUMN_OF.format(_ALONG.format("b")),
        "(= 0 (rank x))",
    ),
    _product(
        "row-times-ramp",
        _SUM_OF_ROWS,
        f"(mm {_ROW_OF.format('x')} m)",
        _ROW_OF.format(_ALONG.format("e")),
        "(= 0 (rank x))",
        _OTHER,
    ),
    _product(
        "rows-times-ramp",
        _SUM_OF_ROWS,
        "(mm (sl q u (sl d s x)) m)",
        f"(tr {_BATCH.format('e')})",
        *_TOGETHER,
        _OTHER,
    ),
    _product(
        "ramp-times-columns",
        _SUM,
        "(mm m (tr (sl q u (sl d s x))))",
        _BATCH.format("b"),
        *_TOGETHER,
    ),
    *_chains(),
    *_discounted_chains(),
)

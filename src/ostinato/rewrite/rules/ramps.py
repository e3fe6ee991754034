"""Incremental: products with triangular matrices of weights, which are discounted sums.

Row i and column j are steps of dimension d. ``lag x d b``: x is ``j - i`` where b is 1, ``i - j``
where it is 0; ``facing c d b``: c says where that is not negative; ``beyond c d b``: where it is
positive. ``rungs m d b g``: there m is the product of g over the steps from the row to before the
column, such as ``g ** (j - i)``, and elsewhere anything; ``ladder m d b g``: elsewhere 0. However
such a matrix is spelled, a product with it is the linear recurrence ``y[d] = x[d] + g y[d + 1]``,
or with ``d - 1``: T steps instead of T^2. Where an episode ends, g is 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.engine.rule import Exactness, Rule

PROOF = "proofs/test_ramps.py"
ONE_STEP = "Discounted sums are one multiply-add per step, not a product with a triangle."
SEEN = "A triangle of powers is known by what it is, however it is spelled."

_STEPS = ("(= s (full d))", "(= n (size (length s)))")
_COUNTED = ("(counts k (length s))", *_STEPS)
_ROW = "(reshape 1 (cons (size 1) (cons n (nil))) (leaf k))"
_COLUMN = "(reshape 1 (cons n (cons (size 1) (nil))) (leaf k))"
_NUMBER = ("(= 2 (rank g))", "(axis g 1 (size 1))", "(axis g 2 (size 1))", "(= 0 (& d (dom g)))")
_ZERO = ("(= 0.0 (value z))", "(= 2 (rank z))", "(axis z 1 (size 1))", "(axis z 2 (size 1))")
_ONE_BY_ONE = ("(axis u 1 (size 1))", "(axis u 2 (size 1))")
_OTHER = "(= e (- 1 b))"


def _m2(fn: str, a: str, b: str) -> str:
    return f'(map2 "{fn}" {a} {b})'


_SKIPPING = frozenset(
    f"{name}{order}"
    for name, orders in (
        ("rungs-exponents", ("-first", "-last")),
        ("ladder-masked", ("", "-first")),
        ("ladder-product", ("", "-last")),
    )
    for order in orders
)


def _claimed(name: str) -> Exactness:
    """What a matrix has in common with what it is made of."""
    if name == "lag-negated":
        return "zero signs"
    if name == "ladder-transposed" or name.startswith(("lag-a", "lag-b", "lag-t", "fac", "bey")):
        return "exact"
    return "skips zeros" if name in _SKIPPING else "reassociates"


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
        exact=_claimed(name),
        proof=PROOF,
    )


def _lag(name: str, law: str, term: str, b: str, *when: str) -> Rule:
    return _seen(f"lag-{name}", law, term, f"(lag x d {b})", *when)


def _facing(name: str, law: str, term: str, b: str, *when: str) -> Rule:
    return _seen(f"facing-{name}", law, term, f"(facing x d {b})", *when)


def _beyond(name: str, law: str, term: str, b: str, *when: str) -> Rule:
    return _seen(f"beyond-{name}", law, term, f"(beyond x d {b})", *when)


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


_BEYONDS = (
    _beyond("gt", "j - i > 0", _m2("gt", "y", "z"), "b", *_LAG_Y),
    _beyond("lt", "j - i < 0 says i - j > 0", _m2("lt", "y", "z"), "e", *_LAG_Y, _OTHER),
    _beyond("ahead", "j > i says j - i > 0", _m2("gt", _ROW, _COLUMN), "1", *_COUNTED),
    _beyond("behind", "i > j says i - j > 0", _m2("gt", _COLUMN, _ROW), "0", *_COUNTED),
    _beyond("not-behind", "i < j says j - i > 0", _m2("lt", _COLUMN, _ROW), "1", *_COUNTED),
    _beyond("not-ahead", "j < i says i - j > 0", _m2("lt", _ROW, _COLUMN), "0", *_COUNTED),
)
_RUNGS_Y, _LADDER_Y = "(rungs y d b g)", "(ladder y d b g)"
_POWERS = "(reshape 2 (nil) g)"
_BOTH = _m2("mul", "g", "h")


def _rungs() -> Iterator[Rule]:
    """Powers of the lag, products of factors along rows or columns, and products of these."""
    law = "g^(j - i) is the product of g over the steps from i to before j"
    power = _m2("pow", "g", "y")
    yield _seen("rungs-power", law, power, f"(rungs x d b {_POWERS})", "(lag y d b)", *_NUMBER)
    law = "exp(c (j - i)) is the product of exp(c) over the steps from i to before j"
    concluded = f'(rungs x d b (map1 "exp" {_POWERS}))'
    for name, product in (("last", _m2("mul", "y", "g")), ("first", _m2("mul", "g", "y"))):
        term = f'(map1 "exp" {product})'
        yield _seen(f"rungs-exponents-{name}", law, term, concluded, "(lag y d b)", *_NUMBER)
    known = (*_STEPS, "(= 0 (rank g))", "(= 1.0 (value u))", "(= 2 (rank u))", *_ONE_BY_ONE)
    law = "prod_{k <= j} where(k > i, g[k - 1], 1) is the product of g from i to before j"
    before = "(reshape 1 (cons (size 1) (cons n (nil))) (cat 1 w (sl d q g)))"
    term = f'(along1 "prod" 1 a (map3 "where" c {before} u))'
    first = ("(but_last d q)", "(axis w 1 (size 1))", "(beyond c d 1)")
    yield _seen("rungs-along-rows", law, term, "(rungs x d 1 g)", *first, *known)
    law = "prod_{k <= i} where(k > j, g[k], 1) is the product of g from i down to behind j"
    here = "(reshape 1 (cons n (cons (size 1) (nil))) (sl d s g))"
    term = f'(along1 "prod" 2 a (map3 "where" c {here} u))'
    yield _seen("rungs-along-columns", law, term, "(rungs x d 0 g)", "(beyond c d 0)", *known)
    law = "products of g times products of h are products of g h"
    seen, other = f"(rungs x d b {_BOTH})", "(rungs w d b h)"
    yield _seen("rungs-product", law, _m2("mul", "y", "w"), seen, _RUNGS_Y, other)


def _ladders() -> Iterator[Rule]:
    """Such products where the lag is not negative, chosen or multiplied by 0 and 1."""
    mask, known, seen = "(map1 f c)", ("(facing c d b)", _RUNGS_Y), "(ladder x d b g)"
    law = "where(j >= i, products of g, 0)"
    yield _seen("ladder", law, '(map3 "where" c y z)', seen, *known, *_ZERO)
    law = "products of g times 1 where j >= i, else 0"
    yield _seen("ladder-masked", law, _m2("mul", "y", mask), seen, *known, "(real_cast f)")
    yield _seen("ladder-masked-first", law, _m2("mul", mask, "y"), seen, *known, "(real_cast f)")
    law, other = "a ladder of g times products of h is a ladder of g h", "(rungs w d b h)"
    seen = f"(ladder x d b {_BOTH})"
    yield _seen("ladder-product", law, _m2("mul", "y", "w"), seen, _LADDER_Y, other)
    yield _seen("ladder-product-last", law, _m2("mul", "w", "y"), seen, _LADDER_Y, other)
    law = "a ladder of one factor, transposed, faces the other way"
    steady = (_LADDER_Y, "(= 0 (& d (dom g)))", _OTHER)
    yield _seen("ladder-transposed", law, "(tr y)", "(ladder x d e g)", *steady)


def _product(name: str, law: str, left: str, right: str, *when: str) -> Rule:
    return Rule(
        name=f"incremental/{name}",
        law=law,
        reason=ONE_STEP,
        left=left,
        right=right,
        when=("(ladder m d b g)", *_STEPS, "(= 0 (rank g))", *when),
        exact="skips zeros",
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
        exact="distributes",
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
        exact="distributes",
        valid="inside the box",
        proof=PROOF,
    )


_COLUMN_OF = "(reshape 1 (cons n (cons (size 1) (nil))) (sl d s {}))"
_ROW_OF = "(reshape 1 (cons (size 1) (cons n (nil))) (sl d s {}))"
_SUM = "sum_j m[d, j] x[j] where m is a ladder = y where y[d] = x[d] + g y[d +- 1]"
_SUM_OF_ROWS = "sum_i x[i] m[i, d] where m is a ladder = y where y[d] = x[d] + g y[d -+ 1]"
_ALONG = "(lin d {} g x)"
_BATCH = "(sl d s (lin d {} (reshape 0 (cons (size 1) (nil)) g) (sl q u x)))"
_TOGETHER = ("(= 0 (rank x))", "(!= d q)", "(= 0 (& d (mask u)))")
_STEADY = ("(= 0 (& d (dom g)))", _OTHER)
_ROW_X, _ROWS_X = _ROW_OF.format("x"), "(sl q u (sl d s x))"


def _products() -> Iterator[Rule]:
    numbers, number = "(reshape 0 (cons (size 1) (nil)) g)", "(= 0 (rank x))"
    vectors = f"(sl d s (lin d b {numbers} x))"
    yield _product("ladder-times-vectors", _SUM, "(mm m (sl d s x))", vectors, "(= 1 (rank x))")
    column, found = (_COLUMN_OF.format(x) for x in ("x", _ALONG.format("b")))
    yield _product("ladder-times-column", _SUM, f"(mm m {column})", found, number)
    yield _product(
        "ladder-times-columns", _SUM, f"(mm m (tr {_ROWS_X}))", _BATCH.format("b"), *_TOGETHER
    )
    for name, m, flag, steady in (("", "m", "e", _STEADY), ("-transposed", "(tr m)", "b", ())):
        row, rows = _ROW_OF.format(_ALONG.format(flag)), f"(tr {_BATCH.format(flag)})"
        sides = f"(mm {_ROW_X} {m})", row
        yield _product(f"row-times-ladder{name}", _SUM_OF_ROWS, *sides, number, *steady)
        sides = f"(mm {_ROWS_X} {m})", rows
        yield _product(f"rows-times-ladder{name}", _SUM_OF_ROWS, *sides, *_TOGETHER, *steady)


RAMPS: tuple[Rule, ...] = (
    *_LAGS,
    *_FACINGS,
    *_BEYONDS,
    *_rungs(),
    *_ladders(),
    *_products(),
    *_chains(),
    *_discounted_chains(),
)

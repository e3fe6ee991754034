"""Incremental: sums over what came before, with weights that decay with the distance.

``sum_{s <= t} g^(t - s) x[s]`` is ``y[t] = x[t] + g y[t - 1]``: exponential averages, momenta and
the states of linear attention with decay, however their weights are spelled. A count from 0 is the
index of each step of the range (``incremental/positions``), so that one spelling of the distance
serves both. ``here a d``: leaf a is the value of dimension d.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.engine.rule import Exactness, Rule

PROOF = "proofs/test_decays.py"
ONE_STEP = "A decaying sum is one multiply-add per step, not a pass over the whole past."
FIRST = "Decayed keys and values meet in a matrix that does not grow."

_HERE = "(reshape 0 o (leaf a))"
_BEHIND = f'(map1 f (map2 "sub" {_HERE} (sl d s (leaf a))))'
_WEIGHTS = f'(map2 "pow" g {_BEHIND})'
_NUMBER = ("(= 1 (rank g))", "(axis g 1 (size 1))", "(= 0 (& d (dom g)))")
_PAST = ("(prefix d s)", "(here a d)", "(ones 1 o)", "(real_cast f)", *_NUMBER)
_LENGTH = "(= n (size (length s)))"


def _m2(fn: str, a: str, b: str) -> str:
    return f'(map2 "{fn}" {a} {b})'


def _rule(
    name: str,
    law: str,
    left: str,
    right: str,
    *when: str,
    reason: str = ONE_STEP,
    exact: Exactness = "distributes",
) -> Rule:
    return Rule(
        name=f"incremental/decayed-{name}",
        law=law,
        reason=reason,
        left=left,
        right=right,
        when=when,
        exact=exact,
        valid="inside the box",
        proof=PROOF,
    )


def _orders(weights: str, x: str) -> Iterator[tuple[str, str]]:
    """A product of weights and values in both orders."""
    yield "", _m2("mul", weights, x)
    yield "-last", _m2("mul", x, weights)


_SUM = "sum_{s <= d} g^(d - s) x[s] = y where y[d] = x[d] + g y[d - 1]"
_COLUMN = f"(reshape 1 (cons n h) {_WEIGHTS})"


def _sums() -> Iterator[Rule]:
    for order, product in _orders(_WEIGHTS, "(sl d s x)"):
        left, right = f'(red "sum" 1 {product})', "(lin d 0 (part 1 0 g) x)"
        yield _rule(f"sum{order}", _SUM, left, right, *_PAST, "(= 0 (rank x))")
    for order, product in _orders(_COLUMN, "(sl d s x)"):
        left, right = f'(red "sum" m {product})', "(lin d 0 (reshape 1 h g) x)"
        yield _rule(f"sums{order}", _SUM, left, right, *_PAST, "(= m (<< 1 (rank x)))")
    law = "sum_{s <= d} g^(d - s) = y where y[d] = 1 + g y[d - 1]"
    left = f'(red "sum" 1 {_WEIGHTS})'
    yield _rule(
        "total",
        law,
        left,
        "(lin d 0 (part 1 0 g) u)",
        *_PAST,
        "(unit (dtype g) u)",
        exact="reassociates",
    )


_DISTANCE = f'(map2 "sub" {_HERE} (leaf k))'
_CONDITIONS = {
    "distance": _m2("ge", _DISTANCE, "y"),
    "index": _m2("le", "(leaf k)", _HERE),
    "here": _m2("ge", _HERE, "(leaf k)"),
}


def _triangles() -> Iterator[Rule]:
    """A row of a lower triangle of powers times a history."""
    law = "sum_s where(s <= d, g^(d - s), 0) x[s] = y where y[d] = x[d] + g y[d - 1]"
    powers = _m2("pow", "g", f"(map1 f {_DISTANCE})")
    whole = ("(= s (full d))", "(here a d)", "(counts k (length s))", "(ones 1 o)", "(real_cast f)")
    zeros = ("(= 0.0 (value z))", "(= 1 (rank z))", "(axis z 1 (size 1))")
    bound = ("(= 0.0 (value y))", "(= 1 (rank y))", "(axis y 1 (size 1))")
    for compared, condition in _CONDITIONS.items():
        weights = f'(map3 "where" {condition} {powers} z)'
        for order, product in _orders(weights, "(sl d s x)"):
            yield _rule(
                f"triangle-by-{compared}{order}",
                law,
                f'(red "sum" 1 {product})',
                "(lin d 0 (part 1 0 g) x)",
                *whole,
                *_NUMBER,
                "(= 0 (rank x))",
                *zeros,
                *(bound if compared == "distance" else ()),
                exact="skips zeros",
            )


_K, _V = "(sl d s k)", "(sl d s v)"
_VECTORS = (_LENGTH, "(= 1 (rank k))", "(= 1 (rank v))", "(!= 0 (& d (dom k)))")
_BESIDE = f"(reshape 1 (cons n (cons (size 1) (nil))) {_WEIGHTS})"
_OUTER = _m2(
    "mul",
    "(reshape 1 (cons e (cons (size 1) (nil))) k)",
    "(reshape 1 (cons (size 1) (cons c (nil))) v)",
)
_MATRIX = f"(lin d 0 (reshape 1 (cons (size 1) (cons (size 1) (nil))) g) {_OUTER})"
_SIZES = ("(axis k 1 e)", "(axis v 1 c)")


def _outer() -> Iterator[Rule]:
    """Products of histories of which one decays."""
    law = "sum_{s <= d} g^(d - s) k[s]^T v[s] = S where S[d] = k[d]^T v[d] + g S[d - 1]"
    for order, product in _orders(_BESIDE, _K):
        left = f"(mm (tr {product}) {_V})"
        yield _rule(f"keys{order}", law, left, _MATRIX, *_PAST, *_VECTORS, *_SIZES)
    for order, product in _orders(_BESIDE, _V):
        left = f"(mm (tr {_K}) {product})"
        yield _rule(f"values{order}", law, left, _MATRIX, *_PAST, *_VECTORS, *_SIZES)


def _queries() -> Iterator[Rule]:
    """Scores with weights on them, before the values: weights go to the keys."""
    law = "(q k[range]^T w) v[range] = q ((w k[range])^T v[range])"
    row = "(reshape 1 (cons (size 1) (cons n (nil))) w)"
    keys = _m2("mul", "(reshape 1 (cons n (cons (size 1) (nil))) w)", _K)
    some = ("(filled n)", "(axis k 1 e)", "(filled e)")
    range_ = ("(growing s)", *_VECTORS, "(= 1 (rank w))", "(axis w 1 n)", *some)
    for order, product in _orders(row, f"(mm q (tr {_K}))"):
        left, right = f"(mm {product} {_V})", f"(mm q (mm (tr {keys}) {_V}))"
        yield _rule(f"scores{order}", law, left, right, *range_, reason=FIRST)
    column = f"(mm {_K} (reshape 1 (cons e (cons (size 1) (nil))) q))"
    scores = f"(reshape 2 (cons n (nil)) {column})"
    for order, product in _orders("w", scores):
        left = f"(mm (reshape 1 (cons (size 1) (cons n (nil))) {product}) {_V})"
        right = f"(mm (reshape 1 (cons (size 1) (cons e (nil))) q) (mm (tr {keys}) {_V}))"
        more = ("(= 1 (rank q))",)
        yield _rule(f"query{order}", law, left, right, *range_, *more, reason=FIRST)


DECAYS: tuple[Rule, ...] = (*_sums(), *_triangles(), *_outer(), *_queries())

"""Weighted: discounted sums whose weights are spelled with indices, or as rows of a matrix.

``here a d``: leaf a is the value of dimension d. All of these are the discounted sums of
`ostinato.rewrite.rules.incremental`, and so linear recurrences.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule

PROOF = "proofs/test_weighted.py"
ONE_STEP = "Discounted sums are one multiply-add per step, not a row of a matrix."

_FROM_HERE = "(reshape 0 h (leaf a))"


def _ahead(name: str, law: str, steps: str, *when: str) -> Rule:
    """How many steps ahead of the point each step of the rest of a dimension is."""
    return Rule(
        name=f"incremental/{name}",
        law=law,
        reason="Distances from the point are counted, whatever they are computed from.",
        left=f'(map2 "sub" {steps} {_FROM_HERE})',
        right="(leaf c)",
        when=("(suffix d s)", "(here a d)", "(counts c (length s))", "(ones 1 h)", *when),
        proof=PROOF,
    )


_DISTANCE = f'(map2 "sub" (leaf k) {_FROM_HERE})'
_CONDITIONS = {
    "distance": f'(map2 "ge" {_DISTANCE} y)',
    "index": f'(map2 "ge" (leaf k) {_FROM_HERE})',
}


def _triangle(compared: str, is_first: bool) -> Rule:
    """A row of an upper triangle of powers times a history."""
    weights = f'(map3 "where" {_CONDITIONS[compared]} (map2 "pow" g (map1 f {_DISTANCE})) z)'
    operands = f"{weights} (sl d s x)" if is_first else f"(sl d s x) {weights}"
    order = "before" if is_first else "after"
    zero = ("(= 0.0 (value y))", "(= 1 (rank y))", "(axis y 1 (size 1))")
    return Rule(
        name=f"incremental/triangle-by-{compared}-{order}",
        law="sum_s where(s >= d, g^(s - d), 0) x[s] = y where y[d] = x[d] + g y[d + 1]",
        reason=ONE_STEP,
        left=f'(red "sum" 1 (map2 "mul" {operands}))',
        right="(lin d 1 (part 1 0 g) x)",
        when=(
            "(= s (full d))",
            "(here a d)",
            "(counts k (length s))",
            "(ones 1 h)",
            "(real_cast f)",
            "(= 0 (rank x))",
            "(= 1 (rank g))",
            "(= 0 (& d (dom g)))",
            "(axis g 1 (size 1))",
            "(= 0.0 (value z))",
            "(= 1 (rank z))",
            "(axis z 1 (size 1))",
            *(zero if compared == "distance" else ()),
        ),
        exact="skips zeros",
        valid="inside the box",
        proof=PROOF,
    )


def _masked(name: str, row: str, column: str) -> Rule:
    """A product of a row and a column of which one has a mask, as a sum of products."""
    other = column if row.startswith("(") else row
    return Rule(
        name=f"incremental/{name}",
        law="a row times a column = the sum of products",
        reason="A row of a triangle times a history may be a running sum.",
        left=f"(mm (reshape 1 (cons (size 1) (cons n (nil))) {row}) "
        f"(reshape 1 (cons n (cons (size 1) (nil))) {column}))",
        right="(reshape 0 (cons (size 1) (cons (size 1) (nil))) "
        f'(red "sum" 1 (map2 "mul" {row} {column})))',
        when=("(= 1 (rank w))", f"(= 1 (rank {other}))"),
        exact="reassociates",
        proof=PROOF,
    )


HALVES = "A long window of discounted steps is two of half the length."
_WINDOW = '(red "sum" 1 (map2 "mul" (map2 "pow" g (map1 f q)) (sl d p x)))'
_FAR = '(map2 "pow" (part 1 0 g) {})'
_STEPS, _MORE = "(map1 f t)", '(map2 "add" (map1 f t) (at d a (map1 f t)))'
_BOTH = f'(map2 "add" {_WINDOW} (map2 "mul" {_FAR.format(_STEPS)} (at d a {_WINDOW})))'
_LAST = f'(map2 "add" {_BOTH} (map2 "mul" {_FAR.format(_MORE)} (at d i x)))'
_HALVED = f"(case c {_BOTH} {_WINDOW})"


def _windows(name: str, relation: str, right: str) -> tuple[Rule, ...]:
    """Discounted sums of windows that begin at the point, with the weights first or last."""
    weights, history = '(map2 "pow" g (map1 f k))', "(sl d s x)"
    return tuple(
        Rule(
            name=f"incremental/{name}{order}",
            law="the discounted sum of a window = that of its first half + g^w times the other's",
            reason=HALVES,
            left=f'(red "sum" 1 (map2 "mul" {pair}))',
            right=right,
            when=(
                relation,
                "(begins d s)",
                "(counter s k)",
                "(counter p q)",
                "(tally p t)",
                "(real_cast f)",
                "(= 0 (rank x))",
                "(= 1 (rank g))",
                "(axis g 1 (size 1))",
                "(= 0 (& d (dom g)))",
                "(!= 0 (& d (dom x)))",
            ),
            exact="distributes",
            valid="inside the box",
            proof=PROOF,
        )
        for order, pair in (("", f"{weights} {history}"), ("-last", f"{history} {weights}"))
    )


WEIGHTED: tuple[Rule, ...] = (
    _ahead("index-ahead", "d' - d for d' in d..D is 0, 1, ...", "(sl d s (leaf a))"),
    _ahead(
        "count-ahead",
        "k - d for k in d..D, a part of 0..D, is 0, 1, ...",
        "(cut 1 s (leaf k))",
        "(= e (full d))",
        "(counts k (length e))",
    ),
    *(_triangle(compared, first) for compared in _CONDITIONS for first in (True, False)),
    *_windows("discounted-window", "(doubled d s p a c)", _HALVED),
    *_windows(
        "discounted-window-lengthened",
        "(lengthened d s p a c i j)",
        f"(case j {_LAST} {_HALVED})",
    ),
    _masked("masked-row", '(map3 "where" c w z)', "y"),
    _masked("masked-column", "x", '(map3 "where" c w z)'),
)

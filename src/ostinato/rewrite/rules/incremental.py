"""Incremental: a fold over a growing range becomes one step from the fold before it.

``prefix s``: slice s is ``0 : d + 1``; ``suffix s``: it is ``d : D``. A fold over a range of
length n at each of n points is n^2 / 2 steps; the scan is n.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule

ONE_STEP = "One step per point instead of one pass over the whole range."
PROOF = "proofs/test_incremental.py"


def _prefix(fold: str) -> Rule:
    return Rule(
        name=f"incremental/prefix-{fold}",
        law=f"{fold}(x[0 : d + 1]) = scan({fold}, x, d)",
        reason=ONE_STEP,
        left=f'(red "{fold}" m (sl d s x))',
        right=f'(scan "{fold}" d x)',
        when=("(prefix d s)", "(= m (<< 1 (rank x)))", "(!= 0 (& d (dom x)))"),
        exact="reassociates" if fold in ("sum", "prod") else "exact",
        valid="inside the box",
        proof=PROOF,
    )


def _discounted(name: str, operands: str, factor: str, *when: str) -> Rule:
    """``sum_k g^k x[d + k]`` with the weights as they are spelled for a rank of ``x``."""
    return Rule(
        name=f"incremental/{name}",
        law="sum_k g^k x[d + k] over the rest of d = y where y[d] = x[d] + g y[d + 1]",
        reason="Discounted sums and advantages are one multiply-add per step.",
        left=f'(red "sum" m (map2 "mul" {operands}))',
        right=f"(lin d 1 {factor} x)",
        when=(
            "(suffix d s)",
            "(= m (<< 1 (rank x)))",
            "(counts c (length s))",
            "(real_cast f)",
            "(= 0 (& d (dom g)))",
            "(axis g 1 (size 1))",
            "(= 1 (rank g))",
            *when,
        ),
        exact="distributes",
        valid="inside the box",
        proof=PROOF,
    )


_REST = "(sl d s x)"
_POWERS = '(map2 "pow" g (map1 f (leaf c)))'
_COLUMN = f"(reshape 1 (cons n h) {_POWERS})"


INCREMENTAL: tuple[Rule, ...] = (
    *(_prefix(fold) for fold in ("sum", "prod", "max", "min", "any", "all")),
    Rule(
        name="incremental/suffix-sum",
        law="sum(x[d : D]) = y where y[d] = x[d] + y[d + 1]",
        reason=ONE_STEP,
        left='(red "sum" m (sl d s x))',
        right="(lin d 1 (reshape 0 h u) x)",
        when=(
            "(suffix d s)",
            "(= m (<< 1 (rank x)))",
            "(= r (rank x))",
            "(unit (dtype x) u)",
            "(ones r h)",
        ),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    ),
    _discounted("discounted-sum", f"{_REST} {_POWERS}", "(part 1 0 g)", "(= 0 (rank x))"),
    _discounted("weighted-rest", f"{_POWERS} {_REST}", "(part 1 0 g)", "(= 0 (rank x))"),
    Rule(
        name="incremental/discounted-live-sum",
        law="sum_k where(c[d + k], g^k x[d + k], 0) over the rest of d = y "
        "where y[d] = where(c[d], x[d], 0) + g y[d + 1]",
        reason="Beyond the end of an episode nothing is added, whatever the power there.",
        left=f'(red "sum" m (map3 "where" (sl d s q) (map2 "mul" (sl d s x) {_POWERS}) z))',
        right='(lin d 1 (part 1 0 g) (map3 "where" q x (part r 0 z)))',
        when=(
            "(suffix d s)",
            "(= m (<< 1 (rank x)))",
            "(counts c (length s))",
            "(real_cast f)",
            "(= 0 (& d (dom g)))",
            "(bounded g)",
            "(axis g 1 (size 1))",
            "(= 1 (rank g))",
            "(= 0 (rank x))",
            "(= 0 (rank q))",
            "(= 0.0 (value z))",
            "(= 0 (& d (dom z)))",
            "(= r (rank z))",
            "(= 1 r)",
            "(axis z r (size 1))",
        ),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    ),
    _discounted("discounted-sums", f"{_REST} {_COLUMN}", "(reshape 1 h g)"),
    _discounted("weighted-rests", f"{_COLUMN} {_REST}", "(reshape 1 h g)"),
)

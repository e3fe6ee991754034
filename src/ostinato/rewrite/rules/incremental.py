"""Incremental: a fold over a growing range becomes one step from the fold before it.

``prefix s``: slice s is ``0 : d + 1``; ``suffix s``: it is ``d : D``; ``growing s``: its bounds
follow the point. A fold over a range of length n at each of n points is n^2 / 2 steps; the scan is
n. Values that enter a growing range are computed once per point, outside of it.
"""

from __future__ import annotations

from itertools import product

from ostinato.rewrite.registry import Rule

ONE_STEP = "One step per point instead of one pass over the whole range."
ONCE = "Each point is computed once, not again in every range that holds it."
PROOF = "proofs/test_incremental.py"


def _prefix(fold: str) -> Rule:
    return Rule(
        name=f"incremental/prefix-{fold}",
        law=f"{fold}(x[0 : d + 1]) = scan({fold}, x, d)",
        reason=ONE_STEP,
        left=f'(red "{fold}" m (sl d s x))',
        right=f'(scan "{fold}" d x)',
        when=("(prefix d s)", "(= m (<< 1 (rank x)))", "(!= 0 (& d (dom x)))"),
        exact="exact" if fold in ("max", "min") else "reassociates",
        proof=PROOF,
    )


def _discounted(name: str, weights: str, factor: str, *when: str) -> Rule:
    """``sum_k g^k x[d + k]`` with the weights as they are spelled for a rank of ``x``."""
    return Rule(
        name=f"incremental/{name}",
        law="sum_k g^k x[d + k] over the rest of d = y where y[d] = x[d] + g y[d + 1]",
        reason="Discounted sums and advantages are one multiply-add per step.",
        left=f'(red "sum" m (map2 "mul" (sl d s x) {weights}))',
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
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


_POWERS = '(map2 "pow" g (map1 f (leaf c)))'


def _together(op: str, fields: str, names: tuple[str, ...], sliced: tuple[bool, ...]) -> Rule:
    """An elementwise function of growing slices and values that are the same at all points."""
    left: list[str] = []
    right: list[str] = []
    when: list[str] = []
    for name, is_slice in zip(names, sliced, strict=True):
        left.append(f"(sl d s {name})" if is_slice else name)
        right.append(name if is_slice else f"(part r 0 {name})")
        if not is_slice:
            when += [f"(= 0 (& d (dom {name})))", f"(= r (rank {name}))"]
            when.append(f"(axis {name} r (size 1))")
    kinds = "".join("s" if is_slice else "c" for is_slice in sliced)
    return Rule(
        name=f"incremental/together-{op}-{kinds}",
        law="f(x[lo:hi], y[lo:hi], c) = f(x, y, c)[lo:hi]",
        reason=ONCE,
        left=f"({op} {fields} {' '.join(left)})",
        right=f"(sl d s ({op} {fields} {' '.join(right)}))",
        when=("(growing s)", *when),
        proof=PROOF,
    )


def _all_together(op: str, names: tuple[str, ...]) -> tuple[Rule, ...]:
    kinds = [k for k in product((True, False), repeat=len(names)) if any(k)]
    return tuple(_together(op, "f", names, kind) for kind in kinds)


INCREMENTAL: tuple[Rule, ...] = (
    *(_prefix(fold) for fold in ("sum", "prod", "max", "min")),
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
    Rule(
        name="incremental/window-sum",
        law="sum(x[d - w : d + 1]) = scan(sum, x[d] - x[d - w - 1] once that exists, d)",
        reason="One value enters and one leaves, however long the window is.",
        left='(red "sum" m (sl d s x))',
        right='(scan "sum" d (case c (map2 "sub" x (at d b x)) x))',
        when=("(window d s c b)", "(= m (<< 1 (rank x)))", "(!= 0 (& d (dom x)))"),
        exact="reassociates",
        proof=PROOF,
    ),
    Rule(
        name="incremental/coming-window-sum",
        law="sum(x[d : d + w]) = y where y[d] = x[d] - x[d + w] (while that exists) + y[d + 1]",
        reason="One value enters and one leaves, however long the window is.",
        left='(red "sum" m (sl d s x))',
        right='(lin d 1 (reshape 0 h u) (case c (map2 "sub" x (at d b x)) x))',
        when=(
            "(coming d s c b)",
            "(= m (<< 1 (rank x)))",
            "(= r (rank x))",
            "(unit (dtype x) u)",
            "(ones r h)",
            "(!= 0 (& d (dom x)))",
        ),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    ),
    _discounted("discounted-sum", _POWERS, "(part 1 0 g)", "(= 0 (rank x))"),
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
    _discounted("discounted-sums", f"(reshape 1 (cons n h) {_POWERS})", "(reshape 1 h g)"),
    *_all_together("map1", ("x",)),
    *_all_together("map2", ("x", "y")),
    *_all_together("map3", ("x", "y", "z")),
    Rule(
        name="incremental/fold-inside",
        law="fold over other axes of x[lo:hi] = fold(x)[lo:hi]",
        reason=ONCE,
        left="(red f m (sl d s x))",
        right="(sl d s (red f m x))",
        when=("(growing s)", "(= 0 (& m (<< 1 (rank x))))"),
        proof=PROOF,
    ),
    Rule(
        name="incremental/reshape-inside",
        law="x[lo:hi] with reshaped trailing axes = reshape(x)[lo:hi]",
        reason=ONCE,
        left="(reshape k h (sl d s x))",
        right="(sl d s (reshape k h x))",
        when=("(growing s)", "(<= k (rank x))", "(= 0 (& d (hmask h)))"),
        proof=PROOF,
    ),
    Rule(
        name="incremental/projection",
        law="x[lo:hi] @ W = (x @ W)[lo:hi]",
        reason="The projected history is kept instead of projected again: a key-value cache.",
        left="(mm (sl d s x) w)",
        right="(sl d s (reshape 2 (cons n (nil)) "
        "(mm (reshape 1 (cons (size 1) (cons k (nil))) x) w)))",
        when=("(growing s)", "(= 1 (rank x))", "(= 0 (& d (dom w)))", "(axes2 w k n)"),
        proof=PROOF,
    ),
)

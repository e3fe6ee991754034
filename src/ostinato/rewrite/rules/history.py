"""Incremental: what enters a range that grows with the point is computed once, outside of it.

``growing s``: the bounds of slice s follow the point. What is done to every element of such a range
is done to every point instead, and the range holds the results: a history that is kept.
"""

from __future__ import annotations

from itertools import product

from ostinato.rewrite.registry import Rule

ONCE = "Each point is computed once, not again in every range that holds it."
PROOF = "proofs/test_incremental.py"


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


HISTORY: tuple[Rule, ...] = (
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

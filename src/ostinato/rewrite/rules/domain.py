"""Domain: where values are computed. Reads at other points move so that work can leave a loop.

``free x`` masks the dimensions along which all points of ``x`` exist before any recurrence runs,
``gap x`` those along which it may be undefined somewhere. ``box d s``: slice s lies inside the box;
``indicator c m``: the truth value m is condition c; ``known x c d p``: c holds on the first steps p
of d, and x exists there before any recurrence runs.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule

PROOF = "proofs/test_pointwise.py"


def _lifted(call: str) -> Rule:
    op, *fields = call.split()
    steady = ("(= 0 (& d (hmask h)))",) if "h" in fields else ()
    return Rule(
        name=f"domain/lift-{op}",
        law=f"{op}(x[d = i]) = {op}(x)[d = i]",
        reason="Movement of inputs follows them out of a loop.",
        left=f"({call} (at d a x))",
        right=f"(at d a ({call} x))",
        when=("(!= 0 (& d (free x)))", "(= 0 (& d (sdom x)))", *steady),
        proof=PROOF,
    )


def _split(side: str, first: str, second: str) -> Rule:
    return Rule(
        name=f"domain/split-{side}",
        law="slice(d in lo..hi, x where d < m, else y) = x[lo:m] ++ y[m:hi]",
        reason="The points of each case are computed together, without asking which case it is.",
        left="(sl d s (case c x y))",
        right=f"(cat (+ r 1) {first} {second})",
        when=(
            f"(holds_{side} c d s p q)",
            "(= r (rank x))",
            "(= 0 (& d (sdom x)))",
            "(= 0 (& d (sdom y)))",
        ),
        valid="inside the box",
        proof=PROOF,
    )


DOMAIN: tuple[Rule, ...] = (
    _lifted("tr"),
    _lifted("reshape r h"),
    Rule(
        name="domain/lift-product",
        law="x[d = i] @ W = (x @ W)[d = i]",
        reason="The product with inputs of all steps is one product outside the loop over steps.",
        left="(mm (at d a x) w)",
        right="(at d a (mm x w))",
        when=(
            "(= m (free x))",
            "(!= 0 (& d m))",
            "(= 0 (& d (sdom x)))",
            "(= 0 (& d (dom w)))",
        ),
        also=("(want (mm x w) m)",),
        proof=PROOF,
    ),
    _split("low", "(sl d p x)", "(sl d q y)"),
    _split("high", "(sl d p y)", "(sl d q x)"),
    Rule(
        name="domain/known-prefix",
        law="x where c holds, else y = slice(d in 0..n, x)[d] where c holds, else y",
        reason="What is known before a loop begins is computed for all its steps at once.",
        left="(case c x y)",
        right="(case c (part (+ r 1) e (sl d p x)) y)",
        when=(
            "(known x c d p)",
            "(= e (self d))",
            "(= r (rank x))",
            "(= 0 (& d (sdom x)))",
        ),
        proof=PROOF,
    ),
    Rule(
        name="domain/mask",
        law="slice(d, x where c holds, else y) = where(slice(d, c), slice(d, x), slice(d, y))",
        reason="Both cases are computed for all points at once, and each point picks its own.",
        left="(sl d s (case c x y))",
        right='(map3 "where" (sl d s (reshape 0 h m)) (sl d s x) (sl d s y))',
        when=(
            "(indicator c m)",
            "(= 0 (rank m))",
            "(!= 0 (& d (mask c)))",
            "(box d s)",
            "(= 0 (& (mask c) (gap x)))",
            "(= 0 (& (mask c) (gap y)))",
            "(= r (rank x))",
            "(ones r h)",
            "(= 0 (& d (sdom x)))",
            "(= 0 (& d (sdom y)))",
        ),
        proof=PROOF,
    ),
    Rule(
        name="domain/pinned-read",
        law="x[d = i] where d = i, else y, is x where d = i, else y",
        reason="A value read at the only point where it is asked for is the value there.",
        left="(case c (at d i x) y)",
        right="(case c x y)",
        when=("(pins c d i)", "(= 0 (& d (sdom x)))"),
        proof=PROOF,
    ),
    Rule(
        name="domain/case-and",
        law="x where a and b hold, else y = (x where b holds, else y) where a holds, else y",
        reason="A conjunction is cut one condition at a time.",
        left="(case c x y)",
        right="(case a (case b x y) y)",
        when=("(both c a b)",),
        proof=PROOF,
    ),
)

"""Fuse: products that share an operand become slices of one product.

``x @ a`` and ``x @ b`` read all of ``x`` twice, and each fills vectors and registers by itself;
``x @ [a | b]`` reads it once. What is joined is narrow (see
`ostinato.rewrite.load.joined_products`), and the price decides: joining copies the operands that
differ, and the results lie in strides.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule

PROOF = "proofs/test_pointwise.py"


def _joined(axis: int, is_first: bool) -> Rule:
    """One of two products, as a slice of the product of what is joined along an axis."""
    side, along = ("left", "columns") if axis == 1 else ("right", "rows")
    place, mine, part = ("first", "y", "s") if is_first else ("last", "z", "q")
    if axis == 1:
        law = f"x @ {mine} = the {place} columns of x @ [y | z]"
    else:
        law = f"{mine} @ x = the {place} rows of [y; z] @ x"
    both = ("x", mine), ("x", "w")
    own, whole = (f"(mm {' '.join(pair if axis == 1 else pair[::-1])})" for pair in both)
    return Rule(
        name=f"fuse/{place}-{along}",
        law=law,
        reason=f"Products with the same {side} operand read it once.",
        left=own,
        right=f"(cut {axis} {part} {whole})",
        when=(
            "(halves n m t s q)",
            f"(= w (cat {axis} y z))",
            f"(axis y {axis} (size n))",
            *(() if is_first else (f"(axis z {axis} (size m))",)),
        ),
        proof=PROOF,
    )


FUSE: tuple[Rule, ...] = tuple(
    _joined(axis, is_first) for axis in (1, 2) for is_first in (True, False)
)

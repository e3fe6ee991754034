"""Laws of tiles: of softmax-weighted sums over ranges, and of what rows are made of.

The tiles of a proof have any width, and their number is any that makes up the range; the last ones
may be empty. Infinities and NaN are tried for a few steps.
"""

import pytest
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/max-in-tiles",
    "incremental/sum-of-powers-in-tiles",
    "incremental/softmax-product-in-tiles",
    "incremental/softmax-sum-of-vectors-in-tiles",
    "incremental/quotient-leaves-product",
    "incremental/tile-of-map1",
    "incremental/tile-of-map2",
    "incremental/tile-of-map3",
    "incremental/tile-of-operand",
    "incremental/tile-of-one-element",
    "incremental/tile-of-columns",
    "incremental/tile-of-rows",
    "incremental/tile-of-transposed",
    "incremental/tile-of-moved",
    "incremental/tile-of-range",
    "incremental/tile-of-others",
    "incremental/tile-of-reshaped",
    "incremental/tile-of-row",
    "incremental/tile-of-part",
    "incremental/tile-of-folded",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_sizes_widths_and_real_values(name: str) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)

"""Laws of recurrences whose step is affine: what a step does, and what the recurrence then is."""

import pytest
from proofs.overview import method
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "affine/mask",
    "affine/unmask",
    "affine/other-side",
    "affine/product-around-choice",
    "affine/common-rest",
    "affine/neighbour-scaled",
    "affine/neg-scaled",
    "affine/neg",
    "affine/product-scaled",
    "affine/product",
    "affine/line-plus",
    "affine/minus-line",
    "affine/sum-lines",
    "affine/where-rays-scaled",
    "affine/where-lines",
    "affine/case-lines",
    "affine/line",
    "affine/line-of-ray",
    "affine/factor",
    "affine/factors",
    "affine/common-last",
    "affine/common-first",
    "affine/choice-of-product",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_sizes_points_and_values(
    name: str, table: dict[str, str]
) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)
    assert method(verdict) == table[name]

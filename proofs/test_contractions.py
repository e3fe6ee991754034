"""Sums of products as matrix products, and chains of these: real numbers, every size and place."""

import pytest
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "matmul/sum-over-rows",
    "matmul/sum-in-front",
    "matmul/contraction",
    "matmul/matrix-by-vector",
    "matmul/vector-by-matrix",
    "matmul/same-at-all-points",
    "matmul/shared-rows",
    "matmul/left-first",
    "matmul/right-first",
)


BOUNDED = ("matmul/one-sum-after-the-other",)  # every mask of a few axes


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_sizes_points_and_real_values(name: str) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)


def test_sums_over_several_axes_are_decided_for_every_mask_of_a_few_axes() -> None:
    verdict = decided(every_rule()[BOUNDED[0]])
    assert verdict.outcome == "bounded" and verdict.readings > 1000, str(verdict)

"""Weights that step by a factor, from their parts; their sums by induction over the steps."""

import pytest
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/ramp-of-counts",
    "incremental/ramp-of-part",
    "incremental/ramp-neg",
    "incremental/ramp-sum",
    "incremental/ramp-moved",
    "incremental/ramp-below",
    "incremental/ramp-scaled",
    "incremental/ramp-moved-scaled",
    "incremental/decay-exp",
    "incremental/decay-power",
    "incremental/decay-power-of-count",
    "incremental/decay-neg",
    "incremental/decay-product",
    "incremental/decay-scaled",
    "incremental/decay-inverse",
    "incremental/decay-of-values",
    "incremental/decay-reshaped",
    "incremental/decay-where",
    "incremental/decay-chain",
    "incremental/decay-chain-from-one",
    "incremental/decaying-sum",
    "incremental/decaying-sum-from-here",
    "incremental/decaying-sums",
    "incremental/decaying-products",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_sizes_points_and_real_values(name: str) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)

"""Triangular matrices of weights, and chains of factors: products with them, by induction."""

import pytest
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/lag-ahead",
    "incremental/lag-behind",
    "incremental/lag-negated",
    "incremental/lag-transposed",
    "incremental/lag-cast",
    "incremental/facing-ge",
    "incremental/facing-le",
    "incremental/facing-ahead",
    "incremental/facing-behind",
    "incremental/facing-not-behind",
    "incremental/facing-not-ahead",
    "incremental/beyond-gt",
    "incremental/beyond-lt",
    "incremental/beyond-ahead",
    "incremental/beyond-behind",
    "incremental/beyond-not-behind",
    "incremental/beyond-not-ahead",
    "incremental/rungs-power",
    "incremental/rungs-exponents-last",
    "incremental/rungs-exponents-first",
    "incremental/rungs-along-rows",
    "incremental/rungs-along-columns",
    "incremental/rungs-product",
    "incremental/ladder",
    "incremental/ladder-masked",
    "incremental/ladder-masked-first",
    "incremental/ladder-product",
    "incremental/ladder-product-last",
    "incremental/ladder-transposed",
    "incremental/ladder-times-vectors",
    "incremental/ladder-times-column",
    "incremental/ladder-times-columns",
    "incremental/row-times-ladder",
    "incremental/rows-times-ladder",
    "incremental/row-times-ladder-transposed",
    "incremental/rows-times-ladder-transposed",
    "incremental/chained-step",
    "incremental/chained-step-before",
    "incremental/chained-step-last",
    "incremental/chained-step-before-last",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_sizes_points_and_real_values(name: str) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)

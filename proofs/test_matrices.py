"""Products with matrices of weights by their lines, and products of factors under masks."""

import pytest
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/product-by-rows",
    "incremental/product-by-columns",
    "incremental/decay-chain-along",
    "incremental/decay-chain-down",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_sizes_points_and_real_values(name: str) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)

"""Sums with weights that decay: by induction over the steps, the weights counted from the point."""

import pytest
from proofs.overview import method
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/decayed-sum",
    "incremental/decayed-sum-last",
    "incremental/decayed-sums",
    "incremental/decayed-sums-last",
    "incremental/decayed-total",
    "incremental/decayed-triangle-by-distance",
    "incremental/decayed-triangle-by-distance-last",
    "incremental/decayed-triangle-by-index",
    "incremental/decayed-triangle-by-index-last",
    "incremental/decayed-triangle-by-here",
    "incremental/decayed-triangle-by-here-last",
    "incremental/decayed-keys",
    "incremental/decayed-keys-last",
    "incremental/decayed-values",
    "incremental/decayed-values-last",
    "incremental/decayed-scores",
    "incremental/decayed-scores-last",
    "incremental/decayed-query",
    "incremental/decayed-query-last",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_sizes_points_and_real_values(
    name: str, table: dict[str, str]
) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)
    assert method(verdict) == table[name]

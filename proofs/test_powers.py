"""Powers of counts by identities of functions, weighted sums of sums by induction."""

import pytest
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/powers-of-one-count",
    "incremental/powers-around",
    "incremental/exponential-of-count",
    "incremental/exponential-of-count-last",
    "incremental/powers-of-rest",
    "incremental/weighted-sums",
    "incremental/weighted-sums-last",
    "incremental/weighted-sums-of-values",
    "incremental/weighted-sums-last-of-values",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_sizes_points_and_real_values(name: str) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)

"""Products of histories as sums of outer products: real numbers, every range."""

import pytest
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/outer-products",
    "incremental/query-last",
    "incremental/weighted-scores",
    "incremental/weighted-query",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_sizes_points_and_real_values(name: str) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)

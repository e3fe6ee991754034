"""Places of the greatest and the least of growing ranges, by induction; NaN and ties included."""

import pytest
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/greatest-in-order",
    "incremental/prefix-place",
    "incremental/suffix-place",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_lengths_points_and_values(name: str) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)

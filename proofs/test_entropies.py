"""Laws of the entropy of a softmax over a range, over the reals."""

import pytest
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/log-of-quotient",
    "incremental/power-of-log",
    "incremental/number-leaves",
    "incremental/sum-of-entropies",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_sizes_points_and_real_values(name: str) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)

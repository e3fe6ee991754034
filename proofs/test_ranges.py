"""Laws of ranges that follow the point: case by case, with folds cut where a range ends."""

import pytest
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/range-elsewhere",
    "incremental/window-halved",
    "incremental/window-overlapping",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_lengths_points_and_values(name: str) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)

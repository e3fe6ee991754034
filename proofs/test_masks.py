"""Folds of what masks keep, and masks that multiply: ranges cut where they end."""

import pytest
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/masked-fold",
    "incremental/masked-folds",
    "incremental/masked-number",
    "incremental/masked-product",
    "incremental/counts-in-part",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_sizes_points_and_real_values(name: str) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)

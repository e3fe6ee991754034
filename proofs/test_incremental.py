"""Laws of ranges that grow: folds by induction over the steps."""

import pytest
from proofs.overview import method
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/running",
    "incremental/suffix-sum",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_sizes_points_and_values(
    name: str, table: dict[str, str]
) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)
    assert method(verdict) == table[name]

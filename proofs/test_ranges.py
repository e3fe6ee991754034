"""Laws of ranges that follow the point: case by case, with folds cut where a range ends."""

import pytest
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/suffix",
    "incremental/suffix-rounded",
    "incremental/always-until",
    "incremental/always-until-rounded",
    "incremental/until",
    "incremental/until-rounded",
    "incremental/always-from",
    "incremental/always-from-rounded",
    "incremental/from",
    "incremental/from-rounded",
    "incremental/window-doubled-rounded",
    "incremental/window-overlapping",
    "incremental/window-lengthened-rounded",
    "incremental/window-elsewhere",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_lengths_points_and_values(name: str) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)

"""Laws of variances and covariances: by induction, and as fractions of sums cut where they end.

Over the real numbers, at points where a range has steps. The rounding of each form is compared with
the interpreter in ``tests/rewrite/test_incremental_forms.py``.
"""

import pytest
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/mean",
    "incremental/spread-so-far",
    "incremental/spread-decaying",
    "incremental/spread-elsewhere",
    "incremental/spread-window-halved",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_lengths_points_and_real_values(name: str) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)

"""Laws of sums of exponentials over ranges: over the reals, where infinities do not occur.

What the compiled programs do with infinities is compared with the interpreter in
``tests/rewrite/test_incremental_forms.py``.
"""

import pytest
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/sum-of-powers",
    "incremental/softmax-sum",
    "incremental/softmax-sum-of-vectors",
    "incremental/safe-sum-of-powers",
    "incremental/safe-softmax-sum",
    "incremental/safe-softmax-sum-of-vectors",
    "incremental/power-under-mask",
    "incremental/factor-leaves",
    "incremental/product-as-sum",
    "incremental/sliding-sum-of-powers",
    "incremental/sliding-softmax-sum",
    "incremental/sliding-softmax-sum-of-vectors",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_sizes_points_and_real_values(name: str) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)

"""Laws of arithmetic: bit for bit where a rule says exact, over the reals where it reassociates."""

import pytest
from proofs.overview import method
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "algebra/factor",
    "algebra/times-one",
    "algebra/plus-zero",
    "algebra/zero-sub",
    "algebra/power-of-power",
    "algebra/root-of-power",
    "algebra/square",
    "algebra/twice",
    "algebra/add-neg",
    "algebra/neg-sub",
    "algebra/where-same",
    "algebra/where-not",
    "algebra/case-same",
    "algebra/case-always",
    "algebra/stop-gradient",
    "algebra/transpose-product",
    "algebra/product-of-transposes",
    "algebra/sum-of-negated",
    "algebra/reshape-twice",
    "algebra/reshape-fewer",
    "algebra/quotient-reshaped",
    "algebra/reshape-same",
    "algebra/sum-of-scaled",
)

BOUNDED = ("algebra/fold-twice",)  # every mask of a few axes


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_sizes_points_and_values(
    name: str, table: dict[str, str]
) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)
    assert method(verdict) == table[name]


@pytest.mark.parametrize("name", BOUNDED)
def test_the_law_holds_for_every_mask_of_a_few_axes(name: str, table: dict[str, str]) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "bounded" and verdict.readings > 100, str(verdict)
    assert method(verdict) == table[name]

"""Triangular matrices of powers, and chains of factors: products with them, by induction."""

import pytest

from ostinato.rewrite.prove.prover import prove
from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/lag-ahead",
    "incremental/lag-behind",
    "incremental/lag-negated",
    "incremental/lag-transposed",
    "incremental/lag-cast",
    "incremental/facing-ge",
    "incremental/facing-le",
    "incremental/facing-ahead",
    "incremental/facing-behind",
    "incremental/facing-not-behind",
    "incremental/facing-not-ahead",
    "incremental/ramp",
    "incremental/ramp-masked",
    "incremental/ramp-masked-first",
    "incremental/ramp-of-exponents-last",
    "incremental/ramp-of-exponents-first",
    "incremental/ramp-transposed",
    "incremental/ramp-times-vectors",
    "incremental/ramp-times-column",
    "incremental/row-times-ramp",
    "incremental/rows-times-ramp",
    "incremental/ramp-times-columns",
    "incremental/chained-sum",
    "incremental/chained-sum-last",
    "incremental/chained-rest",
    "incremental/chained-rest-last",
    "incremental/chained-step",
    "incremental/chained-step-before",
    "incremental/chained-step-last",
    "incremental/chained-step-before-last",
    "incremental/discounted-chain-powers-and-chain",
    "incremental/discounted-chain-powers-and-chain-last",
    "incremental/discounted-chain-chain-and-powers",
    "incremental/discounted-chain-chain-and-powers-last",
    "incremental/discounted-chain-values-and-powers",
    "incremental/discounted-chain-values-and-powers-last",
    "incremental/discounted-chain-powers-and-values",
    "incremental/discounted-chain-powers-and-values-last",
    "incremental/discounted-chain-values-and-chain",
    "incremental/discounted-chain-values-and-chain-last",
    "incremental/discounted-chain-chain-and-values",
    "incremental/discounted-chain-chain-and-values-last",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_sizes_points_and_real_values(name: str) -> None:
    verdict = prove(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)

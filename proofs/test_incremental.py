"""Laws of ranges that grow: folds by induction over the steps, functions element by element."""

import pytest

from ostinato.rewrite.prove.overview import method
from ostinato.rewrite.prove.prover import prove
from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/prefix-sum",
    "incremental/prefix-prod",
    "incremental/prefix-max",
    "incremental/prefix-min",
    "incremental/prefix-any",
    "incremental/prefix-all",
    "incremental/suffix-sum",
    "incremental/discounted-sum",
    "incremental/discounted-sums",
    "incremental/weighted-rest",
    "incremental/weighted-rests",
    "incremental/discounted-live-sum",
    "incremental/together-map1-s",
    "incremental/together-map2-ss",
    "incremental/together-map2-sc",
    "incremental/together-map2-cs",
    "incremental/together-map3-sss",
    "incremental/together-map3-ssc",
    "incremental/together-map3-scs",
    "incremental/together-map3-scc",
    "incremental/together-map3-css",
    "incremental/together-map3-csc",
    "incremental/together-map3-ccs",
    "incremental/fold-inside",
    "incremental/reshape-inside",
    "incremental/projection",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_sizes_points_and_values(
    name: str, table: dict[str, str]
) -> None:
    verdict = prove(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)
    assert method(verdict) == table[name]

"""Laws of histories: what is done to the elements of a range that grows, axis by axis."""

import pytest
from proofs.overview import method
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "incremental/range",
    "incremental/beside-a-range",
    "incremental/together-map1",
    "incremental/together-map2",
    "incremental/together-map3",
    "incremental/together-mm",
    "incremental/together-gather",
    "incremental/together-along1",
    "incremental/together-along2",
    "incremental/together-cat",
    "incremental/together-cut",
    "incremental/slice-in-place",
    "incremental/reshape-inside",
    "incremental/new-axis-in-front",
    "incremental/new-axes",
    "incremental/reshape-in-front-1-0",
    "incremental/reshape-in-front-1-2",
    "incremental/reshape-in-front-2-1",
    "incremental/repeat-inside",
    "incremental/repeat-behind",
    "incremental/part-inside",
    "incremental/read-inside",
    "incremental/transpose-inside",
    "incremental/transpose-moves",
    "incremental/projection-of-merged-rows-3",
    "incremental/projection-of-merged-rows-4",
    "incremental/projection",
    "incremental/projection-of-columns",
    "incremental/looked-up",
    "incremental/positions",
    "incremental/positions-of-range",
    "incremental/repeated",
    "incremental/repeated-behind-an-axis",
)

BOUNDED = (  # every mask, or order, of a few axes
    "incremental/permute",
    "incremental/permute-pair",
    "incremental/permute-alone",
    "incremental/fold-beside",
    "incremental/fold-of-folds",
)


@pytest.mark.parametrize("name", RULES)
def test_the_law_holds_for_all_ranks_sizes_points_and_values(
    name: str, table: dict[str, str]
) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "proved", str(verdict)
    assert method(verdict) == table[name]


@pytest.mark.parametrize("name", BOUNDED)
def test_the_law_holds_for_every_mask_or_order_of_a_few_axes(
    name: str, table: dict[str, str]
) -> None:
    verdict = decided(every_rule()[name])
    assert verdict.outcome == "bounded" and verdict.readings > 100, str(verdict)
    assert method(verdict) == table[name]

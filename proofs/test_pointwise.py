"""Laws of vectorisation, views and matrix products: both sides are the same elements."""

import pytest
from proofs.overview import method
from proofs.verdicts import decided

from ostinato.rewrite.registry import every_rule

RULES = (
    "vectorize/want",
    "vectorize/recurrence",
    "vectorize/definition",
    "vectorize/map1",
    "vectorize/map2",
    "vectorize/map3",
    "vectorize/red",
    "vectorize/mm",
    "vectorize/tr",
    "vectorize/mv",
    "vectorize/perm",
    "vectorize/reshape",
    "vectorize/bcast",
    "vectorize/cat",
    "vectorize/part",
    "vectorize/cut",
    "vectorize/gather",
    "vectorize/along1",
    "vectorize/along2",
    "vectorize/case",
    "vectorize/at",
    "vectorize/running",
    "vectorize/lin",
    "vectorize/shift",
    "vectorize/point",
    "vectorize/nest",
    "vectorize/nest-recurrence",
    "view/read-here",
    "view/read-invariant",
    "view/index-of-slice",
    "view/read-from-slice",
    "view/slice-from-slice",
    "view/move-nowhere",
    "view/move-back",
    "view/move-on",
    "view/move-three",
    "view/move-apart",
    "view/transpose-twice",
    "view/map1-of-moved",
    "view/map2-of-moved",
    "view/map3-of-moved",
    "view/moved-map1",
    "view/moved-map2",
    "view/moved-map3",
    "domain/lift-tr",
    "domain/lift-reshape",
    "domain/lift-product",
    "domain/split-low",
    "domain/split-high",
    "domain/known-prefix",
    "domain/mask",
    "domain/case-and",
    "domain/pinned-read",
    "view/repeat-same",
    "view/transpose-vector",
    "view/only-element",
    "view/element-of-transposed",
    "matmul/shared-right",
    "matmul/outer-sum",
    "fuse/parts",
    "fuse/columns",
    "fuse/rows",
)

# Every mask of a few axes.
BOUNDED = ("view/fold-of-moved", "view/moved-fold", "matmul/outer-sum-of-sums")


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
    assert verdict.outcome == "bounded" and verdict.readings > 50, str(verdict)
    assert method(verdict) == table[name]

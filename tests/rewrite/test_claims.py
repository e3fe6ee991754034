"""What a rule claims beyond its equation is decided: the class of exactness, and where it holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ostinato.rewrite.prove.prover import prove
from ostinato.rewrite.registry import every_rule

FALSE: dict[str, tuple[str, dict[str, Any]]] = {
    "a running sum adds in another order": ("incremental/running", {"exact": "exact"}),
    "so does a sum backwards": ("incremental/suffix-sum", {"exact": "zero signs"}),
    "a running fold is anything outside": (
        "incremental/safe-sum-of-powers",
        {"valid": "everywhere"},
    ),
    "windows are known inside": ("incremental/window-halved", {"valid": "everywhere"}),
    "tiles may be empty outside": ("incremental/quotient-leaves-product", {"valid": "everywhere"}),
    "so may what is filled": ("algebra/sum-of-scaled", {"valid": "everywhere"}),
}


@pytest.mark.parametrize(("name", "claim"), FALSE.values(), ids=FALSE)
def test_a_claim_that_is_too_strong_is_refused(name: str, claim: dict[str, Any]) -> None:
    rule = replace(every_rule()[name], proof="", **claim)
    assert prove(rule).outcome in ("failed", "unproved")


def test_axes_of_size_1_inside_operands_are_tried() -> None:
    rule = every_rule()["incremental/spread-elsewhere"]
    fewer = tuple(fact for fact in rule.when if str(fact) != "(= h (shape x))")
    assert prove(replace(rule, when=fewer, proof="")).outcome in ("failed", "unproved")

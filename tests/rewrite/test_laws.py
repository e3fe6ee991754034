"""How many rules there are, and how many laws: what several rules say is a law to be found."""

from __future__ import annotations

from collections import defaultdict

from ostinato.rewrite.registry import every_rule

MOST = 250  # rules; fewer is better
# Laws that several rules have to say, and why: "Decisions" in docs. The first rule of each.
SHARED = {
    "vectorize/nest": 2,
    "incremental/reshape-in-front-1-0": 3,
    "incremental/projection-of-merged-rows-3": 2,
    "incremental/repeated": 2,
    "incremental/sliding-sum-of-powers": 3,
    "incremental/softmax-product-in-tiles": 2,
}


def rules_of_laws() -> dict[str, list[str]]:
    """The names of the rules that say each law."""
    out = defaultdict[str, list[str]](list)
    for rule in every_rule():
        out[rule.law].append(rule.name)
    return out


def test_rules_are_few() -> None:
    assert len(every_rule()) <= MOST


def test_no_further_rules_share_a_law() -> None:
    shared = {names[0]: len(names) for names in rules_of_laws().values() if len(names) > 1}
    assert shared == SHARED

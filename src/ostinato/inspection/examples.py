"""Programs on which a rule fires and on which it does not, as text.

They are printed from the instances that the tests of every rule run (`tests/rewrite/instances`), by
``pytest tests/rewrite/test_rule_examples.py --update-golden``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources

FILE = "examples.json"


def examples_of(rule: str) -> Mapping[str, str]:
    """The text of a program by "fires" and "does not fire"; nothing for a rule that a user adds."""
    return _all().get(rule, {})


@cache
def _all() -> Mapping[str, Mapping[str, str]]:
    text = resources.files("ostinato.inspection").joinpath(FILE).read_text(encoding="utf-8")
    found: Mapping[str, Mapping[str, str]] = json.loads(text)
    return found

"""The overview of the proofs lists every rule as it is now."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostinato.rewrite.prove.overview import overview
from ostinato.rewrite.registry import every_rule

README = Path(__file__).parents[2] / "proofs" / "README.md"


def test_the_overview_is_up_to_date(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        README.write_text(overview(every_rule()), encoding="utf-8")
    assert README.read_text(encoding="utf-8") == overview(every_rule())

"""What the table of proofs says of each rule."""

from pathlib import Path

import pytest

from ostinato.rewrite.prove.overview import Decision, decisions_in


@pytest.fixture(scope="session")
def table() -> dict[str, Decision]:
    return decisions_in((Path(__file__).parent / "README.md").read_text(encoding="utf-8"))

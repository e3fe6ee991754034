"""How the table of proofs says that each rule was decided."""

from pathlib import Path

import pytest
from proofs.overview import methods_in


@pytest.fixture(scope="session")
def table() -> dict[str, str]:
    return methods_in((Path(__file__).parent / "README.md").read_text(encoding="utf-8"))

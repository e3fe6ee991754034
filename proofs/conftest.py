"""Settings of proofs: what the table says of each rule, and where verdicts are shared."""

import os
from pathlib import Path

import pytest
from proofs.overview import methods_in
from proofs.verdicts import share


@pytest.fixture(scope="session")
def table() -> dict[str, str]:
    return methods_in((Path(__file__).parent / "README.md").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True, scope="session")
def verdicts_are_shared(tmp_path_factory: pytest.TempPathFactory) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        share(tmp_path_factory.getbasetemp().parent / "verdicts")

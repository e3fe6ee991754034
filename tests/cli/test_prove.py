import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from ostinato.cli.prove import prove
from ostinato.pdg.errors import OptionError
from ostinato.rewrite.registry import every_rule

RULE = next(rule for rule in every_rule() if not rule.proof.startswith("unproved: "))


def with_proof(root: Path, text: str) -> Path:
    path = root / RULE.proof
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return root


@pytest.mark.parametrize("claim", ["True", "1 == 2"])
def test_a_rule_is_proved_if_its_proof_passes(claim: str, tmp_path: Path) -> None:
    root = with_proof(tmp_path, f"def test_law() -> None: assert {claim}\n")
    console = Console(file=StringIO(), width=200)
    status = prove([RULE.name], tmp_path / "proofs.json", console, root)
    (found,) = json.loads((tmp_path / "proofs.json").read_text())
    is_true = claim == "True"
    assert (status, found["state"]) == ((0, "proved") if is_true else (1, "fails"))


def test_an_installed_package_without_the_repository_says_so(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="Proofs live in the repository"):
        prove([RULE.name], None, Console(file=StringIO()), tmp_path)


def test_an_unknown_rule_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no rule or family is called `vectorise`"):
        prove(["vectorise"], None, Console(file=StringIO()), tmp_path)

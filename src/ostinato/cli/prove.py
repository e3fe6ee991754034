"""``ostinato rules prove``: run the proofs of the rules again."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ostinato.pdg.errors import OptionError
from ostinato.rewrite.registry import Rule, every_rule

ROOT = Path(__file__).parents[3]
UNPROVED = "unproved: "
State = Literal["proved", "fails", "unproved"]
COLORS: dict[State, str] = {"proved": "green", "fails": "red", "unproved": "yellow"}


def prove(names: Sequence[str], path: Path | None, console: Console, root: Path = ROOT) -> int:
    """Run the proofs of the named rules and families, or of all; return 1 if one fails.

    Errors: OptionError for an unknown name, outside a checkout of the repository, without pytest.
    """
    every_rule().without(*names)  # refuses a name that is neither a rule nor a family
    rules = every_rule().only(*names) if names else every_rule()
    results = states(rules, root, console)
    table = Table("rule", "state", "proof")
    for rule, state in results:
        colored = f"[{COLORS[state]}]{state}[/]"
        table.add_row(escape(rule.name), colored, escape(rule.proof.removeprefix(UNPROVED)))
    console.print(table)
    if path is not None:
        found = [{"rule": r.name, "state": state, "proof": r.proof} for r, state in results]
        path.write_text(json.dumps(found, indent=2) + "\n")
    return 1 if any(state == "fails" for _, state in results) else 0


def states(rules: Iterable[Rule], root: Path, console: Console) -> list[tuple[Rule, State]]:
    """Return each rule with what became of its proof; every proof file runs once."""
    proofs = dict.fromkeys(r.proof for r in rules if not r.proof.startswith(UNPROVED))
    holds = {proof: proof_holds(proof, root, console) for proof in proofs}
    return [
        (
            rule,
            "unproved" if rule.proof not in holds else "proved" if holds[rule.proof] else "fails",
        )
        for rule in rules
    ]


def proof_holds(proof: str, root: Path, console: Console) -> bool:
    """Run one proof file; its output, with the counterexample, is shown if it fails."""
    if importlib.util.find_spec("pytest") is None:
        raise OptionError("Proofs are run by pytest.", "pip install 'ostinato[test]'")
    if not (root / proof.partition("::")[0]).is_file():
        raise OptionError(
            f"There is no {proof} beside the package.",
            "Proofs live in the repository: clone it and run this there.",
        )
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", proof], cwd=root, capture_output=True, text=True
    )
    if finished.returncode != 0:
        console.print(finished.stdout, markup=False, highlight=False)
    return finished.returncode == 0

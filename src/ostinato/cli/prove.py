"""``ostinato rules prove``: decide the rules again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ostinato.rewrite.prove.prover import OUTCOMES, Outcome, Verdict
from ostinato.rewrite.prove.prover import prove as decide
from ostinato.rewrite.registry import RuleSet, every_rule

COLORS: dict[Outcome, str] = {
    "proved": "green",
    "bounded": "cyan",
    "failed": "red",
    "unproved": "yellow",
}


def prove(
    names: Sequence[str], path: Path | None, console: Console, rules: RuleSet | None = None
) -> int:
    """Decide the named rules and families, or all; return 1 if one of them is wrong.

    A wrong rule comes with an example. ``bounded``: decided for all sizes and values, but only for
    so many axes. The file holds the number of ``rules``, of each outcome, and the ``verdicts``.
    Errors: OptionError for an unknown name.
    """
    known = rules if rules is not None else every_rule()
    known.without(*names)  # refuses a name that is neither a rule nor a family
    chosen = known.only(*names) if names else known
    verdicts = [decide(rule) for rule in chosen]
    console.print(_table(verdicts))
    counts = Counter(verdict.outcome for verdict in verdicts)
    console.print(", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES))
    if path is not None:
        found: dict[str, object] = {outcome: counts[outcome] for outcome in OUTCOMES}
        found["rules"] = len(verdicts)
        found["verdicts"] = [asdict(verdict) for verdict in verdicts]
        path.write_text(json.dumps(found, indent=2) + "\n")
    return 1 if counts["failed"] else 0


def _table(verdicts: Sequence[Verdict]) -> Table:
    table = Table("rule", "outcome", "readings", "about")
    for verdict in verdicts:
        outcome = f"[{COLORS[verdict.outcome]}]{verdict.outcome}[/]"
        table.add_row(escape(verdict.rule), outcome, str(verdict.readings), escape(verdict.why))
    return table

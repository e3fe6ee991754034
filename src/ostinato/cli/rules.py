"""``ostinato rules``: the rewrite rules, and what they do to a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ostinato.cli.output import write_json
from ostinato.inspection.proofs import Proofs
from ostinato.inspection.rule_file import read_rules
from ostinato.inspection.rule_questions import Ablations, Stats, Trace
from ostinato.inspection.rule_set import RuleSet, every, examples_of
from ostinato.pdg.errors import OptionError
from ostinato.rewrite.engine.rule import Rule

Record = Trace | Ablations | Stats | Proofs


def list_rules(
    family: str | None, path: Path | None, console: Console, file: Path | None = None
) -> None:
    """Show every rule, or those of one family, with law, exactness and proof."""
    rules = rules_of(file) if family is None else rules_of(file).family(family)
    table = Table("rule", "law", "exactness", "proof")
    for rule in rules:
        table.add_row(rule.name, rule.law, rule.exact, rule.proof)
    console.print(table)
    write_json(path, [asdict(rule) for rule in rules])


def rules_of(file: Path | None) -> RuleSet:
    """The compiler's rules, with those of a file, each of which is proved first.

    Errors: OptionError with file and line of a rule that is refused.
    """
    return every() if file is None else every().from_file(file)


def prove_rules(names: Sequence[str], file: Path | None) -> Proofs:
    """Decide the named rules and families; without names those of the file, or else all.

    Errors: OptionError for an unknown name, or a rule of the file that is not well formed.
    """
    if file is None:
        return every().prove(*names)
    found = read_rules(file)
    found.check_form()
    if not names:
        return RuleSet(found.own).prove()
    return RuleSet((*every().rules, *found.own)).prove(*names)


def show_rule(name: str, path: Path | None, console: Console, file: Path | None = None) -> None:
    """Show one rule, and programs on which it fires and on which it does not."""
    rule: Rule = rules_of(file)[name]
    console.print(str(rule), soft_wrap=True)
    texts = examples_of(name)
    for claim, text in texts.items():
        console.print(f"\n{claim} on\n{text}", soft_wrap=True)
    written: dict[str, object] = asdict(rule)
    written["instances"] = texts
    write_json(path, written)


def show_record(found: Record, path: Path | None, console: Console) -> None:
    """Show what was found, and write it."""
    console.print(str(found), soft_wrap=True)
    write_json(path, asdict(found))


def hints_from(given: Iterable[str]) -> dict[str, int]:
    """The extents that ``NAME=SIZE`` texts say.

    Errors: OptionError for another text.
    """
    out: dict[str, int] = {}
    for text in given:
        name, equals, size = text.partition("=")
        if not equals or not size.isdecimal() or int(size) < 1:
            raise OptionError(f"`--hint {text}` is no extent.", "Write --hint T=500.")
        if name in out:
            raise OptionError(f"`--hint` gives `{name}` twice.", f"Write one --hint {name}=SIZE.")
        out[name] = int(size)
    return out

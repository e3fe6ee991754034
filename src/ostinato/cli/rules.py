"""``ostinato rules``: the rewrite rules, and what they do to a program."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ostinato.experiment import Experiment
from ostinato.pdg.node import Pdg
from ostinato.pdg.printer import show
from ostinato.program import Program
from ostinato.rewrite.instances import where_fires, where_idle
from ostinato.rewrite.instances.instance import Sizes
from ostinato.rewrite.optimize import Optimized, RewriteOptions, optimize
from ostinato.rewrite.registry import Rule, RuleSet, every_rule


def list_rules(family: str | None, path: Path | None, console: Console) -> None:
    """Show every rule, or those of one family, with law, exactness and proof."""
    rules = every_rule() if family is None else every_rule().family(family)
    table = Table("rule", "law", "exactness", "proof")
    for rule in rules:
        table.add_row(*map(escape, (rule.name, rule.law, rule.exact, rule.proof)))
    console.print(table)
    write(path, [asdict(rule) for rule in rules])


def show_rule(name: str, path: Path | None, console: Console) -> None:
    """Show one rule, and programs on which it fires and on which it does not."""
    rule: Rule = every_rule()[name]
    console.print(str(rule), markup=False, highlight=False, soft_wrap=True)
    found = {"fires": where_fires(name)[:1], "does not fire": where_idle(name)[:1]}
    texts = {claim: show(i.build(Sizes())) for claim, some in found.items() for i in some}
    for claim, text in texts.items():
        console.print(f"\n{claim} on\n{text}", markup=False, highlight=False, soft_wrap=True)
    written: dict[str, object] = asdict(rule)
    written["instances"] = texts
    write(path, written)


def trace(made: Program | Experiment, path: Path | None, console: Console) -> None:
    """Show which rules fired on a program, and which rules made each node of the result."""
    optimized = optimized_under(every_rule(), made)
    report = optimized.report
    fired = {name: count for name, count in report.rules.items() if count}
    origins = origins_by_node(optimized)
    for name, count in sorted(fired.items(), key=lambda item: -item[1]):
        console.print(f"{count:6d}  {name}", markup=False, highlight=False)
    for node, rules in origins:
        console.print(f"{node}  <-  {', '.join(rules)}", markup=False, highlight=False)
    console.print(f"predicted {price(report.price_before)} -> {price(report.price_after)}")
    found = {
        "fired": fired,
        "origins": [{"node": node, "rules": rules} for node, rules in origins],
        "price_before_ns": report.price_before,
        "price_after_ns": report.price_after,
    }
    write(path, found)


def ablate(
    made: Program | Experiment, names: Sequence[str], path: Path | None, console: Console
) -> None:
    """Show the predicted cost without each of the named rules and families, one at a time."""
    complete = optimized_under(every_rule(), made).report.price_after
    table = Table("without", "predicted", "slower by")
    found: list[Mapping[str, object]] = []
    for name in names or every_rule().families:
        alone = optimized_under(every_rule().without(name), made).report.price_after
        table.add_row(name, price(alone), f"{alone / complete:.2f}x")
        found.append({"without": name, "price_ns": alone, "ratio": alone / complete})
    console.print(f"with every rule: predicted {price(complete)}")
    console.print(table)
    write(path, {"price_ns": complete, "ablations": found})


def optimized_under(rules: RuleSet, made: Program | Experiment) -> Optimized:
    """Rewrite a program; an experiment's extents are the sizes that costs are for."""
    if isinstance(made, Program):
        return optimize(made.pdg, RewriteOptions(rules=rules))
    arguments = made.arguments.items()
    hints = {name: value for name, value in arguments if isinstance(value, int)}
    return optimize(made.program.pdg, RewriteOptions(rules=rules, hints=hints))


def origins_by_node(optimized: Optimized) -> list[tuple[str, tuple[str, ...]]]:
    """Return the nodes of the result that rules made, in the order of the program."""
    origins = optimized.report.origins
    pdg: Pdg = optimized.pdg
    return [(str(node), origins[node]) for node in pdg.nodes() if node in origins]


def price(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:,.3g} ms"


def write(path: Path | None, found: Mapping[str, object] | Iterable[object]) -> None:
    if path is not None:
        path.write_text(json.dumps(found, indent=2) + "\n")

"""How the rewriting of one program went, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ostinato.inspection.formatting import table, time_of
from ostinato.inspection.stages import Subject, rewritten
from ostinato.rewrite.registry import RuleSet


@dataclass(frozen=True, slots=True)
class Stats:
    """The e-graph, the rules and the search.

    - ``nodes``: operators of the program as written; ``enodes`` and ``classes`` of the saturated
      graph; ``rows``: all tables after each round, analyses and notes included;
    - ``matches``: how often each rule that fired did; ``stopped``: why the rounds ended;
    - ``switches``: choices that local search changed, ``steps``: places that it visited;
    - ``seconds``: time of each phase.
    """

    nodes: int
    enodes: int
    classes: int
    rows: tuple[int, ...]
    matches: Mapping[str, int]
    stopped: str
    switches: int
    steps: int
    seconds: Mapping[str, float]

    def __str__(self) -> str:
        fired = sorted(self.matches.items(), key=lambda item: (-item[1], item[0]))
        size = f"{self.nodes} operators became {self.enodes} e-nodes in {self.classes} classes"
        rows = ", ".join(f"{n:,}" for n in self.rows)
        times = [(phase, time_of(1e9 * seconds)) for phase, seconds in self.seconds.items()]
        return "\n".join(
            (
                f"{size}; {len(self.rows)} rounds: {self.stopped}",
                f"rows after each round: {rows}",
                f"local search changed {self.switches} choices in {self.steps:,} steps",
                "",
                table(("rule", "matches"), [(name, str(count)) for name, count in fired]),
                "",
                table(("phase", "time"), times),
            )
        )


def stats(about: Subject, rules: RuleSet) -> Stats:
    """Rewrite a program and count."""
    report = rewritten(about, rules).report
    return Stats(
        nodes=len(list(about.pdg.nodes())),
        enodes=report.enodes,
        classes=report.classes,
        rows=tuple(report.saturation.rows),
        matches={name: count for name, count in report.rules.items() if count},
        stopped=report.saturation.stopped,
        switches=report.switches,
        steps=report.steps,
        seconds=dict(report.seconds),
    )

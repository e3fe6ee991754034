"""The proofs of rules, run again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ostinato.report.formatting import table
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.prove.prover import OUTCOMES, Outcome, prove
from ostinato.rewrite.prove.said import assumptions
from ostinato.rewrite.registry import RuleSet


@dataclass(frozen=True, slots=True)
class Proof:
    """What the prover says of one rule.

    - ``status``: proved for all sizes and values; ``bounded``: for all sizes and values, but only
      for so many axes; ``failed``: wrong; ``unproved``: neither proved nor refuted;
    - ``method``: what showed that both sides are equal; ``readings``: how many ways to read the
      variables were decided; ``assumptions``: which numbers, which points, and the analyses of the
      e-graph that the law relies on;
    - ``counterexample``: of a failed rule; ``why``: what is missing of a bounded or unproved one.
    """

    name: str
    family: str
    status: Outcome
    method: str
    assumptions: tuple[str, ...]
    readings: int
    seconds: float
    counterexample: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Proofs:
    """The number of rules, of each outcome, and one record per rule."""

    rules: int
    proved: int
    bounded: int
    failed: int
    unproved: int
    proofs: tuple[Proof, ...]

    @property
    def holds(self) -> bool:
        """Whether no rule is wrong or open."""
        return not self.failed and not self.unproved

    def __str__(self) -> str:
        rows = [(p.name, p.status, p.method, str(p.readings), f"{p.seconds:.2f} s")
                for p in self.proofs]  # fmt: skip
        about = [f"{p.name}: {p.counterexample or p.why}" for p in self.proofs
                 if p.counterexample or p.why]  # fmt: skip
        counts = ", ".join(f"{getattr(self, outcome)} {outcome}" for outcome in OUTCOMES)
        head = ("rule", "outcome", "method", "readings", "time")
        return "\n".join((table(head, rows), *about, counts))


def proofs(rules: RuleSet, names: Sequence[str]) -> Proofs:
    """Decide the named rules and families, or all.

    Errors: OptionError for an unknown name.
    """
    chosen: Iterable[Rule] = rules.only(*names) if names else rules
    found = tuple(map(_proof, chosen))
    statuses = [proof.status for proof in found]
    proved, bounded, failed, unproved = (statuses.count(outcome) for outcome in OUTCOMES)
    return Proofs(len(found), proved, bounded, failed, unproved, found)


def _proof(rule: Rule) -> Proof:
    started = time.perf_counter()
    verdict = prove(rule)
    wrong = verdict.outcome == "failed"
    return Proof(
        rule.name,
        rule.family,
        verdict.outcome,
        ", ".join(verdict.methods),
        assumptions(rule),
        verdict.readings,
        time.perf_counter() - started,
        verdict.why if wrong else "",
        "" if wrong else verdict.why,
    )

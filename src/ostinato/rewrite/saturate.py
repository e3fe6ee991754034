"""Running the rules: seed, then rounds until nothing new is learnt or a budget ends."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ostinato.rewrite._egglog import Engine
from ostinato.rewrite.improve import STEPS


@dataclass(frozen=True)
class Budget:
    """Bounds of a saturation and of an extraction; reaching one is reported, never silent.

    Rounds, rows and steps decide alike in every process; the time is a safety net far above them.
    """

    rounds: int = 200  # what deeper networks need grows with their depth
    rows: int = 400_000  # e-nodes, analyses and notes together
    seconds: float = 60.0
    steps: int = STEPS  # places that local search visits, per nest of loops


@dataclass
class Saturation:
    """What happened: matches per rule, rows after every round, and why it stopped."""

    matches: Counter[str] = field(default_factory=Counter[str])
    rows: list[int] = field(default_factory=list[int])
    stopped: str = ""
    complete: bool = False  # nothing new could be learnt
    seconds: float = 0.0

    def __str__(self) -> str:
        rounds = len(self.rows)
        size = self.rows[-1] if self.rows else 0
        return f"{rounds} rounds, {size} rows, {self.seconds * 1e3:.0f} ms: {self.stopped}"


def saturate(engine: Engine, budget: Budget, families: Mapping[str, str]) -> Saturation:
    """Run rules until nothing new is learnt or the budget ends.

    ``families`` names the rules whose matches are counted (the others are bookkeeping).
    """
    done = Saturation()
    begin = time.perf_counter()
    engine.run("load")
    _analyse(engine)
    for _ in range(budget.rounds):
        updated = False
        for ruleset in ("seed", "rewrite"):
            report = engine.run(ruleset)
            updated |= report.updated
            done.matches.update({k: v for k, v in report.matches.items() if k in families})
            _analyse(engine)
        done.rows.append(engine.size())
        done.seconds = time.perf_counter() - begin
        if not updated:
            done.stopped, done.complete = "nothing new was learnt", True
            break
        if done.rows[-1] > budget.rows:
            done.stopped = f"the budget of {budget.rows} rows was reached"
            break
        if done.seconds > budget.seconds:
            done.stopped = f"the budget of {budget.seconds:g} s was reached"
            break
    else:
        done.stopped = f"the budget of {budget.rounds} rounds was reached"
    return done


def _analyse(engine: Engine) -> None:
    """Analyses follow the height of what is new; they add no terms, so they always end."""
    engine.execute("(run-schedule (saturate (run analysis)))")

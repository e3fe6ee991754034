"""Running the rules: seed, then rounds until nothing new is learnt or a budget ends."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ostinato.rewrite.engine.egglog_session import Engine, Round
from ostinato.rewrite.engine.language import opening

STEPS = 2_000_000  # places looked at in one local search; about a second
ROOM = 50_000  # rows that any program may have


@dataclass(frozen=True)
class Budget:
    """Bounds of a saturation and of an extraction; reaching one is reported, never silent.

    They count work, so they decide alike in every process and on every machine.
    """

    rounds: int = 200  # what deeper networks need grows with their depth
    rows: int = 400_000  # e-nodes, analyses and notes together
    growth: int = 8  # rows for each of the program's own, beside `ROOM`; few programs need 5
    visits: int = 40_000_000  # rows in front of rules, over all runs: 10 to 60 s
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
    A round of all rules costs as much for one match as for a hundred, so what spreads step by step
    through the program, and what brings terms to their normal form, has rounds of its own, with
    few rules. Rules that ask for a relation which has no rows, and never will have any, are left
    out: no range that grows, no law of histories.
    """
    done = Saturation()
    begin, visits = time.perf_counter(), 0
    engine.run("load")
    engine.execute(opening("can_fire", engine.filled))
    _analyse(engine)
    most = min(budget.rows, ROOM + budget.growth * engine.size())
    for _ in range(budget.rounds):
        rounds = _settled(engine, most)
        before = engine.size()
        rounds.append(engine.run("can_fire"))
        _analyse(engine)
        for one in rounds:
            done.matches.update({k: v for k, v in one.matches.items() if k in families})
        done.rows.append(engine.size())
        done.seconds = time.perf_counter() - begin
        if not any(one.updated for one in rounds):
            done.stopped, done.complete = "nothing new was learnt", True
            break
        if done.rows[-1] > most:
            done.stopped = f"the budget of {most} rows was reached"
            break
        if len(done.rows) > 1 and done.rows[-1] ** 2 > most * before:
            done.stopped = f"the budget of {most} rows would not last for another round"
            break
        visits += len(rounds) * done.rows[-1]
        if visits > budget.visits:
            done.stopped = f"the budget of {budget.visits} visits was reached"
            break
    else:
        done.stopped = f"the budget of {budget.rounds} rounds was reached"
    return done


def _settled(engine: Engine, most: int) -> list[Round]:
    """Bring terms to normal form, ask for new ones, lead them to the leaves, up to so many rows.

    Both need the analyses of terms that were there before, so they end without new ones. Returns
    every round.
    """
    out: list[Round] = []
    while True:
        formed = _until_still(engine, "normal", most)
        asked = engine.run("seed")
        if asked.updated:
            _analyse(engine)
        led = _until_still(engine, "spread", most)
        out += [*formed, asked, *led]
        is_still = len(formed) == len(led) == 1 and not asked.updated
        if is_still or engine.size() > most:
            return out


def _until_still(engine: Engine, ruleset: str, most: int) -> list[Round]:
    """Rounds of some rules until nothing is new, then the analyses of what they made."""
    out = [engine.run(ruleset)]
    while out[-1].updated and engine.size() <= most:
        out.append(engine.run(ruleset))
    if len(out) > 1:
        _analyse(engine)
    return out


def _analyse(engine: Engine) -> None:
    """Analyses follow the height of what is new; they add no terms, so they always end.

    What is idle then is left out: nothing follows from it, and no program needs it.
    """
    engine.execute("(run-schedule (saturate (run analysis)) (saturate (run views)) (run idle))")

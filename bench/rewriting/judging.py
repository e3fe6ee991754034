"""What the comparison says: ranks, errors, and how often the chosen form is the best."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.rewriting.forms import CHOSEN
from bench.rewriting.timing import Timed

CLOSE = 1.1  # a chosen form is good if no other is faster by more than this factor


@dataclass(frozen=True, slots=True)
class Verdict:
    """One program: its forms, ranks within it, and the chosen form's time over the best one's."""

    program: str
    forms: int
    rank: float
    error: float
    over_best: float
    chosen: Timed
    best: Timed


@dataclass(frozen=True, slots=True)
class Summary:
    """The whole corpus.

    ``rank`` is over all forms of all programs, ``rank_within`` the median over programs; errors are
    the median of how far predictions are from measurements; ``good`` is the part of the programs
    whose chosen form is at most 10 % slower than the best one.
    """

    forms: int
    rank: float
    rank_within: float
    error: float
    error_of_chosen: float
    good: float
    rank_rewritten: float


def verdicts(timed: Sequence[Timed]) -> list[Verdict]:
    """What each program's forms say, in the order of the corpus."""
    out: list[Verdict] = []
    for program in dict.fromkeys(t.program for t in timed):
        own = [t for t in timed if t.program == program]
        chosen = next(t for t in own if t.form == CHOSEN)
        best = min(own, key=lambda t: t.measured_ns)
        rank = correlation([t.predicted_ns for t in own], [t.measured_ns for t in own])
        error = statistics.median(map(relative_error, own))
        over = chosen.measured_ns / best.measured_ns
        out.append(Verdict(program, len(own), rank, error, over, chosen, best))
    return out


def summary(timed: Sequence[Timed]) -> Summary:
    """The figures of the corpus."""
    found = verdicts(timed)
    measured = [t.measured_ns for t in timed]
    return Summary(
        len(timed),
        correlation([t.predicted_ns for t in timed], measured),
        statistics.median(v.rank for v in found if v.forms > 1),
        statistics.median(map(relative_error, timed)),
        statistics.median(relative_error(v.chosen) for v in found),
        sum(v.over_best <= CLOSE for v in found) / len(found),
        correlation([t.rewritten_ns for t in timed], measured),
    )


def relative_error(t: Timed) -> float:
    return abs(t.predicted_ns / t.measured_ns - 1.0)


def correlation(left: Sequence[float], right: Sequence[float]) -> float:
    """Spearman's rank correlation; 1 where one side does not vary, as nothing is ordered wrongly.

    >>> correlation([1, 2, 3], [10, 20, 30]), correlation([1, 2, 3], [3, 2, 1])
    (1.0, -1.0)
    """
    ranks = [_ranks(left), _ranks(right)]
    if any(len(set(r)) < 2 for r in ranks):
        return 1.0
    return round(statistics.correlation(*ranks), 12)


def _ranks(values: Sequence[float]) -> list[float]:
    """Places in order; equal values share the middle of their places."""
    order = sorted(values)
    return [order.index(v) + (order.count(v) - 1) / 2 for v in values]

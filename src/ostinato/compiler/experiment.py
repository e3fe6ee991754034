"""A program with everything `ostinato run` needs to train with it, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ostinato.compiler.program import Program
from ostinato.language.dims import Dimension
from ostinato.language.kinds import Count, Finite, Natural


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """Stop once the mean of the last episodes reaches a bar.

    A record whose metric has one value per episode counts each of them; a record whose metric is
    their mean counts it `episodes_per_record` times.
    """

    at_least: Finite
    mean_of_last: Count = 100  # episodes
    episodes_per_record: Count = 1
    metric: str = "episode_return"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What a function named by ``ostinato run FILE:FUNCTION`` returns.

    Units: `steps_per_record` is environment steps per step of `over`, learning included.
    """

    program: Program
    over: Dimension | str  # the outermost dimension: one record per step of it
    arguments: Mapping[str, object]  # extents and inputs, as for a compiled program
    steps_per_record: Count
    metric: str = "episode_return"  # the output that is shown, recorded and plotted
    stop: Solved | None = None
    seed: Natural = 0

"""A program with everything `ostinato run` needs to train with it, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ostinato.compiler.program import Program
from ostinato.compiler.results import Results
from ostinato.language.dims import Dimension
from ostinato.language.kinds import Count, Finite, Natural
from ostinato.pdg.errors import OstinatoError
from ostinato.provenance.place import calling_place


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """Stop once the mean of the last episodes reaches a bar.

    The metric of a record is the mean over the episodes that ended in it: as many as the output
    `episodes` says, which may be none. In a program without that output a metric with one value
    per episode counts each of them, and one number counts `episodes_per_record` times.
    Independent trainings, each with its own value and number of episodes, must all reach the bar.
    """

    at_least: Finite
    mean_of_last: Count = 100  # episodes
    episodes_per_record: Count = 1
    metric: str = "episode_return"
    episodes: str = "episodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What a function named by ``ostinato run FILE:FUNCTION`` returns.

    Units: `steps_per_record` is environment steps per step of `over`, learning included; of one
    training, where the program has several. They are then the axes of the metric, `trainings`.
    Where episodes end before, that is the most, and the product of `steps_taken` says how many.
    """

    program: Program
    over: Dimension | str  # the outermost dimension: one record per step of it
    arguments: Mapping[str, object]  # extents and inputs, as for a compiled program
    steps_per_record: Count
    metric: str = "episode_return"  # the output that is shown, recorded and plotted
    stop: Solved | None = None
    seed: Natural = 0
    trainings: Sequence[Count] = ()  # how many, along each axis of the metric
    steps_taken: Sequence[str] = ()  # outputs, such as the mean length and number of episodes

    def train(self, **changes: object) -> Results:
        """Compile the program, run it to its end, and return its outputs.

        The changes are arguments in the place of the experiment's, such as ``seed=3`` or ``I=10``.

        >>> import ostinato as ot
        >>> i = ot.dims("i")
        >>> program = ot.Program(episode_return=1.0 * i)
        >>> walk = ot.Experiment(program=program, over=i, arguments={"I": 3}, steps_per_record=1)
        >>> walk.train()["episode_return"].tolist(), walk.train(I=2)["episode_return"].tolist()
        ([0.0, 1.0, 2.0], [0.0, 1.0])
        """
        where = calling_place()
        compiled = self.program.compile()
        try:
            return compiled(**{"seed": self.seed, **self.arguments, **changes})
        except OstinatoError as error:
            raise error.at(where) from error.__cause__


def parted(made: Program | Experiment) -> tuple[Program, Mapping[str, object]]:
    """A program, by itself or of an experiment, and the arguments that come with it."""
    return (made, {}) if isinstance(made, Program) else (made.program, made.arguments)

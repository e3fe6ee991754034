import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from ostinato import Program, zeros
from ostinato.cli.training import Before, Column, Record, Row, SolvedJudge, train
from ostinato.compiler.experiment import Experiment, Solved
from ostinato.runtime.run.state import State


@dataclass
class Point:
    index: int
    episode_return: object
    loss: float = 0.5


@dataclass
class Recorded:
    """Stands for a running program: records that are already there."""

    points: list[Point]
    is_closed: bool = False

    def __iter__(self) -> Iterator[Record]:
        return iter(self.points)

    def close(self) -> None:
        self.is_closed = True

    @property
    def state(self) -> State:
        return State({}, "i", 0, 0, "", "")


@dataclass
class Kept:
    rows: list[Row] = field(default_factory=list[Row])


def experiment(stop: Solved | None = None) -> Experiment:
    any_program = Program(y=zeros())  # the loop never looks at the program
    return Experiment(program=any_program, over="i", arguments={}, steps_per_record=100, stop=stop)


def returns(*values: float) -> Recorded:
    return Recorded([Point(index, value) for index, value in enumerate(values)])


def test_each_record_becomes_a_row() -> None:
    kept, records = Kept(), returns(10.0, 30.0)
    outcome = train(experiment(), records, [kept.rows.append], [Column("loss", "loss")])
    assert [(row.iteration, row.env_steps, row.metric) for row in kept.rows] == [
        (0, 100, 10.0),
        (1, 200, 30.0),
    ]
    assert outcome.end == "finished" and outcome.last == kept.rows[-1]
    assert kept.rows[0].others == (0.5,) and kept.rows[0].wall_s <= kept.rows[1].wall_s


def test_steps_that_were_taken_are_counted_from_those_before() -> None:
    kept, records = Kept(), returns(10.0, 30.0)
    counted = replace(experiment(), steps_taken=("episode_return", "loss"))
    train(counted, records, [kept.rows.append], before=Before(env_steps=100))
    assert [row.env_steps for row in kept.rows] == [105, 120]


def test_a_metric_with_a_value_per_episode_is_recorded_as_its_mean() -> None:
    outcome = train(experiment(), Recorded([Point(0, np.array([1.0, 3.0]))]), [])
    assert outcome.last is not None and outcome.last.metric == 2.0


def test_the_run_stops_where_it_is_solved_and_closes_the_records() -> None:
    records = returns(10.0, 90.0, 100.0, 100.0)
    stop = Solved(at_least=90.0, mean_of_last=100, episodes_per_record=64)
    outcome = train(experiment(stop), records, [])
    assert outcome.end == "solved" and outcome.last is not None and outcome.last.iteration == 2
    assert records.is_closed


def test_nothing_is_solved_before_the_episodes_asked_for_were_played() -> None:
    judge = SolvedJudge(Solved(at_least=1.0, mean_of_last=100, episodes_per_record=64))
    assert not judge.add(Point(0, 5.0))
    assert judge.add(Point(1, 5.0))


def test_the_last_episodes_count_one_by_one() -> None:
    judge = SolvedJudge(Solved(at_least=10.0, mean_of_last=3))
    assert not judge.add(Point(0, np.array([0.0, 0.0, 10.0])))
    assert judge.add(Point(1, np.array([10.0, 10.0])))


def test_ctrl_c_ends_at_the_next_record_and_keeps_it() -> None:
    kept, records = Kept(), returns(1.0, 2.0, 3.0)

    def press(row: Row) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    outcome = train(experiment(), records, [kept.rows.append, press])
    assert outcome.end == "interrupted" and len(kept.rows) == 1 and records.is_closed
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@dataclass
class Noted:
    every: int
    ends: list[tuple[list[list[float]], str | None]] = field(default_factory=list[Any])

    def keep(self, state: State, episodes: Sequence[Sequence[float]], end: str | None) -> None:
        self.ends.append(([*map(list, episodes)], end))


def test_a_keeper_gets_states_after_some_records_and_after_the_last() -> None:
    keeper, stop = Noted(2), Solved(at_least=10.0, mean_of_last=2)
    train(experiment(stop), returns(1.0, 2.0, 3.0, 4.0, 5.0), [], keeper=keeper)
    assert keeper.ends == [([[1.0, 2.0]], None), ([[3.0, 4.0]], None), ([[4.0, 5.0]], "finished")]


def test_a_run_that_goes_on_counts_the_episodes_before_it() -> None:
    stop = Solved(at_least=10.0, mean_of_last=2)
    outcome = train(experiment(stop), returns(11.0, 0.0), [], before=Before(((9.0,),), 5.0))
    assert outcome.end == "solved" and outcome.last and outcome.last.wall_s >= 5.0


def test_the_records_are_closed_when_a_sink_fails() -> None:
    records = returns(1.0)

    def full_disk(row: Row) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        train(experiment(), records, [full_disk])
    assert records.is_closed


@dataclass
class Counted(Point):
    episodes: object = 0


def test_a_mean_counts_as_many_episodes_as_ended() -> None:
    judge = SolvedJudge(Solved(at_least=90.0, mean_of_last=4))
    assert not judge.add(Counted(0, 100.0, episodes=3))
    assert not judge.add(Counted(1, 100.0, episodes=0))  # none ended: the mean is an old one
    assert not judge.add(Counted(2, 20.0, episodes=1))
    assert not judge.add(Counted(3, 100.0, episodes=3))  # with the 20 of before they are 80
    assert judge.add(Counted(4, 100.0, episodes=1))


def test_every_training_must_reach_the_bar() -> None:
    judge = SolvedJudge(Solved(at_least=90.0, mean_of_last=2))
    assert not judge.add(Counted(0, np.array([100.0, 50.0]), episodes=np.array([5, 5])))
    assert not judge.add(Counted(1, np.array([100.0, 100.0]), episodes=np.array([0, 1])))
    assert judge.add(Counted(2, np.array([100.0, 100.0]), episodes=np.array([0, 1])))

"""Rates as functions of the update."""

import math

import numpy as np
import pytest

import ostinato as ot
from ostinato import optim
from ostinato.optim import schedule


def rates(of: optim.Schedule, updates: int) -> list[float]:
    i = ot.dims("i")
    found = ot.Program(rate=of(ot.index(i))).interpret(I=updates)["rate"]
    return [round(float(rate), 5) for rate in np.broadcast_to(found, updates)]


def test_a_line_ends_and_stays() -> None:
    assert rates(schedule.linear(1.0, 0.5, 2), 5) == [1.0, 0.75, 0.5, 0.5, 0.5]


def test_half_a_wave_falls_slowly_at_both_ends() -> None:
    expected = [0.5 + 0.5 * math.cos(math.pi * k / 4) for k in range(5)]
    assert rates(schedule.cosine(1.0, 4), 6) == pytest.approx([*expected, 0.0], abs=1e-5)


def test_an_exponential_multiplies() -> None:
    assert rates(schedule.exponential(2.0, 0.5), 4) == [2.0, 1.0, 0.5, 0.25]


def test_a_warm_up_starts_the_next_schedule_from_its_beginning() -> None:
    after = schedule.linear(1.0, 0.0, 2)
    assert rates(schedule.warmup(2, after, 0.5), 5) == [0.5, 0.75, 1.0, 0.5, 0.0]


def test_a_warm_up_to_a_number_stays_there() -> None:
    assert rates(schedule.warmup(2, 4.0), 4) == [0.0, 2.0, 4.0, 4.0]


def test_lengths_may_be_extents_and_rates_arguments() -> None:
    i = ot.dims("i")
    rate = schedule.linear(ot.input("rate"), 0.0, i.size)(ot.index(i))
    assert ot.Program(r=rate).interpret(I=4, rate=2.0)["r"].tolist() == [2.0, 1.5, 1.0, 0.5]


def test_an_optimizer_follows_a_schedule() -> None:
    i = ot.dims("i")
    w = ot.recurrent("w", over=i)
    w[0] = 0.0
    optim.SGD(lambda update: 1.0 / (update + 1.0)).minimize(w, [w])
    assert ot.Program(w=w).interpret(I=3)["w"].tolist() == [0, -1, -1.5]

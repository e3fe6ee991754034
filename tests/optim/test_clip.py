"""Limits on gradients."""

import numpy as np
import pytest

import ostinato as ot
from ostinato import optim
from ostinato.pdg.errors import OptionError

SLOPES = {"v": [3.0, 0.0], "w": [0.0, -4.0]}


def moved(norm: float | None = None, value: float | None = None) -> dict[str, list[float]]:
    """How far an update with rate 1 moves two parameters whose gradients have norm 5."""
    i = ot.dims("i")
    parameters = [ot.recurrent(name, (2,), over=i) for name in SLOPES]
    for parameter in parameters:
        parameter[0] = 0.0
    v, w = (ot.constant(SLOPES[str(p.node)]) * p for p in parameters)
    optim.Clipped(optim.SGD(1.0), norm, value).minimize((v + w).sum(), parameters)
    program = ot.Program(**dict(zip(SLOPES, parameters, strict=True)))
    return {name: (-x[1]).round(4).tolist() for name, x in program.interpret(I=2).items()}


def test_the_norm_is_that_of_all_parameters() -> None:
    assert moved(norm=2.5) == {"v": [1.5, 0.0], "w": [0.0, -2.0]}


def test_short_gradients_stay_as_they_are() -> None:
    assert moved(norm=100.0) == SLOPES


def test_values_are_cut_one_by_one() -> None:
    assert moved(value=3.5) == {"v": [3.0, 0.0], "w": [0.0, -3.5]}


def test_values_are_cut_before_the_norm_is_taken() -> None:
    found = moved(norm=2.5, value=3.0)
    assert (found["v"][0], found["w"][1]) == pytest.approx((1.76777, -1.76777), abs=1e-4)


def test_every_point_of_an_outer_dimension_has_its_own_norm() -> None:
    s = ot.dims("s")
    slope = ot.input("slope", (2,), over=s)
    (out,) = optim.clip_norm([slope], 1.0)
    found = ot.Program(out=out).interpret(slope=[[3.0, 4.0], [0.0, 0.5]])["out"]
    np.testing.assert_allclose(found, [[0.6, 0.8], [0.0, 0.5]], rtol=1e-5)


def test_a_clipped_optimizer_has_a_limit() -> None:
    with pytest.raises(OptionError, match="Give norm= or value="):
        optim.Clipped(optim.SGD(0.1))

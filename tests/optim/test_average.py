"""Averages of parameters over the updates."""

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn, optim
from ostinato.pdg.errors import EquationError

W = np.array([1.0, 3.0, 8.0, 4.0])


def test_the_running_average_is_the_mean_so_far() -> None:
    w = ot.input("w", over=ot.dims("i"))
    found = ot.Program(a=optim.running_average(w)).interpret(w=W)["a"]
    np.testing.assert_allclose(found, [W[: k + 1].mean() for k in range(4)])


def test_a_late_average_starts_from_the_parameter() -> None:
    w = ot.input("w", over=ot.dims("i"))
    found = ot.Program(a=optim.running_average(w, start=2)).interpret(w=W)["a"]
    np.testing.assert_allclose(found, [1.0, 3.0, 8.0, 6.0])


def test_every_point_of_an_outer_dimension_has_its_own_average() -> None:
    s, i = ot.dims("s i")
    average = optim.exponential_average(ot.input("w", over=(s, i)), 0.75)
    found = ot.Program(a=average).interpret(w=[[0.0, 4.0], [8.0, 0.0]])["a"]
    np.testing.assert_allclose(found, [[0.0, 1.0], [8.0, 6.0]])


def test_a_module_is_averaged_parameter_by_parameter() -> None:
    i = ot.dims("i")
    layer = nn.Linear(2, 1, over=i)
    slow = layer.map(lambda w: optim.exponential_average(w, 0.9))
    layer.update(optim.SGD(0.1), layer(ot.constant([1.0, 2.0])).sum())
    out = ot.Program(w=layer.weight, slow=slow.weight).interpret(I=2)
    np.testing.assert_allclose(out["slow"][1], 0.9 * out["w"][0] + 0.1 * out["w"][1], rtol=1e-6)


def test_what_never_changes_has_no_average() -> None:
    with pytest.raises(EquationError, match="over no dimension"):
        optim.running_average(ot.input("w"))

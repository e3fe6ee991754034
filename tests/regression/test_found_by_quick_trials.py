"""What the quick mode of the fuzzer found; each test names the class that it stands for."""

from __future__ import annotations

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import DomainError


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="shapes: an output is padded to a bound of its sizes"
)
def test_an_output_is_padded_to_its_longest() -> None:
    t = ot.dims("t")
    program = ot.Program(y=ot.input("x", over=t)[t // 2 : t + 1])
    given = {"x": np.arange(3.0)}
    assert program.compile()(**given)["y"].shape == program.interpret(**given)["y"].shape == (3, 2)


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="empty ranges: nothing in memory")
@pytest.mark.parametrize("fold", ["sum", "prod", "max"])
def test_a_range_may_be_empty_without_being_written_so(fold: str) -> None:
    t = ot.dims("t")
    values = ot.sin(ot.input("x", over=t))[t : ot.minimum(t, t.size)]
    program = ot.Program(y=getattr(values, fold)(0))
    given = {"x": np.arange(3.0)}
    assert program.compile()(**given)["y"].tolist() == program.interpret(**given)["y"].tolist()


@pytest.mark.xfail(
    strict=True, raises=DomainError, reason="checks: the gradient of a window asks beside its axis"
)
def test_checks_pass_in_the_gradient_of_a_convolution() -> None:
    x = ot.input("x", (3,))
    y = ot.conv1d(x.reshape(1, -1), ot.constant([[[0.5, -1.0]]]), padding="same")
    program = ot.Program(g=ot.grad((y * y).sum(), x))
    given = {"x": np.arange(3.0)}
    found, expected = program.compile(checks=True)(**given)["g"], program.interpret(**given)["g"]
    assert np.allclose(found, expected)

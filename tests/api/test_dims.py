"""Index expressions and conditions."""

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import AffineError, TruthError


def test_one_name_gives_a_dimension_and_several_a_tuple() -> None:
    t = ot.dims("t")
    b, i = ot.dims("b, i")
    assert isinstance(t, ot.Dimension) and (b.name, i.name) == ("b", "i")
    assert str(t.size) == "T"


@pytest.mark.parametrize("names", ["T", "t t", "2d", ""])
def test_a_bad_name_is_refused(names: str) -> None:
    with pytest.raises(AffineError, match="dims"):
        ot.dims(names)


def test_expressions_are_canonical() -> None:
    t = ot.dims("t")
    assert str(t.size - 1 - t) == "-t+T-1"
    assert str((2 * t + 4) // 2) == "t+2"
    assert str(ot.minimum(t + 3, t + 1)) == "t+1"
    assert str(ot.maximum(t - 3, 0)) == "max(0, t-3)"


def test_conditions_join() -> None:
    t = ot.dims("t")
    assert str((t % 4 == 0) | (t < 3)) == "(t) % 4 == 0 or 2 >= t"
    assert str(~(t >= 3)) == "2 >= t"
    assert str((t != 2) & True) == "not t == 2"


def test_pythons_minimum_names_the_remedy() -> None:
    t = ot.dims("t")
    with pytest.raises(TruthError, match="Use ot.minimum, ot.maximum or ot.where"):
        min(t + 1, t.size)
    with pytest.raises(TruthError, match="symbolic"):
        _ = 0 < t < 3


def test_dividing_by_zero_is_refused() -> None:
    with pytest.raises(AffineError, match="is divided"):
        _ = ot.dims("t") % 0


def test_a_remainder_by_an_extent_is_a_position_that_goes_round() -> None:
    t, b = ot.dims("t b")
    start, u = ot.input("start", over=b), ot.recurrent("u", over=(t, b))
    u[0, b] = start
    u[t + 1, b] = u[t, (b + 1) % b.size] - u[t, (b - 7) % b.size]
    program = ot.Program(u=u, turn=ot.index(t) // b.size)
    for size in (1, 5, 37):
        row = np.arange(size, dtype="float32") ** 2
        found = program.compile()(start=row, T=7)
        for k in range(6):
            at = found["u"][k]
            assert np.array_equal(found["u"][k + 1], np.roll(at, -1) - np.roll(at, 7))
        assert np.array_equal(found["turn"].ravel()[:7], np.arange(7) // size)


def test_a_product_of_dimensions_is_no_index() -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", over=t)
    with pytest.raises(AffineError, match=r"not quasi-affine\n .* `ot.index\(b \* t\)`"):
        x[b * t]
    with pytest.raises(AffineError, match=r"not quasi-affine\n .* `ot.index\(-b \* t\+2\)`"):
        _ = b * t < 3
    y = ot.where(ot.index(-b * t + 2) >= 0, x[ot.index(b * t)], 0.0)
    assert ot.Program(y=y).compile()(x=[1, 2, 3], B=2)["y"].tolist() == [[1, 1, 1], [1, 2, 3]]


def test_floats_turn_an_index_into_a_tensor() -> None:
    t = ot.dims("t")
    out = ot.Program(y=1.5 * t + t / t.size).interpret(T=4)["y"]
    assert out.tolist() == [0.0, 1.75, 3.5, 5.25]

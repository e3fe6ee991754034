"""What counts as equal: every point, finite or not, and every bit of an integer."""

from __future__ import annotations

import numpy as np
import pytest

from tests.property.tolerance import differences, distance, sensitivity, unlike

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("found", "expected"),
    [(1.0, INF), (-INF, INF), (INF, 1.0), (NAN, 1.0), (1.0, NAN), (NAN, INF), (INF, 1e38)],
)
def test_a_point_that_is_not_finite_counts(found: float, expected: float) -> None:
    values = [{"y": np.array([2.0, v], "float32")} for v in (found, expected)]
    assert len(differences(*values)) == 1
    assert differences(values[1], values[1]) == []


def test_large_integers_differ_by_one() -> None:
    found, expected = ({"y": np.array([2**62 + k])} for k in (1, 0))
    assert differences(found, expected) == [f"y[0] is {2**62 + 1}, not {2**62} (1/1)"]


def test_bits_tell_zeros_apart_and_take_nan_as_one_value() -> None:
    zeros = {"y": np.array([0.0, -NAN]), "z": np.array([0.0])}
    others = {"y": np.array([0.0, NAN]), "z": np.array([-0.0])}
    assert unlike(zeros, others, ["y", "z"]) == ["z[0] is 0.0, not -0.0 (1/1)"]
    assert differences(zeros, others) == []


def test_a_pole_between_roundings_may_be_finite_or_not() -> None:
    def reference(given: object, exact: bool) -> dict[str, np.ndarray[tuple[int, ...], np.dtype]]:
        return {"y": np.array([1.0 if exact else INF, INF])}

    expected = reference({}, False)
    slack = sensitivity(reference, {}, expected)
    assert differences({"y": np.array([3.0, INF])}, expected, slack) == []
    assert len(differences({"y": np.array([3.0, 3.0])}, expected, slack)) == 1


def test_a_nan_between_roundings_may_be_an_infinity_but_no_number() -> None:
    expected = {"y": np.array([INF, INF, NAN])}
    slack = {"y": distance(np.array([NAN, INF, -INF]), expected["y"])}
    assert differences({"y": np.array([NAN, INF, INF])}, expected, slack) == []
    assert len(differences({"y": np.array([1.0, INF, INF])}, expected, slack)) == 1
    assert len(differences({"y": np.array([NAN, NAN, INF])}, expected, slack)) == 1

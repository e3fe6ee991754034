"""Functions of a whole axis refuse what they cannot work on, in the user's names."""

from collections.abc import Callable

import pytest

import ostinato as ot
from ostinato.pdg.errors import DtypeError, OptionError, OstinatoError, ShapeError
from tests.errors.refusal import refusal

t = ot.dims("t")
x = ot.input("x", (3,), over=t)
w = ot.input("w", (4, 2))
k = ot.input("k", (3,), "int32", over=t)

REFUSED: dict[str, tuple[Callable[[], object], type[OstinatoError], str]] = {
    "axis": (
        lambda: ot.cumsum(x, axis=1),
        ShapeError,
        "axis 1 of `x`, which has 1 axes\n  Use an axis from -1 to 0.",
    ),
    "sizes": (
        lambda: ot.linear_recurrence(w[:, 0], x),
        ShapeError,
        "`linear_recurrence` of `w` (4,) and `x` (3,) along axis -1\n"
        "  The operands must have one size along that axis.",
    ),
    "other axes": (
        lambda: ot.linear_recurrence(w, ot.ones((3, 2))),
        ShapeError,
        "`linear_recurrence` of `w` (4, 2) and the constant 1.0 (3, 2): axis -2 is 4 in `w` and 3 "
        "in the constant 1.0\n  Make the sizes equal, or 1 where the axis is to be repeated.",
    ),
    "too many": (
        lambda: ot.top_k(w, 5, axis=0),
        ShapeError,
        "the 5 greatest of 4 elements along axis 0 of `w`\n  Ask for at most 4.",
    ),
    "the middle of nothing": (
        lambda: ot.median(ot.zeros((2, 0)), axis=1),
        ShapeError,
        "`median` of the constant 0.0 (2, 0): there are no elements\n"
        "  Give the axis at least one element.",
    ),
    "side": (
        lambda: ot.searchsorted(x, 0.5, side="middle"),
        OptionError,
        '`searchsorted` with side=\'middle\'\n  Use "left" or "right".',
    ),
    "rows": (
        lambda: ot.searchsorted(w, x),
        ShapeError,
        "`searchsorted` of `x` (3,) in `w` (4, 2)\n"
        "  Give one sorted row, or rows and values with as many axes as each other.",
    ),
    "positions of floats": (
        lambda: ot.scatter_add(x, x, size=2),
        DtypeError,
        "positions `x` (float32)\n  Cast the positions to an integer type.",
    ),
    "axes of positions": (
        lambda: ot.scatter_add(ot.ones((2, 2, 2)), ot.zeros((2, 2), "int32"), size=2, axis=0),
        ShapeError,
        "updates the constant 1.0 (2, 2, 2) scattered by positions the constant 0 (2, 2)\n"
        "  Give one axis of positions, or one axis per axis of the updates.",
    ),
    "numbers of positions": (
        lambda: ot.scatter_add(w, k, size=2, axis=0),
        ShapeError,
        "`scatter_add` of `w` (4, 2) and `k` (3, 1) along axis -2\n"
        "  The operands must have one size along that axis.",
    ),
}


@pytest.mark.parametrize(("make", "kind", "text"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit(
    make: Callable[[], object], kind: type[OstinatoError], text: str
) -> None:
    where, _, rest = refusal(kind, make).partition(": ")
    assert where == f"test_along.py:{make.__code__.co_firstlineno}"
    assert rest == text

"""Left sides that define no points."""

from collections.abc import Callable

import pytest

import ostinato as ot
from ostinato.pdg.errors import EquationError
from tests.errors.refusal import here, refusal

b, t = ot.dims("b t")
FORMS = (
    "  Use the dimension, the dimension plus a constant, or a constant; "
    "for other sets of points use a condition: x[t < 3] = ..., x[t % 4 == 0] = ..."
)
Index = Callable[[], object]
REFUSED: dict[str, tuple[Index, str]] = {
    "scaled": (lambda: 2 * t, f"the left side of `s` has `2*t` for `t`\n{FORMS}"),
    "slice": (lambda: slice(None), f"the left side of `s` has a slice for `t`\n{FORMS}"),
    "text": (lambda: "t", f"the left side of `s` has 't' for `t`\n{FORMS}"),
    "other dimension": (lambda: b, f"the left side of `s` has `b` for `t`\n{FORMS}"),
    "too many": (
        lambda: (t, 0),
        "`s` is over t, but the equation gives 2 positions\n"
        "  Give one position per dimension; define the spatial axes as a whole.",
    ),
    "foreign condition": (
        lambda: b == 0,
        "`s` is over `t`, but the left side mentions `b`\n  Add `b` to `over`.",
    ),
}


@pytest.mark.parametrize(("left", "text"), REFUSED.values(), ids=REFUSED)
def test_a_left_side_is_refused(left: Index, text: str) -> None:
    s = ot.recurrent("s", over=t)
    where = here(1)
    assert refusal(EquationError, lambda: s.__setitem__(left(), 0.0)) == f"{where}: {text}"


def test_a_fixed_dimension_on_the_right() -> None:
    s = ot.recurrent("s", over=t)
    where = here(1)
    assert refusal(EquationError, lambda: s.__setitem__(0, ot.index(t) * 1.0)) == (
        f"{where}: the equation of `s` fixes `t`, but its right side depends on it\n"
        "  Read the right side at one step of `t`, or define every step."
    )


def test_foreign_dimensions_on_the_right_are_folded_by_their_places() -> None:
    i = ot.dims("i")
    x, s = ot.input("x", over=(b, t, i)), ot.recurrent("s", over=t)
    where = here(1)
    assert refusal(EquationError, lambda: s.__setitem__(t, x)) == (
        f"{where}: `s` is over `t`, but the right side depends on `b`, `i`\n"
        "  Add `b`, `i` to `over`, or reduce: x[:, t, :].sum((0, 1)) folds all steps."
    )

"""Integers of 32 bits wrap around wherever they are used: as values, and as positions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato.codegen.lowering.integer_nodes import Affinities
from ostinato.language.dims import Condition
from ostinato.pdg import build
from ostinato.pdg.index import Dim, expr
from ostinato.pdg.intervals import LONGEST, Interval, interval, magnitude
from ostinato.pdg.windows import Window, window_of, windows

X = np.arange(20, dtype="float32") * 1.5
T = ot.dims("t")
POSITIONS: dict[str, Callable[[ot.Tensor], ot.Tensor]] = {
    "mod": lambda i: (i * 400_000_000) % 7,
    "floordiv": lambda i: (i * 400_000_000) // 100_000_000,
    "neg": lambda i: (-(i * 400_000_000)) % 7,
    "minimum": lambda i: ot.minimum(i * 400_000_000, 3),
    "add": lambda i: (i + 2_147_483_640) % 7,
    "sub": lambda i: (i * -1 - 2_147_483_640) % 7,
    "int64": lambda i: (i.cast("int64") * 4_000_000_000_000_000_000) % 7,
    "int64 to int32": lambda i: (i.cast("int64") * 4_000_000_000).cast("int32") % 7,
    "uint32": lambda i: (i.cast("uint32") - 5) % 7,
    "an index expression": lambda i: ot.index(T * 400_000_000) % 7,
    "no wrap": lambda i: (i - 5) % 3 + (i - 5) // 7 + 1,
}


@pytest.mark.parametrize("name", POSITIONS)
def test_a_computed_position_wraps_as_its_integers_do(name: str) -> None:
    x = ot.input("x", over=T)
    position = POSITIONS[name](ot.index(T))
    program = ot.Program(value=position, taken=x[:].take(position, 0))
    expected, found = program.interpret(x=X), program.compile(exact=True)(x=X)
    assert found["value"].tolist() == expected["value"].tolist()
    assert found["taken"].tolist() == expected["taken"].tolist()


def test_only_what_never_wraps_is_an_expression() -> None:
    t = Dim("t")
    i, known = build.affine(t), Affinities()

    def times(by: int) -> bool:
        return known.holds(build.map_node("mul", [i, build.const(by, "int32")]))

    assert known.holds(i) and times(2) and not times(3)
    outside = build.read(build.affine(expr(t) * 2), [(t, expr(t) * 3)])
    assert not known.holds(outside)
    assert not known.holds(build.affine(expr(t) * 2**40))


def test_intervals_hold_every_value_at_the_largest_extents() -> None:
    t = Dim("t")
    last = LONGEST - 1
    assert interval(3 - 2 * expr(t)) == Interval(3 - 2 * last, 3)
    assert interval((expr(t) + 7) % 5) == Interval(0, 4)
    assert interval(expr(t) // 4 - t.extent) == Interval(-LONGEST, last // 4 - 1)
    assert interval(t, {t: Interval(-1, 3)}) == Interval(-1, 3)
    assert magnitude((2**40 * expr(t)) // 3) == 2**40 * LONGEST


def test_positions_that_wrap_are_no_windows() -> None:
    x = build.input_node("x", (expr(64),), "float32", ())
    small = windows(x, -1, Window(expr(8), expr(3), 2, 1))
    large = windows(x, -1, Window(expr(8), expr(3), 400_000_000, 1))
    assert window_of(small.args[0]) is not None and window_of(large.args[0]) is None


CONDITIONS: dict[str, Condition] = {
    "a bound": T <= 2**32,
    "a far bound": T > -(2**40),
    "a product": 2**29 * T < 5,
    "equal products": 2**29 * T == 2**29,
    "a remainder": ((2**28 + 1) * T) % 3 == 1,
    "a sum": 2**28 * T + 2**28 * T.size > 2**30,
    "two bounds": (T < 2**31) & (T > 1),
    "no bound": ~(T < 2**32),
}


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("exact", [False, True])
def test_a_condition_compares_more_than_32_bits(name: str, exact: bool) -> None:
    x, cond = ot.input("x", over=T), CONDITIONS[name]
    chosen = ot.where(cond, x, x * 0.5 + 1.0)
    hidden = ot.where(cond, 0.0, x)
    program = ot.Program(
        cast=ot.floor(chosen).cast("int32"),
        sums=ot.cumsum(hidden[:], 0)[T],
        total=ot.sigmoid(chosen)[:].sum(0),
    )
    expected, found = program.interpret(x=X), program.compile(exact=exact)(x=X)
    for output, value in expected.items():
        np.testing.assert_allclose(found[output], value, rtol=2e-6)

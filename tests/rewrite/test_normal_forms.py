"""Normal forms of the prover: tiles make up a range, and recurrences are sums, only where they do.

The laws of `ostinato.rewrite.rules.tiles` rest on both.
"""

from __future__ import annotations

from ostinato.rewrite.prove.application import (
    Call,
    Choice,
    Fold,
    Leaf,
    Less,
    Number,
    Recursion,
    Value,
    key,
)
from ostinato.rewrite.prove.induction import telescoped
from ostinato.rewrite.prove.integers import Clip, Poly, Var, poly
from ostinato.rewrite.prove.normal import real

WIDTH, COUNT = (poly(Var(name, None, True)) for name in ("width", "count"))
STEPS = COUNT * WIDTH - Var("unused", COUNT * WIDTH)  # of a range that so many tiles make up


def x(*at: Poly) -> Value:
    return Leaf("x", (), at)


def greatest(over: tuple[Var, ...], at: Poly) -> str:
    return key(real(Fold("max", over, x(at))))


def in_tiles(times: int = 1, count: Poly = COUNT, distance: Poly = WIDTH) -> str:
    """The greatest of so many tiles, each of so many times its elements, at a distance."""
    c = Var("c", count)
    v = Var("v", poly(Clip(STEPS - WIDTH * c, WIDTH)) * times)
    return greatest((c, v), distance * c + v)


WHOLE = greatest((Var("s", STEPS),), poly(Var("s", STEPS)))


def test_tiles_make_up_a_range() -> None:
    assert in_tiles() == WHOLE


def test_tiles_of_twice_the_positions_do_not() -> None:
    assert in_tiles(times=2) != WHOLE


def test_a_tile_less_or_another_distance_does_not() -> None:
    assert in_tiles(count=COUNT - 1) != WHOLE
    assert in_tiles(distance=WIDTH + 1) != WHOLE


def shifted(at: Poly, size: Poly, back: int = 1) -> Value:
    """``y[c] = exp(h[c - back] - h[c]) y[c - 1] + x[c]`` at a step."""
    step = Var("step", size)
    h = [Leaf("h", (("c", poly(step) - k),), ()) for k in (back, 0)]
    gain = Choice(Less(poly(0), poly(step)), Call("exp", (Call("sub", tuple(h)),)), Number(poly(1)))
    return Recursion(False, step, gain, x(poly(step)), at, size)


def test_a_recurrence_that_is_shifted_step_by_step_is_a_sum_inside_the_box_only() -> None:
    last = COUNT - 1
    assert isinstance(telescoped(shifted(last, COUNT)), Fold)
    assert isinstance(telescoped(shifted(COUNT, COUNT)), Recursion)
    assert isinstance(telescoped(shifted(last, COUNT, back=2)), Recursion)

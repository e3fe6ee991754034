"""The order of a schedule is proved from what is written down alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ostinato.certificate.document import from_data
from ostinato.certificate.order import Loop, Misordered, Read, Step, check_order
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.index import Dim, expr
from tests.certificate.programs import certificate

T, B = Dim("t"), Dim("b")
OVER_T = Loop(T, expr(0), expr(T.extent), False, False)
OVER_B = Loop(B, expr(0), expr(B.extent), False, True)


def step(name: str, at: int, *reads: Read, loop: Loop = OVER_T) -> Step:
    """A statement over one loop at a place inside it."""
    return Step(name, (loop.dim,), (), (loop,), (0, loop.dim, at), 1, (), (), reads)


def reads(of: str, steps: int) -> Read:
    return Read(of, (expr(T) + steps,), (), ALWAYS, ())


def refusal(*steps: Step) -> str:
    with pytest.raises(Misordered) as caught:
        check_order(steps)
    return str(caught.value)


def test_values_of_earlier_steps_and_places_may_be_read() -> None:
    first, second = step("h", 0, reads("h", -1)), step("y", 1, reads("h", 0), reads("y", -2))
    assert check_order((first, second)) == "3 reads of 2 statements after what they read"


def test_a_value_of_the_same_step_must_stand_before() -> None:
    steps = step("y", 0, reads("h", 0)), step("h", 1)
    assert refusal(*steps) == "`y` reads `h` before it is computed"


def test_a_value_of_a_later_step_is_refused_and_read_backwards_it_is_not() -> None:
    assert refusal(step("h", 0, reads("h", 1))) == "`h` reads `h` before it is computed"
    back = replace(OVER_T, reverse=True)
    assert check_order((step("h", 0, reads("h", 1), loop=back),))


def test_a_read_across_a_parallel_loop_is_refused() -> None:
    one = Step("x", (B,), (), (OVER_B,), (0, B, 0), 1, (), (), ())
    other = Step(
        "y", (B,), (), (OVER_B,), (0, B, 1), 1, (), (), (Read("x", (expr(0),), (), ALWAYS, ()),)
    )
    assert refusal(one, other) == "`y` reads `x` across the parallel loop `b`"
    mine = replace(other, reads=(Read("x", (expr(B),), (), ALWAYS, ()),))
    assert check_order((one, mine))


def test_a_fold_must_be_complete() -> None:
    total = Step("total", (T,), (T,), (OVER_T,), (0, T, 0), 1, (), (), ())
    inside = Step(
        "y", (T,), (), (OVER_T,), (0, T, 1), 1, (), (), (Read("total", (), (), ALWAYS, ()),)
    )
    assert refusal(total, inside) == "`y` reads `total` before it is computed"
    assert check_order((total, replace(inside, time=(1, T, 0))))


def test_a_fold_along_a_parallel_loop_is_refused() -> None:
    total = Step("total", (B,), (B,), (OVER_B,), (0, B, 0), 1, (), (), ())
    assert refusal(total) == "`total` is folded along the parallel loop `b`"


def reverse_loops(s: Step) -> Step:
    return replace(s, loops=tuple(replace(loop, reverse=not loop.reverse) for loop in s.loops))


def parallel_loops(s: Step) -> Step:
    return replace(s, loops=tuple(replace(loop, parallel=True) for loop in s.loops))


ALTERATIONS: dict[str, Callable[[Step], Step]] = {
    "loops turned round": reverse_loops,
    "every loop parallel": parallel_loops,
    "a loop less": lambda s: replace(s, loops=s.loops[1:]),
    "a time without loops": lambda s: replace(s, time=(0,)),
    "another fold": lambda s: replace(s, folded=(T,)),
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_altered_order_of_a_compiled_program_is_refused(name: str) -> None:
    steps = from_data(certificate()).schedule.order.steps
    assert check_order(steps)
    altered = [ALTERATIONS[name](s) if len(s.loops) > 1 else s for s in steps]
    assert refusal(*altered)

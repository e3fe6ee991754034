"""Barriers, slots and arenas are proved from what is written down alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import ostinato as ot
from ostinato.certificate.arena_proof import check_places
from ostinato.certificate.document import read
from ostinato.certificate.order import Fill, Layout, Loop, Memory, Moment, Read, Slot, Step, Tensor
from ostinato.certificate.slots import Misplaced, check_storage, storage_of
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.index import Dim, Expr, ExprLike, expr

T, B = Dim("t"), Dim("b")
LOOPS = {
    T: Loop(T, expr(0), expr(T.extent), False, False),
    B: Loop(B, expr(0), expr(B.extent), False, True),
}


def step(name: str, time: Sequence[Moment], call: int, *reads: Read) -> Step:
    """A statement of scalars, over the loops in its time."""
    dims = tuple(t for t in time if isinstance(t, Dim))
    return Step(name, dims, (), tuple(LOOPS[d] for d in dims), tuple(time), call, (), (), reads)


def reads(of: str, *at: ExprLike) -> Read:
    return Read(of, tuple(map(expr, at)), (), ALWAYS, ())


def slot(dim: Dim, count: int = 0) -> Slot:
    """All points of a dimension, or so many."""
    if not count:
        return Slot(dim, "full", expr(dim.extent))
    return Slot(dim, "one" if count == 1 else "circular", expr(count))


def tensor(name: str, *slots: Slot, place: str = "global", axes: tuple[Expr, ...] = ()) -> Tensor:
    return Tensor(name, name, place, slots, axes, 4)


def memory(*tensors: Tensor, barriers: Sequence[tuple[Moment, ...]] = ()) -> Memory:
    return Memory(tuple(barriers), (), tensors, (), ())


def refusal(steps: Sequence[Step], found: Memory) -> str:
    """Why a storage is refused; "" if it is not."""
    try:
        check_storage(storage_of(steps, found))
    except Misplaced as problem:
        return str(problem)
    return ""


# x over the tiles of one kernel, y over those of the next one
X = step("x", (0, B, 0), 1)
BOTH = tensor("x", slot(B)), tensor("y", slot(B))


def test_what_another_worker_reads_waits_for_a_barrier() -> None:
    steps = X, step("y", (2, B, 0), 1, reads("x", 0))
    expected = "`y` reads `x` before it is computed, or no barrier stands between"
    assert refusal(steps, memory(*BOTH)) == expected
    assert refusal(steps, memory(*BOTH, barriers=[(3,)])) == expected
    assert refusal(steps, memory(*BOTH, barriers=[(1,)])) == ""


def test_workers_do_not_wait_for_each_other_inside_of_a_call() -> None:
    steps = X, step("y", (0, B, 2), 1, reads("x", 0))
    found = memory(*BOTH, barriers=[(0, B, 1)])
    assert refusal(steps, found) == "a barrier stands inside of a call, of which workers do parts"


def test_what_a_worker_reads_in_its_own_tiles_needs_no_barrier() -> None:
    assert refusal((X, step("y", (2, B, 0), 1, reads("x", B))), memory(*BOTH)) == ""


def test_tiles_of_loops_with_other_bounds_may_have_other_workers() -> None:
    y = step("y", (2, B, 0), 1, reads("x", B))
    shorter = replace(y, loops=(replace(LOOPS[B], hi=expr(B.extent) - 1),))
    assert "no barrier stands between" in refusal((X, shorter), memory(*BOTH))
    assert refusal((X, shorter), memory(*BOTH, barriers=[(1,)])) == ""


def test_tiles_that_are_counted_from_elsewhere_in_each_step_change_their_worker() -> None:
    def both(found: Step, first: ExprLike) -> Step:
        return replace(found, loops=(LOOPS[T], replace(LOOPS[B], lo=expr(first))))

    x, y = step("x", (0, T, 0, B, 0), 3), step("y", (0, T, 2, B, 0), 3, reads("x", expr(T) - 1, B))
    found = memory(tensor("x", slot(T), slot(B)), tensor("y", slot(T), slot(B)))
    assert refusal((both(x, 0), both(y, 0)), found) == ""
    assert "no barrier stands between" in refusal((both(x, T), both(y, T)), found)


def test_steps_that_workers_share_out_are_not_all_of_the_worker_of_their_tile() -> None:
    def both(found: Step) -> Step:
        return replace(found, loops=(LOOPS[B], replace(LOOPS[T], parallel=True)))

    x, there = both(step("x", (0, B, T, 0), 1)), reads("x", B, T)
    found = memory(tensor("x", slot(B), slot(T)), tensor("y", slot(B), slot(T)))
    assert refusal((x, both(step("y", (2, B, T, 0), 1, there))), found) == ""
    assert refusal((x, both(step("y", (2, B, T, 0), 1, reads("x", B, 0)))), found) != ""
    alone = step("y", (2, B, 0, T, 0), 1, there)
    assert "no barrier stands between" in refusal((x, alone), found)
    assert refusal((x, alone), replace(found, barriers=((1,),))) == ""


# in every step the first worker computes s, then all workers compute u
S, U = step("s", (0, T, 0, 0), 3), step("u", (0, T, 2, B, 0), 3, reads("s", T))
ONE_S = tensor("s", slot(T, 1)), tensor("u", slot(T), slot(B))


@pytest.mark.parametrize(
    ("barriers", "words"),
    [
        ([(0, T, 1), (0, T, 3)], ""),
        ([(0, T, 1)], "another value may have taken its slot"),
        ([(0, T, 3)], "no barrier stands between"),
        ([], "no barrier stands between"),
    ],
)
def test_a_slot_is_written_again_when_all_workers_have_read_it(
    barriers: list[tuple[Moment, ...]], words: str
) -> None:
    found = refusal((S, U), memory(*ONE_S, barriers=barriers))
    assert words in found and bool(words) == bool(found)


def test_a_value_for_each_step_needs_no_second_barrier() -> None:
    every = tensor("s", slot(T)), ONE_S[1]
    assert refusal((S, U), memory(*every, barriers=[(0, T, 1)])) == ""


H = step("h", (0, T, 0), 1)
LAST = step("last", (0, T, 1), 1, reads("h", expr(T) - 2))


@pytest.mark.parametrize(("count", "holds"), [(1, False), (2, False), (3, True), (4, True)])
def test_a_value_two_steps_back_needs_three_slots(count: int, holds: bool) -> None:
    found = memory(tensor("h", slot(T, count)), tensor("last", slot(T)))
    assert (refusal((H, LAST), found) == "") is holds


@pytest.mark.parametrize(("count", "holds"), [(2, False), (3, True)])
def test_a_window_of_three_needs_three_slots(count: int, holds: bool) -> None:
    k = Dim("k")
    read = Read("h", (expr(T) - k,), (), ALWAYS, ((k, expr(3)),))
    found = memory(tensor("h", slot(T, count)), tensor("last", slot(T)))
    assert (refusal((H, replace(LAST, reads=(read,))), found) == "") is holds


def test_tiles_that_run_in_any_order_share_no_slot() -> None:
    y = step("y", (0, B, 1), 1, reads("x", B))
    assert "its slot" in refusal((X, y), memory(tensor("x", slot(B, 1)), BOTH[1]))
    assert refusal((X, y), memory(tensor("x", slot(B, 1), place="local"), BOTH[1])) == ""


def test_what_a_worker_keeps_ends_with_the_call() -> None:
    found = memory(tensor("x", slot(B, 1), place="local"), BOTH[1], barriers=[(1,)])
    steps = X, step("y", (2, B, 0), 1, reads("x", B))
    assert refusal(steps, found) == (
        "`y` reads `x` in the memory of another worker, or of another call"
    )


def test_a_variable_is_read_where_it_is_computed() -> None:
    found = memory(tensor("x", slot(B, 1), place="register"), BOTH[1])
    here, later = (step("y", (0, B, 0, k), 1, reads("x", B)) for k in (1, 2))
    inside = replace(X, time=(0, B, 0, 0))
    assert refusal((inside, here), found) == ""
    moved = replace(later, time=(0, B, 1, 0))
    assert refusal((inside, moved), found) == "`y` reads `x` outside of the loops that compute it"


def test_a_value_is_replaced_in_place_element_by_element_only() -> None:
    k = Dim("k")
    back = Read("h", (expr(T) - 1,), (expr(k),), ALWAYS, ())
    mine = Step("h", (T,), (), (LOOPS[T],), (0, T, 0, 0), 1, (k,), (k,), (back,))
    found = memory(tensor("h", slot(T, 1), axes=(expr(8),)))
    assert refusal((mine,), found) == ""
    turned = replace(back, axes=(7 - expr(k),))
    assert "its slot" in refusal((replace(mine, reads=(turned,)),), found)


def test_a_worker_reads_its_own_part_of_an_array_without_a_barrier() -> None:
    k, r, size = Dim("k"), Dim("r"), expr(16)
    mine = Step("x", (T,), (), (LOOPS[T],), (0, T, 0, 0), 1, (k,), (k,), (), cut=size)

    def reader(axis: ExprLike, cut: int = 16) -> str:
        read = Read("x", (expr(T),), (expr(axis),), ALWAYS, ((r, expr(2)),))
        of = Step("y", (T,), (), (LOOPS[T],), (0, T, 1, 0), 1, (k,), (k,), (read,), cut=expr(cut))
        found = memory(*(tensor(n, slot(T), axes=(expr(e),)) for n, e in (("x", 16), ("y", cut))))
        return refusal((mine, of), found)

    assert reader(k) == reader(expr(k) * 2 + r, 8) == ""
    assert "no barrier" in reader(15 - expr(k))
    assert "no barrier" in reader(expr(k) + r, 8)
    assert "no barrier" in reader(k, 20)


def test_what_is_cut_is_not_ready_for_one_worker() -> None:
    k = Dim("k")
    cut = Step("x", (T,), (), (LOOPS[T],), (0, T, 0, 0), 3, (k,), (k,), (), cut=expr(8))
    read = Read("x", (expr(T),), (expr(k),), ALWAYS, ())
    alone = Step("y", (T,), (), (LOOPS[T],), (0, T, 2, 0), 3, (k,), (k,), (read,))
    arrays = [tensor(n, slot(T), axes=(expr(8),)) for n in "xy"]
    assert "no barrier" in refusal((cut, alone), memory(*arrays))
    assert refusal((cut, alone), memory(*arrays, barriers=((0, T, 1),))) == ""


TOTAL = replace(step("total", (1, T, 0), 0), folded=(T,))


def test_an_accumulator_is_set_once_before_anything_is_added() -> None:
    def fill(*time: Moment) -> Memory:
        loops = tuple(LOOPS[d] for d in time if isinstance(d, Dim))
        return replace(memory(tensor("total")), fills=(Fill("total", loops, time, 0),))

    assert refusal((TOTAL,), fill(0)) == ""
    assert "before it is set" in refusal((TOTAL,), fill(2))
    assert "once for each of its points" in refusal((TOTAL,), fill(1, T, 0))


def test_every_point_of_a_result_is_stored() -> None:
    found = replace(memory(tensor("h", slot(T, 1))), kept=("h",))
    assert refusal((H,), found) == "not every point of `h` is stored"


def test_room_for_fewer_points_is_refused() -> None:
    few = tensor("h", Slot(T, "full", expr(T.extent) - 1))
    assert refusal((H,), memory(few)) == "`h` has T-1 slots along `t`: too few"


def chain(*around: Moment) -> tuple[Step, ...]:
    """Tensors x, y and z in turns, in one iteration of t or in none."""
    at = [d for d in around if isinstance(d, Dim)]
    count = len(around) + 1
    x = step("x", (*around, 0, B, 0), count)
    y = step("y", (*around, 2, B, 0), count, reads("x", *at, B))
    return x, y, step("z", (*around, 4, B, 0), count, reads("y", *at, B))


def shared(steps: Sequence[Step], found: Memory, **offsets: int) -> str:
    """Why an arena of 64 bytes at B = T = 2 is refused."""
    layout = Layout({"B": 2, "T": 2}, offsets, 0, 64)
    try:
        check_places(storage_of(steps, found), found, layout, 2)
    except Misplaced as problem:
        return str(problem)
    return ""


def test_tensors_share_bytes_in_turns_with_a_barrier_between() -> None:
    tensors = [tensor(name, slot(B)) for name in "xyz"]
    waiting = memory(*tensors, barriers=[(1,), (3,)])
    assert shared(chain(), waiting, x=0, y=8, z=0) == ""
    assert "`x` and `y` share bytes" in shared(chain(), waiting, x=0, y=4, z=16)
    assert "`x` and `z` share bytes" in shared(chain(), memory(*tensors), x=0, y=8, z=0)


def test_a_result_shares_its_bytes_with_earlier_values_only() -> None:
    tensors = [tensor(name, slot(B)) for name in "xyz"]
    waiting = memory(*tensors, barriers=[(1,), (3,)])
    assert shared(chain(), replace(waiting, kept=("z",)), x=0, y=8, z=0) == ""
    assert shared(chain(), replace(waiting, kept=("x",)), x=0, y=8, z=0) != ""
    assert shared(chain(), replace(waiting, given=("x",)), x=0, y=8, z=0) != ""


def test_tensors_share_bytes_in_every_iteration_if_they_keep_nothing() -> None:
    tensors = [tensor(name, slot(T), slot(B)) for name in "xyz"]
    barriers: list[tuple[Moment, ...]] = [(0, T, 1), (0, T, 3), (0, T, 5)]
    steps = x, y, z = chain(0, T)
    assert shared(steps, memory(*tensors, barriers=barriers), x=0, y=16, z=0) == ""
    assert shared(steps, memory(*tensors, barriers=barriers[:1]), x=0, y=16, z=0) != ""
    carried = x, y, replace(z, reads=(reads("y", T, B), reads("z", expr(T) - 1, B)))
    assert shared(carried, memory(*tensors, barriers=barriers), x=0, y=16, z=0) != ""


def test_a_slot_that_other_tiles_still_read_is_refused(tmp_path: Path) -> None:
    """One slot was kept for `bent`: right for tiles in their order, wrong in every other one."""
    b, s = ot.dims("b s")
    x, y = ot.input("x", over=(b, s)), ot.recurrent("y", over=(b, s))
    bent = ot.tanh(y).named("bent")
    y[b == 0] = x
    y[True] = ot.where(s < s.size - 1, bent[b - 1, ot.minimum(s + 1, s.size - 1)], 0.0) + x
    ot.Program(y=y).compile(widths={"s": 2}, threads=2, certificate=tmp_path / "c.json")
    made = read(tmp_path / "c.json").schedule.order
    (two,) = [t for t in made.memory.tensors if t.name == "bent"]
    slots = tuple(Slot(x.dim, "one", expr(1)) if x.dim.name == "b" else x for x in two.slots)
    tensors = [replace(two, slots=slots) if t is two else t for t in made.memory.tensors]
    assert refusal(made.steps, made.memory) == "" and slots != two.slots
    found = refusal(made.steps, replace(made.memory, tensors=tuple(tensors)))
    assert found.endswith("`bent` after another value may have taken its slot")

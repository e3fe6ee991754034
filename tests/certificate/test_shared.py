"""Tensors in one place are proved from what is written down alone."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ostinato.certificate.arena_proof import check_shared
from ostinato.certificate.order import Loop, Memory, Moment, Read, Slot, Step, Tensor
from ostinato.certificate.slots import Misplaced, storage_of
from ostinato.pdg.condition import ALWAYS, Cond, at_least, equal
from ostinato.pdg.index import Dim, ExprLike, expr

N, M, B = Dim("n"), Dim("m"), Dim("b")
LOOPS = {
    N: Loop(N, expr(0), expr(N.extent), False, False),
    M: Loop(M, expr(0), expr(M.extent), False, False),
    B: Loop(B, expr(0), expr(B.extent), False, True),
}
LAST = expr(M.extent) - 1


def reads(of: str, *at: ExprLike, when: Cond = ALWAYS) -> Read:
    return Read(of, tuple(map(expr, at)), (), when, ())


def step(
    name: str, time: Sequence[Moment], call: int, *found: Read, moves: Sequence[Read] = ()
) -> Step:
    dims = tuple(t for t in time if isinstance(t, Dim))
    loops, every = tuple(LOOPS[d] for d in dims), (*found, *moves)
    return Step(name, dims, (), loops, tuple(time), call, (), (), every, tuple(moves))


def refusal(
    steps: Sequence[Step],
    owner: str,
    barriers: Sequence[tuple[Moment, ...]] = (),
    place: str = "global",
) -> str:
    """Why the place of a tensor is refused to the others; "" if it is not."""
    tensors = [replace(tensor(s, owner), place=place) for s in steps]
    memory = Memory(tuple(barriers), (), tuple(tensors), (), ())
    try:
        check_shared(storage_of(steps, memory), ())
    except Misplaced as problem:
        return str(problem)
    return ""


def tensor(s: Step, owner: str) -> Tensor:
    slots = tuple(Slot(d, "one", expr(1)) for d in s.kept)
    alone = s.name == owner or s.name.startswith("other")
    return Tensor(s.name, s.name, "global", slots, (), 4, "" if alone else owner)


# a parameter over iterations and minibatches: start, theta and its update, by the first worker
FROM_LAST = reads("new", expr(N) - 1, LAST, when=at_least(N, 1))
START = step("start", (0, N, 0), 3, moves=[FROM_LAST])
THETA = step(
    "theta", (0, N, 1, M, 0), 5,
    moves=[reads("start", N, when=equal(M, 0)), reads("new", N, expr(M) - 1, when=at_least(M, 1))],
)  # fmt: skip
NEW = step("new", (0, N, 1, M, 2), 5, reads("theta", N, M))
LEARNER = (START, THETA, NEW)


def test_a_parameter_is_updated_where_it_lies() -> None:
    assert refusal(LEARNER, "theta") == ""


def test_a_value_that_is_read_after_the_update_is_lost() -> None:
    late = step("other", (0, N, 1, M, 3), 5, reads("theta", N, M))
    assert refusal((*LEARNER, late), "theta") == (
        "`other` reads `theta` after `new` may have taken its place"
    )
    early = replace(late, time=(0, N, 1, M, 1))
    assert refusal((*LEARNER, early), "theta") == ""


def test_what_an_iteration_began_with_is_lost_at_its_end() -> None:
    end = step("other", (0, N, 2), 3, reads("start", N))
    assert "`start` after `new`" in refusal((*LEARNER, end), "theta")


def test_a_copy_that_is_made_may_come_too_early() -> None:
    made = replace(THETA, moves=(), time=(0, N, 1, M, 1))
    other = step("other", (0, N, 1, M, 3), 5, reads("new", N, M))
    assert refusal((START, made, replace(NEW, time=(0, N, 1, M, 0), reads=()), other), "theta")


@pytest.mark.parametrize("barriers", [[], [(0, N, 1, M, 3)], [(0, N, 1, M, 1)]])
def test_an_update_waits_until_every_worker_has_read(
    barriers: Sequence[tuple[Moment, ...]],
) -> None:
    tiles = step("other", (0, N, 1, M, 2, B, 0), 5, reads("theta", N, M))
    last = replace(NEW, time=(0, N, 1, M, 4))
    found = refusal((START, THETA, tiles, last), "theta", [*barriers, (0, N, 1, M, 5)])
    assert (found == "") is (barriers == [(0, N, 1, M, 3)])


# a table of every row of a batch over time: each worker keeps those of its rows for itself
TABLE = step(
    "table", (0, B, 0, N, 0), 1, moves=[reads("after", B, expr(N) - 1, when=at_least(N, 1))]
)
AFTER = step("after", (0, B, 0, N, 2), 1, reads("table", B, N))


def test_what_a_worker_keeps_for_itself_is_updated_where_it_lies() -> None:
    early = step("other", (0, B, 0, N, 1), 1, reads("table", B, N))
    assert refusal((TABLE, early, AFTER), "table", place="local") == ""
    late = replace(early, time=(0, B, 0, N, 3))
    assert refusal((TABLE, late, AFTER), "table", place="local") == (
        "`other` reads `table` after `after` may have taken its place"
    )


def test_what_no_clause_covers_is_not_written() -> None:
    late = step("other", (0, B, 0, N, 3), 1, reads("table", B, N))
    some = replace(AFTER, covered=at_least(N, 1))
    assert "may have taken its place" in refusal((TABLE, late, some), "table", place="local")
    first = replace(late, reads=(reads("table", B, N, when=equal(N, 0)),))
    assert refusal((TABLE, first, some), "table", place="local") == ""
    assert "may have taken its place" in refusal((TABLE, first, AFTER), "table", place="local")


def test_rows_of_one_worker_have_one_place_for_itself_and_not_for_all() -> None:
    assert "may have taken its place" in refusal((TABLE, AFTER), "table")


@pytest.mark.parametrize("call", [2, 5])
def test_workers_share_nothing_that_is_of_another_call_or_of_other_rows(call: int) -> None:
    elsewhere = replace(AFTER, call=call)
    if call == 5:
        elsewhere = step("after", (1, B, 0, N, 2), 1, reads("table", B, N))
    assert "does not lie like" in refusal((TABLE, elsewhere), "table", place="local")


@pytest.mark.parametrize(
    ("move", "words"),
    [
        (reads("theta", N, M, when=equal(M, 0)), "it does not read it"),
        (reads("other", N, M), "which lies in another place"),
    ],
)
def test_a_copy_is_of_what_lies_there(move: Read, words: str) -> None:
    other = step("other", (0, N, 1, M, 1), 5)
    found = replace(THETA, moves=(move,))
    if move.of == "other":
        found = replace(found, reads=(*THETA.reads, move))
    assert words in refusal((START, found, NEW, other), "theta")


def test_only_alike_tensors_have_one_place() -> None:
    storage = storage_of(
        LEARNER, Memory((), (), tuple(tensor(s, "theta") for s in LEARNER), (), ())
    )
    wide = replace(storage.tensors["new"], item=8)
    tensors = {**storage.tensors, "new": wide}
    with pytest.raises(Misplaced, match="`new` does not lie like `theta`"):
        check_shared(replace(storage, tensors=tensors), ())
    with pytest.raises(Misplaced, match="no place of its own"):
        check_shared(storage, ("new",))

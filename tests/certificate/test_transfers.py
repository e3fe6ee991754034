"""Transfers of histories: the planner's are proved, and every other one is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.certificate.slots import Misplaced
from ostinato.certificate.touched_blocks import Row, Touch
from ostinato.certificate.transfer_proof import check_parts
from ostinato.codegen.ir.tree import Span
from ostinato.codegen.planning import block_moves
from ostinato.codegen.planning.block_moves import Pass, least_room, transferred
from ostinato.codegen.planning.visits import Visit
from ostinato.pdg.index import Dim, expr
from ostinato.runtime.machine_code.arena_layout import Part, Room, Transfer

T = Dim("t")


def visit(place: int, reverse: bool, back: int, ahead: int, writes: bool) -> Visit:
    fills = writes and place == 0 and not (back if reverse else ahead)
    return Visit(place, Span(T, expr(0), expr(T.extent)), reverse, back, ahead, writes, fills)


def check_passage(
    tensor: str, touches: Sequence[Touch], transfers: Sequence[Transfer], room: int, is_kept: bool
) -> None:
    """Prove the transfers of one history, of which each point is one of its own."""
    points, count = tuple((0, k) for k in range(len(touches))), len(touches)
    before = tuple(t for t in transfers if t.issued < count)
    last = (
        t._replace(issued=t.issued - count, due=t.due - count) for t in transfers[len(before) :]
    )
    row = tuple((0, k, touch) for k, touch in enumerate(touches))
    check_parts(
        tensor,
        iter([row] if row else ()),
        (Part(1, points, before), Part(1, (), (*last,))),
        room,
        is_kept,
    )


@st.composite
def planned(draw: Any) -> tuple[list[Touch], tuple[Transfer, ...], int, bool]:
    """What a kernel touches, worked out step by step, and the planner's transfers for it."""
    looks, flag = st.integers(0, 2), st.booleans()
    visits = [
        visit(k, draw(flag), draw(looks), draw(looks), draw(flag) or not k)
        for k in range(draw(st.integers(1, 3)))
    ]
    steps, count = draw(st.integers(1, 40)), draw(st.integers(2, 9))
    blocks = min(-(-steps // count), least_room(visits) + draw(st.integers(0, 3)))
    is_kept, spans = draw(flag), list[range]()
    for v in visits:
        spans.append(range(steps - 1, -1, -1) if v.reverse else range(steps))
    passes = [Pass(k, span) for k, span in enumerate(spans)]
    parts = transferred(visits, passes, Room(steps, 4, count, blocks), is_kept)
    touches = list[Touch]()
    for k, block in parts[0].points:
        v, at = visits[k], [t for t in range(steps) if t // count == block]
        near = {s for t in at for s in range(t - v.back, t + v.ahead + 1) if 0 <= s < steps}
        touches.append(Touch(frozenset(s // count for s in near), v.writes, v.fills))
    return touches, tuple(flat(parts)), blocks, is_kept


@st.composite
def planned_rounds(draw: Any) -> tuple[list[Touch], tuple[Transfer, ...], int, bool]:
    """What a kernel touches that goes through a history at every step, and the transfers for it."""
    steps, count, rounds = (draw(st.integers(*of)) for of in ((1, 20), (1, 6), (1, 2)))
    first = replace(visit(0, draw(st.booleans()), 0, 0, True), near=draw(st.booleans()))
    span = range(steps - 1, -1, -1) if first.reverse else range(steps)
    goes = [[draw(st.tuples(*[st.integers(0, steps)] * 2)) for _ in span] for _ in range(rounds)]
    ends = [tuple((min(of), max(of)) for of in each) for each in goes]
    visits = [replace(first, fills=False)]
    visits += [replace(first, writes=False, fills=False, leaf=k) for k in range(rounds)]
    blocks = min(-(-steps // count), least_room(visits) + draw(st.integers(0, 3)))
    is_kept, room = draw(st.booleans()), Room(steps, 4, count, blocks)
    parts = transferred(visits, [Pass(0, span, tuple(ends))], room, is_kept)
    found = list[tuple[int, int, Touch]]()
    for at, t in enumerate(span):
        near = {t // count} if first.near else set[int]()
        if first.near and (not at or span[at - 1] // count != t // count):
            found.append((0, t // count, Touch(frozenset(near), True, False)))
        for k in range(rounds):
            for block in dict.fromkeys(s // count for s in range(*ends[k][at])):
                found.append((1 + k, block, Touch(frozenset((*near, block)), False, False)))
    assert [(k, block) for k, block, _ in found] == [*parts[0].points]
    return [touch for _, _, touch in found], tuple(flat(parts)), blocks, is_kept


@given(planned() | planned_rounds())
def test_the_planner_is_proved(of: tuple[Any, Any, int, bool]) -> None:
    check_passage("h", *of)


def test_what_every_step_goes_through_stays_but_for_a_few_blocks() -> None:
    loop = replace(visit(0, False, 0, 0, True), fills=True)
    visits, span = [loop, replace(loop, writes=False, fills=False, leaf=0)], range(64)
    room, ends = Room(64, 4, 4, 8), tuple((0, t + 1) for t in span)
    parts = transferred(visits, [Pass(0, span, (ends,))], room, False)
    back = sum(t.way == "back" for t in flat(parts))
    missed = sum(max(0, -(-end // 4) - (room.blocks - 2)) for _, end in ends)
    assert 0 < back <= missed < sum(-(-end // 4) for _, end in ends)


@given(planned() | planned_rounds(), st.data())
def test_a_transfer_less_moved_or_otherwise_is_refused(of: Any, data: Any) -> None:
    touches, transfers, room, is_kept = of
    if not transfers:
        return
    k = data.draw(st.integers(0, len(transfers) - 1))
    t, end = transfers[k], len(touches)
    others = [
        (),
        (t, t),
        (t._replace(block=end + 50),),
        (t._replace(issued=t.due + 1),),
        (t._replace(issued=end + 1, due=end + 1),),
    ]
    other = data.draw(st.sampled_from(others))
    with pytest.raises(Misplaced, match="`h`: "):
        check_passage("h", touches, [*transfers[:k], *other, *transfers[k + 1 :]], room, is_kept)


@given(planned())
def test_room_for_fewer_blocks_than_move_is_refused(of: Any) -> None:
    touches, transfers, _, is_kept = of
    with pytest.raises(Misplaced, match="there is no room for block"):
        most = max(len(t.blocks) for t in touches)
        check_passage("h", touches, transfers, most - 1, is_kept)


def test_a_block_that_leaves_before_its_last_use_is_refused() -> None:
    both = Touch(frozenset({0}), True, True)
    early = [Transfer("drop", 0, 1, 1)]
    with pytest.raises(Misplaced, match="block 0 is touched and is not in memory"):
        check_passage("h", [both, both], early, 1, False)


def test_what_was_written_and_is_read_again_is_not_dropped() -> None:
    write, other = Touch(frozenset({0}), True, True), Touch(frozenset({1}), True, True)
    read = Touch(frozenset({0}), False, False)
    moves = [
        *(Transfer("drop", 0, 1, 1), Transfer("drop", 1, 2, 2), Transfer("back", 0, 2, 2)),
        Transfer("drop", 0, 3, 3),
    ]
    with pytest.raises(Misplaced, match="block 0 was dropped and is read"):
        check_passage("h", [write, other, read], moves, 1, False)
    moves[0] = Transfer("out", 0, 1, 1)
    check_passage("h", [write, other, read], moves, 1, False)


@st.composite
def in_parts(draw: Any) -> tuple[list[Row], tuple[Part, ...], int, bool]:
    """Turns that go through a history, or rounds at every step, and a plan in parts."""
    steps, count = draw(st.integers(8, 40)), draw(st.integers(2, 5))
    loop = draw(st.booleans())
    visits = [replace(visit(0, draw(st.booleans()), 0, 0, True), near=loop or draw(st.booleans()))]
    span = range(steps - 1, -1, -1) if visits[0].reverse else range(steps)
    if loop:
        passes = [Pass(0, span)] * draw(st.integers(3, 9))
    else:
        visits.append(replace(visits[0], writes=False, fills=False, leaf=1))
        grows = draw(st.booleans())
        passes = [Pass(0, span, (tuple((0, t + 1 if grows else steps) for t in span),))]
    blocks = min(-(-steps // count), least_room(visits) + draw(st.integers(0, 3)))
    is_kept, room = draw(st.booleans()), Room(steps, 4, count, blocks)
    rows = (*block_moves.rows_of(visits, passes, room),)
    made = block_moves.repeated(visits, rows, room, is_kept)
    assert made is not None
    known: dict[object, Row] = {}
    touched = [
        known.setdefault(
            row,
            tuple(
                (k, b, Touch(frozenset(near), visits[k].writes, visits[k].fills))
                for k, b, near in row
            ),
        )
        for row in rows
    ]
    return touched, made, blocks, is_kept


def flat(parts: Sequence[Part]) -> list[Transfer]:
    """The transfers of all times of all parts."""
    found, first = list[Transfer](), 0
    for part in parts:
        for _ in range(part.times):
            found += [
                t._replace(issued=first + t.issued, due=first + t.due) for t in part.transfers
            ]
            first += len(part.points)
    return found


@given(in_parts())
def test_a_plan_in_parts_is_proved_as_such_and_written_out(
    of: tuple[list[Row], tuple[Part, ...], int, bool],
) -> None:
    rows, parts, room, is_kept = of
    check_parts("h", iter(rows), parts, room, is_kept)
    check_passage("h", [t for row in rows for _, _, t in row], flat(parts), room, is_kept)


@given(in_parts(), st.data())
def test_a_part_that_comes_once_more_or_moves_otherwise_is_refused(of: Any, data: Any) -> None:
    rows, parts, room, is_kept = of
    k = data.draw(st.integers(0, len(parts) - 1))
    part = parts[k]
    others = [part._replace(times=part.times + 1)] if part.points else []
    others += [part._replace(points=part.points[:-1])] if part.points else []
    if part.transfers:
        at = data.draw(st.integers(0, len(part.transfers) - 1))
        less = part.transfers[:at] + part.transfers[at + 1 :]
        early = part.transfers[at]._replace(issued=-2)
        others += [
            part._replace(transfers=less),
            part._replace(transfers=(early, *less)),
        ]
    for other in others:
        with pytest.raises(Misplaced, match="`h`: "):
            check_parts("h", iter(rows), (*parts[:k], other, *parts[k + 1 :]), room, is_kept)

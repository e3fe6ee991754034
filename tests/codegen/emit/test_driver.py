"""The driver: workers, barriers, progress, stopping."""

from __future__ import annotations

from pathlib import Path as Directory

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.emit.generated_module import emit
from ostinato.codegen.ir.system import Call as Apply
from ostinato.codegen.ir.system import Load, Position, Statement, Value
from ostinato.codegen.ir.tree import Barrier, Call, DriverLoop, Fill, Kernel, Nest, Span
from ostinato.codegen.memory.storage import Slot
from ostinato.codegen.planning.plan import Plan
from ostinato.pdg.condition import ALWAYS, Cond, at_least, equal
from ostinato.pdg.errors import NonFiniteError
from ostinato.pdg.index import Dim, expr
from ostinato.runtime.run.execution import Bound
from ostinato.runtime.run.executor import Executable
from ostinato.runtime.run.stream import Stream
from tests.codegen.emit.plans import given, kept, load, loop, mapped, serial, whole
from tests.codegen.emit.run import build
from tests.returned import all_returned

I, B = Dim("i"), Dim("b")  # noqa: E741


def training(is_finite: bool = True) -> Plan:
    """``w[0] = w0; w[i] = w[i-1] + mean over b of (x[b] + i)``; tiles of b run on the workers."""
    x, w0 = given("x", (B,), ()), given("w0", (), ())
    position = Apply("cast", (Position(expr(I)),), "float32")
    grown = mapped("g", (I, B), (), Apply("add", (load(x, (B,)), position), "float32"))
    clauses = ((ALWAYS, load(grown, (I, B))),)
    s = Statement("s", "fold", (I, B), (), clauses, "float32", reduced=frozenset((B,)), fold="sum")
    before = Load("w", (expr(I) - 1,), (), "float32")
    first, later = equal(I, 0), at_least(I, 1)
    step: Value = Apply("add", (before, load(s, (I,))), "float32")
    if not is_finite:
        step = Apply("log", (Apply("sub", (before, load(s, (I,))), "float32"),), "float32")
    w = Statement("w", "map", (I,), (), ((first, load(w0, ())), (later, step)), "float32")
    return assembled([x, w0, grown, s, w], (first, later))


def assembled(statements: list[Statement], conds: tuple[Cond, Cond]) -> Plan:
    x, w0, grown, s, w = statements
    one = Slot(I, "one", expr(1))
    places = [kept(x), kept(w0), kept(grown, i=one), kept(s, i=one), kept(w)]
    tiles = Kernel("tiles", (Nest(("g",), ()),), (I, B), Span(B, expr(0), expr(B.extent)))
    update = [Nest(("s",), (), memory=frozenset(("s",))), Nest(("w",), (), conds)]
    kernel = Kernel("update", (Fill("s"), loop(B, update[0]), update[1]), (I,), None)
    body = (Call(0), Barrier(), Call(1), Barrier())
    driver = (DriverLoop(Span(I, expr(0), expr(I.extent)), False, True, body),)
    return whole(statements, places, ["w"], [tiles, kernel], driver)


def bound(steps: int) -> Bound:
    inputs = {"x": np.arange(6, dtype=np.float32), "w0": np.array(2.0, np.float32)}
    return Bound({"I": steps, "B": 6}, inputs)


def expected(steps: int) -> npt.NDArray[np.int64]:
    return 2 + np.cumsum([0, *(15 + 6 * i for i in range(1, steps))])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_workers_share_tiles_and_meet_at_barriers(tmp_path: Directory, threads: int) -> None:
    program = build(training(), tmp_path, threads, w=("i",))
    np.testing.assert_array_equal(program.run(bound(50))["w"], expected(50))


def test_an_arena_serves_runs_of_any_extents(tmp_path: Directory) -> None:
    program = build(training(), tmp_path, w=("i",))
    for steps in (5, 40, 3, 0):
        np.testing.assert_array_equal(program.run(bound(steps))["w"], expected(steps)[:steps])


@pytest.fixture
def program(tmp_path: Directory) -> Executable:
    return build(training(), tmp_path, w=("i",))


def test_records_come_one_per_step(program: Executable) -> None:
    records = list(Stream(program, "i", bound(20)))
    assert [r.index for r in records] == [r.i for r in records] == list(range(20))
    np.testing.assert_array_equal([r.w for r in records], expected(20))


def test_closing_a_stream_ends_the_run_early(program: Executable) -> None:
    stream = Stream(program, "i", bound(10**7))
    first = next(stream)
    stream.close()
    assert first.w == 2.0
    assert list(stream) == []
    assert all_returned()
    assert program.run(bound(3))["w"].tolist() == expected(3).tolist()


def test_a_stream_that_nobody_holds_ends(program: Executable) -> None:
    for _ in Stream(program, "i", bound(10**7)):
        break
    assert all_returned()


def test_an_interrupt_ends_the_run_and_is_passed_on(
    program: Executable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(Stream(program, "i", bound(10**7)))
    monkeypatch.undo()  # who waits for threads sleeps too
    assert all_returned()


def test_the_explanation_gives_the_memory_of_a_run(program: Executable) -> None:
    program.run(bound(9))
    memory = program.explain().memory
    assert memory.predicted_peak_bytes == program.layout({"I": 9, "B": 6}).total_bytes
    assert memory.extents == {"I": 9, "B": 6}


def test_a_record_names_what_it_has(program: Executable) -> None:
    record = next(iter(Stream(program, "i", bound(2))))
    with pytest.raises(AttributeError, match=r"no `loss`\n  It has: i, w, index\."):
        _ = record.loss


def test_a_value_that_is_not_finite_stops_the_run(tmp_path: Directory) -> None:
    program = build(training(is_finite=False), tmp_path, w=("i",))
    stream = Stream(program, "i", bound(10**7), check_finite=True)
    with pytest.raises(NonFiniteError, match="output `w` is nan at i = 1"):
        list(stream)
    with pytest.raises(NonFiniteError, match="output `w` is nan at i = 1"):
        program.run(bound(4), check_finite=True)


def test_a_dim_that_is_not_the_outermost_loop_is_read_afterwards(tmp_path: Directory) -> None:
    y = mapped("y", (I,), (), Position(2 * expr(I)))
    plan = whole([y], [kept(y)], ["y"], [serial("k", loop(I, Nest(("y",), ())))])
    program = build(plan, tmp_path, y=("i",))
    stream = Stream(program, "i", Bound({"I": 3}))
    assert "over `i` are not all computed in one outermost loop" in stream.late_note
    assert [r.y for r in stream] == [0, 2, 4]


def test_the_text_is_the_same_every_time() -> None:
    assert emit(training()) == emit(training())

"""Work that leaves a loop over steps, so that all workers share it where there are few tiles."""

from __future__ import annotations

import pytest

from ostinato.codegen.emit.driver import emit_driver
from ostinato.codegen.ir.tree import Loop, computed, leaves
from ostinato.codegen.loops.numba_source import function
from ostinato.codegen.planning.plan import Plan
from ostinato.codegen.scheduling import hoist
from ostinato.pdg.condition import ALWAYS, equal
from ostinato.pdg.index import expr
from tests.codegen.builder import Builder, Cases, call, number
from tests.codegen.compare import assert_right
from tests.codegen.on_cpu import plan

SIZES = {"B": 4, "T": 9}


@pytest.fixture(autouse=True)
def _worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hoist, "WORTH", 0.01)


def judged(wide: int = 4, hints: dict[str, int] | None = None, ends: bool = False) -> Builder:
    """States that follow each other, what judges them, and sums that run backwards."""
    p = Builder("b t", {"f": 3, "g": 3, "h": wide}, hints or {})
    b, t, f, g, h = p.d["b"], p.d["t"], p.a["f"], p.a["g"], p.a["h"]
    p.add("w", "", "f g", call("sin", number(f) + number(g)), lanes="")
    p.add("v", "", "f h", call("cos", number(f) + number(h)), lanes="")
    p.add("y", "b t", "g", 0.0)
    first, before = call("sin", number(b) + number(f)), p("y", f, t=t - expr(1))
    start: Cases = [(equal(t, 0), first), (ALWAYS, before)]
    p.add("x", "b t", "f", start)
    p.add("z", "b t", "f g", p("x") * p("w"), "matmul", "f")
    p.add("y", "b t", "g", call("tanh", p("z")))
    p.add("q", "b t", "f h", p("x") * p("v"), "matmul", "f")
    p.add("u", "b t", "h", call("tanh", p("q")), over="h")
    p.add("s", "b t", "", 0.0)
    later = p("u") + p("s", t=t + expr(1)) * 0.5
    p.add("s", "b t", "", [(equal(t, expr(t.extent) - 1), p("u")), (ALWAYS, later)])
    if ends:
        p.add("on", "b t", "", False, dtype="bool")
        far = call("gt", p("y", 0), 0.1, dtype="bool")
        on = call("and", p("on", t=t - expr(1)), far, dtype="bool")
        p.add("on", "b t", "", [(equal(t, 0), True), (ALWAYS, on)], dtype="bool")
    p.outputs = ["s", "on"] if ends else ["s"]
    return p


def shared(planned: Plan) -> set[str]:
    """What is computed in steps that workers share out."""
    trees = [tree for k in planned.kernels if k.along is not None for tree in k.body]
    return {name for leaf, _, _ in leaves(tuple(trees)) for name in computed(leaf)}


def test_what_judges_the_steps_of_few_tiles_leaves_their_loop() -> None:
    planned = assert_right(judged(hints=SIZES), SIZES, {"b": 3})
    assert "q" in shared(planned)
    assert not {"x", "y", "z", "s"} & shared(planned)


def test_the_steps_that_follow_each_other_stay_in_one_loop() -> None:
    kernels = plan(judged().system()).kernels
    inside = [k.body for k in kernels if k.parallel and k.along is None]
    loops = [t for body in inside for t in body if isinstance(t, Loop)]
    assert [loop.reverse for loop in loops] == [False, True]


def test_what_reads_another_step_of_what_leaves_gets_another_loop() -> None:
    p = judged(hints=SIZES)
    t, g, h = p.d["t"], p.a["g"], p.a["h"]
    p.add("k", "b t", "h", call("tanh", p("q")))
    before: Cases = [(equal(t, 0), 0.0), (ALWAYS, p("k", t=t - expr(1)))]
    p.add("m", "b t", "h", before)
    p.add("n", "b t", "g h", p("m") * call("cos", number(g) - number(h)), over="h")
    p.add("r", "", "g h", call("cos", number(g) - number(h)), lanes="")
    p.add("o", "b t", "h g", p("m") * p("r"), "matmul", "h")
    p.outputs += ["n", "o"]
    planned = assert_right(p, SIZES, {"b": 3})
    assert {"q", "o"} <= shared(planned)
    assert sum(k.along is not None for k in planned.kernels) == 2


def test_many_tiles_keep_what_judges_them() -> None:
    assert not shared(plan(judged(hints={"B": 4096}).system(), {"b": 32}))


def test_few_steps_are_not_shared_out() -> None:
    assert not shared(plan(judged(hints={"T": 4}).system()))


def test_little_work_stays_where_its_operands_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hoist, "WORTH", 16)
    assert not shared(plan(judged().system()))


def test_work_that_is_small_beside_the_steps_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hoist, "SHARE", 0.1)
    assert not shared(plan(judged().system()))


def test_a_loop_that_may_end_early_keeps_all_of_its_work() -> None:
    assert not shared(plan(judged(ends=True).system()))


def test_workers_without_a_tile_take_steps_of_another() -> None:
    planned = plan(judged().system(), {"b": 32})
    text = function(emit_driver(planned, frozenset()))
    assert "parts = max(1, nt // max(1, (B + 31) // 32))" in text
    assert "items = (B + 31) // 32 * parts" in text
    assert "b_o_1 = item // parts" in text
    assert "b_o_1, item % parts, parts))" in text

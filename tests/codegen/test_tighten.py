"""Slots that only a proof can save."""

from ostinato.codegen.planning.plan import Plan
from ostinato.pdg.condition import ALWAYS, equal, every
from ostinato.pdg.index import Expr, expr
from tests.codegen.builder import Builder, Cases, number
from tests.codegen.compare import assert_right

SIZES = {"I": 3, "E": 4}


def carried(p: Builder, at: Expr) -> None:
    """``x`` is the previous ``n`` across ``i`` and ``e``; ``out`` reads ``n`` at one ``e``."""
    i, e = p.d["i"], p.d["e"]
    p.add("n", "i e", "h", 0.0)
    last = p("n", i=i - expr(1), e=expr(e.extent) - 1)
    first = every(equal(i, 0), equal(e, 0))
    cases: Cases = [(first, number(p.a["h"])), (equal(e, 0), last), (ALWAYS, p("n", e=e - expr(1)))]
    p.add("x", "i e", "h", cases)
    p.add("n", "i e", "h", p("x") * 0.9 + number(e) * 0.1)
    p.add("out", "i", "h", p("n", e=at) * 2.0)
    p.outputs = ["out"]


def kinds(planned: Plan, name: str) -> list[str]:
    return [slot.kind for slot in planned.storage[name].slots]


def test_the_last_epoch_is_all_that_is_kept() -> None:
    p = Builder("i e", {"h": 6})
    carried(p, expr(p.d["e"].extent) - 1)
    assert kinds(assert_right(p, SIZES), "n") == ["one", "one"]


def test_the_first_epoch_is_read_after_the_loop_so_all_are_kept() -> None:
    p = Builder("i e", {"h": 6})
    carried(p, expr(0))
    assert kinds(assert_right(p, SIZES), "n") == ["one", "full"]


def test_an_accumulator_read_before_its_refill_needs_a_second_slot() -> None:
    p = Builder("e t", {})
    e, t = p.d["e"], p.d["t"]
    p.add("s", "e t", "", 0.0, over="t")
    before: Cases = [(equal(e, 0), number(t)), (ALWAYS, p("s", e=e - expr(1)) * 0.1 + number(t))]
    p.add("x", "e t", "", before)
    p.add("s", "e t", "", p("x"), over="t")
    p.add("out", "e", "", p("s", e=expr(e.extent) - 1))
    p.outputs = ["out"]
    planned = assert_right(p, {"E": 4, "T": 3})
    assert str(planned.storage["s"].slots[0].extent) == "2"

"""Planning makes about as many calls for each statement of a long program as for one of a short."""

import cProfile

import ostinato as ot
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import optimize_pdg, plan_of


def recurrences(count: int) -> ot.Program:
    """A chain of recurrences of which each reads the one before: no two share a loop."""
    b, t = ot.dims("b t")
    before = ot.input("x", (8,), over=(b, t))
    for k in range(count):
        h = ot.recurrent(f"h{k}", (8,), over=(b, t))
        h[b, 0], h[b, t + 1] = before[b, 0], ot.tanh(h * 0.5 + before[b, t + 1])
        before = h
    return ot.Program(y=before)


def calls(count: int) -> int:
    """The calls of functions of scheduling, memory and planning."""
    options = Options(threads=2, hints={"B": 64, "T": 100})
    none = ot.rules.without(*ot.rules.families)
    best, profile = optimize_pdg(recurrences(count).pdg, none, options), cProfile.Profile()
    profile.enable()
    plan_of(best, options)
    profile.disable()
    parts = ("codegen/scheduling", "codegen/memory", "codegen/planning")
    of = ((getattr(each.code, "co_filename", ""), each.callcount) for each in profile.getstats())
    return sum(many for file, many in of if any(part in file for part in parts))


def test_calls_grow_with_the_number_of_recurrences() -> None:
    calls(20)  # what is found once
    assert calls(160) < 2.3 * calls(80)

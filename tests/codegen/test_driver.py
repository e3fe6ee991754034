"""Kernels, barriers, published loops, lifetimes."""

from ostinato.codegen.ir.tree import Barrier, Call, DriverLoop, Step
from ostinato.codegen.planning.kernel_partition import LARGEST
from ostinato.codegen.planning.plan import Plan
from ostinato.pdg.condition import ALWAYS, equal
from ostinato.pdg.index import expr
from tests.codegen.builder import Builder, Cases, number
from tests.codegen.compare import assert_right, driver_loops
from tests.codegen.on_cpu import plan
from tests.codegen.programs import reinforce


def shape(steps: tuple[Step, ...], planned: Plan) -> str:
    """``p`` a parallel call, ``s`` serial, ``c`` in slices, ``|`` a barrier, loops in brackets."""
    out = ""
    for step in steps:
        if isinstance(step, DriverLoop):
            out += f"[{shape(step.body, planned)}]"
        elif isinstance(step, Barrier):
            out += "|"
        else:
            kernel = planned.kernels[step.kernel]
            out += "p" if kernel.parallel else "c" if kernel.sliced else "s"
    return out


def test_a_barrier_stands_between_tiles_and_what_needs_all_of_them() -> None:
    planned = plan(reinforce({}, 64).system())
    assert shape(planned.driver, planned) == "[s|p|s|p|sc|]"


def test_work_over_the_same_tiles_is_one_kernel() -> None:
    p = Builder("b t", {})
    p.add("x", "b t", "", number(p.d["b"]))
    p.add("s", "b t", "", p("x"), over="t")
    p.add("top", "b", "", p("s"), over="b", fold="max")
    p.add("y", "b", "", p("s") * 2.0)
    p.outputs = ["y", "top"]
    planned = assert_right(p, {"B": 5, "T": 3}, {"b": 2})
    assert shape(planned.driver, planned) == "p|s"


def test_only_loops_over_the_first_dim_of_an_output_are_published() -> None:
    p = Builder("i t u", {})
    i, t, u = p.d["i"], p.d["t"], p.d["u"]
    p.add("x", "i t", "", number(i) + number(t))
    p.add("y", "i t", "", p("x"), over="t")
    p.add("z", "t u", "", p("x", i=expr(0)) + number(u))
    p.add("s", "t u", "", p("z"), over="t u")
    p.outputs = ["y", "s"]
    planned = assert_right(p, {"I": 2, "T": 3, "U": 2})
    found = driver_loops(planned.driver)
    assert {loop.span.dim.name for loop in found if loop.outermost} <= {"i"}


def test_what_an_iteration_hands_to_the_next_lives_through_the_loop() -> None:
    p = Builder("b i", {})
    i = p.d["i"]
    p.add("n", "i", "", 0.0)
    before: Cases = [(equal(i, 0), 1.0), (ALWAYS, p("n", i=i - expr(1)))]
    p.add("w", "i", "", before)
    p.add("x", "b i", "", p("w") * number(p.d["b"]))
    p.add("s", "b i", "", p("x"), over="b")
    p.add("n", "i", "", p("w") * 0.5 + p("s") * 0.1)
    p.outputs = ["s"]
    planned = assert_right(p, {"B": 5, "I": 3}, {"b": 2})
    last = max(life.last for life in planned.lives.values())
    life = planned.lives[planned.storage["n"].owner]
    assert (life.first, life.last) == (0, last)
    assert planned.storage["w"].owner == planned.storage["n"].owner, "it begins as it ended"


def test_every_call_has_its_kernel() -> None:
    planned = plan(reinforce({}).system())

    def calls(steps: tuple[Step, ...]) -> list[int]:
        here = [s.kernel for s in steps if isinstance(s, Call)]
        return here + [k for s in steps if isinstance(s, DriverLoop) for k in calls(s.body)]

    assert calls(planned.driver) == list(range(len(planned.kernels)))


def test_a_loop_with_too_many_statements_is_the_drivers_and_needs_no_barriers() -> None:
    p = Builder("i t", {"h": 8})
    i, t = p.d["i"], p.d["t"]
    for k in range(LARGEST * 5 // 8):
        p.add(f"w{k}", "i t", "h", 0.0, lanes="")
        moved = p(f"w{k}", t=t - expr(1)) * 0.5 + 1.0
        p.add(f"w{k}", "i t", "h", [(equal(t, 0), number(i)), (ALWAYS, moved)], lanes="")
        p.add(f"s{k}", "i t", "h", p(f"w{k}"), over="h", lanes="")
        p.outputs.append(f"s{k}")
    planned = assert_right(p, {"I": 2, "T": 3})
    assert shape(planned.driver, planned) == "[[ss]|]"

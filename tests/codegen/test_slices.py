"""Work on arrays between tiles: every worker computes some slices of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.codegen.ir.tree import Barrier, DriverLoop, Step
from ostinato.codegen.planning.plan import Plan
from ostinato.pdg.condition import ALWAYS, equal
from ostinato.pdg.index import expr
from tests.codegen import on_cpu
from tests.codegen.builder import Builder, Cases, call, number
from tests.codegen.compare import assert_right
from tests.codegen.executor import execute
from tests.codegen.on_cpu import plan
from tests.codegen.programs import reinforce

SIZES = {"B": 6, "I": 3}


@pytest.fixture(autouse=True)
def _worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_cpu, "CPU", replace(CPU, shared_elements=1))


def order(steps: tuple[Step, ...], planned: Plan) -> str:
    """Calls in tiles, slices, or alone, and barriers."""
    out = ""
    for step in steps:
        if isinstance(step, DriverLoop):
            out += f"[{order(step.body, planned)}]"
        elif isinstance(step, Barrier):
            out += "|"
        else:
            kernel = planned.kernels[step.kernel]
            out += "t" if kernel.parallel else "s" if kernel.sliced else "a"
    return out


def trained(is_turned: bool = False, side: int = 16) -> Builder:
    """Weights that follow sums over tiles of samples, perhaps those of other elements."""
    p = Builder("b i", {"h": side, "k": side})
    b, i, h, k = p.d["b"], p.d["i"], p.a["h"], p.a["k"]
    p.add("w", "i", "h k", 0.0, lanes="")
    wave = call("sin", number(b) + number(h) * 0.3 + number(k) * 0.1)
    p.add("x", "b i", "h k", wave * p("w"))
    p.add("g", "b i", "h k", p("x"), over="b")
    slope = p("g", k, h) if is_turned else p("g")
    p.add("v", "i", "h k", p("w") - slope * 0.1, lanes="")
    before: Cases = [(equal(i, 0), 1.0), (ALWAYS, p("v", i=i - expr(1)))]
    p.add("w", "i", "h k", before, lanes="")
    p.add("s", "i", "h k", p("w") * p("w"), over="h k", lanes="")
    p.outputs = ["s"]
    return p


@pytest.mark.parametrize("side", [16, 8, 9, 13, 20])
def test_a_sum_of_tiles_and_what_follows_it_element_by_element_need_no_barrier(side: int) -> None:
    planned = assert_right(trained(side=side), SIZES, {"b": 2})
    assert "s" in order(planned.driver, planned)
    assert "s|s" not in order(planned.driver, planned)


@pytest.mark.parametrize("side", [16, 11])
def test_a_barrier_stands_between_slices_of_which_one_reads_other_rows(side: int) -> None:
    planned = assert_right(trained(is_turned=True, side=side), SIZES, {"b": 2})
    assert "s|s" in order(planned.driver, planned)


def test_a_whole_program_is_right_in_slices() -> None:
    sizes = {"B": 5, "I": 2, "T": 2}
    planned = assert_right(reinforce(sizes, 16), sizes, {"b": 2})
    assert "s" in order(planned.driver, planned)


@pytest.mark.parametrize("side", [16, 13])
def test_results_do_not_depend_on_how_many_share_the_slices(side: int) -> None:
    p = trained(side=side)
    planned = plan(p.system(), {"b": 2})
    runs = [execute(planned, SIZES, p.arrays, n, seed=n)["s"].tolist() for n in (1, 3, 5, 11)]
    assert runs[0] == runs[1] == runs[2] == runs[3]


def test_little_work_is_left_to_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_cpu, "CPU", replace(CPU, shared_elements=1 << 20))
    planned = plan(trained().system(), {"b": 2})
    assert "s" not in order(planned.driver, planned)


def test_a_fold_over_a_matrix_adds_vectors_slice_by_slice() -> None:
    p = Builder("i", {"h": 16, "k": 16})
    p.add("x", "i", "h k", number(p.a["h"]) * number(p.a["k"]))
    p.add("s", "i", "h k", p("x"), over="h k")
    p.outputs = ["s"]
    stored = assert_right(p, {"I": 2}).storage
    assert [str(a.index) for a in stored["s_part"].axes] == ["h_s", "k"]
    assert [str(a.index) for a in stored["s_part_2"].axes] == ["k"]


def grid(size: int, is_turned: bool = True) -> Builder:
    """A matrix that mixes with its transpose at every step, or stays by itself."""
    p = Builder("t", {"h": size, "k": size})
    t, h, k = p.d["t"], p.a["h"], p.a["k"]
    p.add("w", "t", "h k", 0.0, lanes="")
    other = p("w", k, h) if is_turned else p("w")
    p.add("v", "t", "h k", p("w") * 0.5 + other * 0.3, lanes="")
    before: Cases = [(equal(t, 0), number(h) * 0.1 + number(k)), (ALWAYS, p("v", t=t - expr(1)))]
    p.add("w", "t", "h k", before, lanes="")
    p.add("s", "t", "h k", p("w") * p("w"), over="h k t", lanes="")
    p.outputs = ["s"]
    return p


def test_the_steps_of_a_loop_around_large_arrays_are_shared_out() -> None:
    planned = assert_right(grid(16), {"T": 5})
    assert "[s|s|]" in order(planned.driver, planned)


def test_small_arrays_stay_in_a_loop_of_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_cpu, "CPU", replace(CPU, shared_elements=16 * 16))
    planned = assert_right(grid(16), {"T": 5})
    assert "s" not in order(planned.driver, planned)


def test_a_loop_that_is_cut_as_a_whole_has_no_barriers_inside() -> None:
    planned = assert_right(grid(16, is_turned=False), {"T": 5})
    assert "[" not in order(planned.driver, planned)

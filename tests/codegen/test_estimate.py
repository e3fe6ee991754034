from collections.abc import Callable

import pytest

import ostinato as ot
from ostinato.codegen.cost.estimate import LARGE, Estimate, estimate, predicted
from ostinato.codegen.planning.plan import Plan
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import optimize_pdg, plan_of
from ostinato.language.tensor import Tensor
from ostinato.machine.cost_model import CostModel
from ostinato.machine.profile import Profile
from ostinato.runtime.run import frame
from tests.pipeline.test_seeds import training

PROFILE = Profile()
COST = CostModel(PROFILE)


def planned(program: ot.Program, **hints: int) -> Plan:
    options = Options(threads=2, hints=hints)
    return plan_of(optimize_pdg(program.pdg, None, options), options)[0]


def of(program: ot.Program, workers: int = 1, **extents: int) -> Estimate:
    return estimate(planned(program, **extents), PROFILE, extents, workers)


def kernels(found: Estimate) -> float:
    return sum(found.kernels.values())


def rows(dtype: str = "float32", size: int = 256) -> Tensor:
    return ot.input("x", shape=(size,), dtype=dtype, over=ot.dims("b"))


def waiting(change: Callable[[Tensor], Tensor]) -> float:
    """Nanoseconds of a step of a chain of single numbers."""
    t = ot.dims("t")
    h = ot.recurrent("h", over=t)
    h[0], h[t + 1] = 0.5, change(h)
    return kernels(of(ot.Program(h=h), T=10_000)) / 10_000


def test_a_step_waits_for_the_operations_between_a_value_and_the_next() -> None:
    x = ot.input("x")
    once = COST.wait_ns("exp")
    twice = 2 * once
    assert waiting(lambda h: ot.exp(-h)) == pytest.approx(once, rel=0.1)
    assert waiting(lambda h: ot.exp(-ot.exp(-h))) == pytest.approx(twice, rel=0.1)
    assert waiting(lambda h: 0.5 * h + ot.exp(x)) < 0.5 * once  # it does not depend on the step


def test_a_sum_after_a_product_waits_no_longer() -> None:
    alone, both = waiting(lambda h: ot.sqrt(0.5 * h)), waiting(lambda h: ot.sqrt(0.5 * h + 0.1))
    expected = COST.wait_ns("mul") + COST.wait_ns("sqrt")
    assert alone == both == pytest.approx(expected, rel=0.01)


def test_a_fold_waits_for_the_function_that_it_repeats() -> None:
    rows = ot.input("rows", shape=(4,))
    added = waiting(lambda h: ot.exp(-(h + rows).sum(0)))
    multiplied = waiting(lambda h: ot.exp(-(h + rows).prod(0)))
    assert multiplied - added == pytest.approx(COST.wait_ns("mul") - COST.wait_ns("add"), rel=0.1)


def chain(steps: int) -> ot.Program:
    t = ot.dims("t")
    h = ot.recurrent("h", over=t)
    h[0] = 1.0
    h[t + 1] = 0.5 * h
    return ot.Program(h=h)


def test_twice_the_rows_take_twice_the_time() -> None:
    one, two = (of(ot.Program(y=rows() * 2.0), B=n) for n in (8192, 16384))
    assert kernels(two) == pytest.approx(2 * kernels(one), rel=0.05)


@pytest.mark.parametrize(("seeds", "together"), [(1, 1), (3, 3), (16, 8)])
def test_workers_share_as_many_steps_as_there_are(seeds: int, together: int) -> None:
    plan, extents = planned(training("k b i t")), {"B": 32, "I": 2, "T": 16, "K": seeds}
    along = {k.name for k in plan.kernels if k.along is not None}
    alone, all_of = (estimate(plan, PROFILE, extents, n).kernels for n in (1, 8))
    assert along
    for name in along:
        assert alone[name] / all_of[name] == pytest.approx(together, rel=0.1)


def test_float64_takes_longer() -> None:
    narrow, wide = (of(ot.Program(y=ot.exp(rows(d))), B=512) for d in ("float32", "float64"))
    assert 1.7 < kernels(wide) / kernels(narrow) < 2.5


def test_a_function_costs_what_the_profile_says() -> None:
    x = rows()
    added, powered = (of(ot.Program(y=y), B=512) for y in (x + 1.0, x**x))
    more = (COST.function_ns("pow") - PROFILE.step_ns) * 512 * 256
    assert kernels(powered) - kernels(added) == pytest.approx(more, rel=0.1)


def test_what_stays_where_it_is_costs_no_copy() -> None:
    b, t = ot.dims("b t")
    x, y = ot.input("x", over=(b, t)), ot.recurrent("y", over=(b, t))
    y[b, 0] = x[b, 0]
    y[b, t + 1] = 0.5 * y + x[b, t + 1]
    assert LARGE == frame.LARGE
    assert of(ot.Program(y=x * 2.0), B=256, T=256).arguments == 0.0
    assert of(ot.Program(y=x * 2.0), B=256, T=255).arguments > 0.0  # the last tile has fewer
    assert of(ot.Program(y=y), B=256, T=256).arguments >= 256 * 256 * PROFILE.copy_ns


def test_a_row_that_is_looked_up_is_read_in_order() -> None:
    b = ot.dims("b")
    place = ot.input("place", dtype="int32", over=b)
    table = ot.input("table", shape=(64, 64))
    found = of(ot.Program(y=ot.take(table, place, axis=0)), B=4096)
    assert kernels(found) < 4096 * 64 * PROFILE.strided_ns / 4


def test_workers_share_tiles() -> None:
    program = ot.Program(y=ot.exp(rows()))
    assert kernels(of(program, 2, B=4096)) == pytest.approx(kernels(of(program, 1, B=4096)) / 2)


def test_ranges_that_grow_with_the_step_are_priced_for_every_target() -> None:
    t = ot.dims("t")
    window = ot.input("x", over=t)[ot.maximum(t - 15, 0) : t + 1]
    program, options = ot.Program(y=window.max(0)), Options(hints={"T": 1024}, target="cuda")
    plan, _ = plan_of(optimize_pdg(program.pdg, None, options), options)
    assert estimate(plan, PROFILE, {"T": 1024}, 132).total > 0.0


def test_one_worker_waits_for_nobody() -> None:
    b, t = ot.dims("b t")
    h = ot.recurrent("h", over=(b, t))
    h[b, 0] = 1.0
    h[b, t + 1] = 0.5 * h[:, t].mean(0)
    program = ot.Program(h=h)
    assert of(program, 1, B=512, T=8).barriers == 0.0
    assert of(program, 2, B=512, T=8).barriers >= 8 * PROFILE.barrier_ns


def test_large_tensors_move_slower_than_small_ones() -> None:
    small, large = (kernels(of(ot.Program(y=rows() + 1.0), B=n)) / n for n in (16, 1 << 16))
    assert large > 1.5 * small


def test_a_product_is_priced_by_its_multiply_adds() -> None:
    def product(size: int) -> float:
        x = ot.input("x", shape=(size, size))
        return kernels(of(ot.Program(y=x @ ot.input("w", shape=(size, size)))))

    assert 6 < product(512) / product(256) < 10


def test_recurrences_cost_a_point_per_step() -> None:
    assert kernels(of(chain(1), T=2000)) > 2000 * PROFILE.point_ns


def test_the_parts_are_the_whole() -> None:
    found = predicted(planned(chain(1), T=100), PROFILE, {"T": 100}, 1)
    total = found.pop("predicted_ns")
    assert sum(found.values()) == pytest.approx(total)


def test_explain_predicts_for_the_extents_it_is_given() -> None:
    run = chain(1).compile(threads=1)
    short, long = (run.explain(T=n).cost["predicted_ns"] for n in (10, 100_000))
    assert long > 2 * short
    assert "predicted_ns" in run.explain().cost


def stepwise(b: ot.Dimension, width: int) -> ot.Program:
    """Parameters that all rows read, and that the mean over all rows changes."""
    i = ot.dims("i")
    w = ot.recurrent("w", shape=(width,), over=i)
    w[0] = 1.0
    x = ot.input("x", shape=(width,), over=b)
    w[i + 1] = w - 0.1 * ot.tanh(x * w)[:, i].mean(0)
    return ot.Program(w=w)


def test_what_workers_hand_to_each_other_grows_with_parameters_and_steps() -> None:
    b = ot.dims("b")
    narrow, wide = stepwise(b, 64), stepwise(b, 256)
    assert of(narrow, 1, B=256, I=10).passing == 0.0
    few, more, wider = (
        of(program, 2, B=256, I=steps).passing
        for program, steps in ((narrow, 10), (narrow, 20), (wide, 10))
    )
    assert 0.0 < few < more == pytest.approx(2 * few, rel=0.1)
    assert wider == pytest.approx(4 * few, rel=0.1)


def test_rows_of_ones_own_are_handed_to_nobody() -> None:
    t, b = ot.dims("t b")
    h = ot.recurrent("h", over=(t, b))
    h[0, b] = 1.0
    h[t + 1, b] = 0.5 * h
    assert of(ot.Program(h=h, g=ot.exp(h)), 2, B=512, T=8).passing == 0.0

"""Long axes become dimensions in tiles where intermediate values would fill memory."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.codegen.ir.tree import computed, leaves
from ostinato.codegen.planning.arena import layout, sizes_bytes
from ostinato.codegen.planning.plan import Plan
from ostinato.codegen.planning.show import show_plan
from ostinato.codegen.systems.tile_choice import balanced_width
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import optimize_pdg, plan_of
from ostinato.language.tensor import Tensor


def squares(rows: int, slope: bool = True) -> ot.Program:
    """A loss over all rows of a matrix: elementwise functions, a product and a sum."""
    x, w = ot.input("x", (rows, 8)), ot.input("w", (8, 16))
    loss = (ot.tanh(x @ w) ** 2).sum()
    outputs = {"loss": loss, "slope": ot.grad(loss, w)} if slope else {"loss": loss}
    return ot.Program(**outputs)


def planned(program: ot.Program, threads: int = 2, **options: Any) -> Plan:
    """The plan of a program for two workers."""
    chosen = Options(threads=threads, **options)
    return plan_of(optimize_pdg(program.pdg, None, chosen), chosen)[0]


def between(plan: Plan, **extents: int) -> int:
    """The bytes of all that is no argument, for two workers."""
    sizes = sizes_bytes(plan, extents)
    return layout(plan, extents, 2).total_bytes - sizes["x"] - sizes["w"]


def has_rows(program: ot.Program, **options: Any) -> bool:
    return "parallel row_o = " in show_plan(planned(program, **options))


@pytest.mark.parametrize("slope", [False, True])
def test_a_sum_over_rows_needs_a_tile_of_them(slope: bool) -> None:
    plan = planned(squares(1 << 20, slope))
    assert between(plan) < 2 << 20  # one intermediate value for all rows: 64 MiB


def test_memory_grows_with_the_root_of_the_rows_at_most() -> None:
    sizes = [between(planned(squares(1 << k))) for k in (18, 20, 22)]
    assert all(later < 2.2 * earlier for earlier, later in pairwise(sizes))


def test_memory_of_a_reduced_dimension_does_not_grow_with_it() -> None:
    b = ot.dims("b")
    x, w = ot.input("x", (8,), over=b), ot.input("w", (8, 16))
    loss = (ot.tanh(x @ w) ** 2)[:].sum()
    program = ot.Program(loss=loss, slope=ot.grad(loss, w))
    peaks = [between(planned(program, hints={"B": n}), B=n) for n in (1 << 18, 1 << 20)]
    assert peaks[1] < 2.2 * peaks[0] < 8 << 20


@pytest.mark.parametrize("rows", [8192, 9001])
def test_tiles_of_rows_give_the_same_sums(rows: int) -> None:
    rng = np.random.default_rng(rows)
    x, w = rng.normal(size=(rows, 8)).astype("f"), rng.normal(size=(8, 16)).astype("f")
    found = squares(rows).compile()(x=x, w=w)
    y = np.tanh(x.astype(float) @ w)
    np.testing.assert_allclose(found["loss"], (y**2).sum(), rtol=1e-5)
    np.testing.assert_allclose(found["slope"], x.T @ (2 * y * (1 - y**2)), rtol=1e-3, atol=1e-2)


def test_two_families_of_rows_are_two_dimensions() -> None:
    x, y, w = ot.input("x", (9000, 8)), ot.input("y", (7000, 8)), ot.input("w", (8, 64))
    program = ot.Program(both=ot.tanh(x @ w).sum() * ot.tanh(y @ w).sum())
    rng = np.random.default_rng(5)
    given = {"x": rng.uniform(size=(9000, 8)), "y": rng.uniform(size=(7000, 8))}
    given["w"] = rng.uniform(size=(8, 64)) / 9
    run = program.compile()
    assert all(f"parallel {dim} = " in run.explain().schedule for dim in ("row_o", "row_2_o"))
    np.testing.assert_allclose(run(**given)["both"], program.interpret(**given)["both"], rtol=1e-4)


def rolled(x: Tensor) -> Tensor:
    return (ot.exp(x) * ot.exp(ot.flip(x, 0))).sum()


def gram(x: Tensor) -> Tensor:
    return ot.tanh(x[:, None] * x[None, :]).sum()


def best(x: Tensor) -> Tensor:
    return (ot.exp(x) + x).argmax(0).sum()


def ordered(x: Tensor) -> Tensor:
    return ot.sort(ot.exp(x), 0).sum()


def looked_up(x: Tensor) -> Tensor:
    return ot.take(ot.exp(x), ot.input("at", (4,), "int32"), 0).sum()


@pytest.mark.parametrize("f", [rolled, best, ordered, looked_up])
def test_rows_that_are_read_otherwise_stay_an_axis(f: Callable[[Tensor], Tensor]) -> None:
    assert not has_rows(ot.Program(y=f(ot.input("x", (5000, 64)))))


def test_an_axis_that_meets_itself_stays_one() -> None:
    assert not has_rows(ot.Program(y=gram(ot.input("x", (5000,)))))


def test_few_rows_stay_an_axis() -> None:
    assert has_rows(squares(8192)) and not has_rows(squares(128))


def test_few_rows_that_are_much_work_each_are_for_several_workers() -> None:
    x, w = ot.input("x", (8, 16, 24, 24)), ot.input("w", (16, 16, 3, 3))
    assert "parallel row_o = 0 .. 3" in show_plan(planned(ot.Program(y=ot.conv2d(x, w)), threads=8))


@pytest.mark.parametrize(("width", "rows"), [(2048, 4), (16, 8)])
def test_two_workers_have_a_tile_each_of_eight_points_of_much_work(width: int, rows: int) -> None:
    x, w = ot.input("x", (64,), over=ot.dims("b")), ot.input("w", (64, width))
    plan = planned(ot.Program(y=ot.exp(x @ w).sum(-1)), hints={"B": 8})
    assert f"parallel b_o = 0 .. (B+{rows - 1}) // {rows}-1" in show_plan(plan)


@pytest.mark.parametrize(("width", "short"), [(8, 32), (64, 32), (512, 64)])
def test_the_rows_of_one_tile_are_few(width: int, short: int) -> None:
    x, w = ot.input("x", (width,), over=ot.dims("b")), ot.input("w", (width, width // 4))
    assert {*planned(ot.Program(y=ot.exp(x @ w))).short.values()} == {short}


def test_the_numbers_of_a_row_add_up_by_halves_on_any_machine() -> None:
    x = np.random.default_rng(3).normal(size=(5, 64)).astype("f")
    found, halves = ot.Program(y=ot.input("x", (5, 64)).sum(-1)).compile()(x=x)["y"], x
    while halves.shape[1] > 1:
        halves = np.add(*np.hsplit(halves, 2))
    assert found.tolist() == halves[:, 0].tolist()


def test_tiles_run_along_what_lies_side_by_side_in_memory() -> None:
    i, j = ot.dims("i j")
    x = ot.recurrent("x", dtype="int32", over=(i, j))
    x[True] = ot.where((i > 0) & (j > 0), x[i - 1, j] + x[i, j - 1], 1) % 7
    assert "parallel j_o" in show_plan(planned(ot.Program(best=x[:, :].max())))


def test_exact_programs_add_in_the_order_they_are_written() -> None:
    assert not has_rows(squares(8192), exact=True)


def test_threads_change_no_tile_of_rows() -> None:
    program = squares(9001)
    assert show_plan(planned(program, 1)) == show_plan(planned(program, 3))


def test_tiles_widen_with_the_root_until_they_fill_the_cache() -> None:
    widths = [balanced_width(steps, 64, 128, 2, CPU) for steps in (10**4, 10**6, 4 * 10**6, 10**9)]
    assert widths == [CPU.tiles.usual, 1000, 2000, 4096]


def test_products_that_share_an_operand_run_in_one_loop_over_tiles() -> None:
    b = ot.dims("b")
    x, weights = ot.input("x", (8,), over=b), [ot.input(f"w{k}", (8, 24)) for k in range(3)]
    queries, keys, values = (ot.tanh(x @ w) for w in weights)
    plan = planned(ot.Program(total=(queries * keys * values)[:].sum()), hints={"B": 256})
    assert [kernel.parallel is not None for kernel in plan.kernels] == [True, False]
    assert sum("= x @ w" in line for line in show_plan(plan).splitlines()) == 3


def test_a_ragged_last_tile_adds_nothing_to_shared_sums() -> None:
    x, w = ot.input("x", (9001, 40)), ot.input("w", (40, 40))
    y = ot.tanh(x @ w)
    program = ot.Program(total=ot.exp(y[:, 0]).sum(), slope=ot.grad((y**2).sum(), w))
    assert "parallel row_g = " in show_plan(planned(program))
    rng = np.random.default_rng(1)
    given = {"x": rng.normal(size=(9001, 40)), "w": rng.normal(size=(40, 40)) / 40}
    total = np.exp(np.tanh(given["x"] @ given["w"])[:, 0]).sum()
    np.testing.assert_allclose(program.compile()(**given)["total"], total, rtol=1e-5)


def batches() -> ot.Program:
    """Training by half of the rows at a time, in an order that is drawn."""
    i, b = ot.dims("i b")
    x, w = ot.input("x", (16,), over=b), ot.recurrent("w", (16, 64), over=i)
    w[0] = 0.01
    chosen = ot.random.permutation(b.size, over=i)[i, : b.size // 2]
    loss = (ot.tanh(x.at(b=chosen) @ w) ** 2).mean()
    w[i + 1] = w - 0.1 * ot.grad(loss, w)
    return ot.Program(loss=loss, w=w)


def test_a_minibatch_of_run_time_size_is_work_for_threads() -> None:
    assert "parallel row_g = " in show_plan(planned(batches(), hints={"B": 4096}))
    assert "row" not in show_plan(planned(batches(), hints={"B": 8}))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [1, 90, 700])
def test_a_minibatch_in_tiles_gives_what_it_means(size: int, threads: int) -> None:
    x = np.random.default_rng(size).normal(size=(size + 1, 16)).astype("f")
    program = batches()
    found = program.compile(hints={"B": 4096}, threads=threads)(x=x, I=3)
    meant = program.interpret(x=x, I=3)
    np.testing.assert_allclose(found["w"], meant["w"], rtol=1e-4, atol=1e-6)


def trained(rows: int, hidden: int) -> ot.Program:
    """A perceptron of two hidden layers and steps of an optimizer, on the rows of an argument."""
    i = ot.dims("i")
    x, net = ot.input("x", (rows, 4)), ot.nn.MLP(4, (hidden, hidden), 1, over=i)
    loss = (net(x) ** 2).mean()
    ot.optim.Adam(1e-3).minimize(loss, net.parameters)
    return ot.Program(loss=loss)


def test_rows_of_samples_are_tiles_and_steps_of_the_optimizer_are_slices() -> None:
    plan = planned(trained(256, 256))
    matrices = [
        s.lowered
        for s in plan.statements.values()
        if s.name.endswith("_part") and [a.pad.const for a in s.result_axes] == [256, 256]
    ]
    assert len(matrices) == 1  # the gradient of the middle layer: no product of values is in parts
    found = [leaf for k in plan.kernels if k.sliced for leaf, _, _ in leaves(k.body)]
    named = {name for leaf in found for name in computed(leaf)}
    assert {"mlp_1_weight_mean", "mlp_1_weight_variance"} <= named


@pytest.mark.parametrize(("rows", "hidden"), [(128, 124), (128, 160), (64, 256), (32, 300)])
def test_tiles_are_rows_of_samples_where_units_would_wait_for_sums(rows: int, hidden: int) -> None:
    plan = planned(trained(rows, hidden))
    assert [k.parallel is not None for k in plan.kernels].count(True) == 1
    products = {name for name, s in plan.statements.items() if s.kind == "matmul"}
    assert len(products) == 7 and sum(name.endswith("_part") for name in products) == 3


@pytest.mark.parametrize(("rows", "hidden"), [(8, 64), (4, 256), (2, 120), (32, 32)])
def test_little_work_between_sums_is_for_one_worker(rows: int, hidden: int) -> None:
    assert "parallel row" not in show_plan(planned(trained(rows, hidden)))


def test_a_dimension_of_one_step_is_no_loop_and_changes_no_exact_bit() -> None:
    i, m, x = ot.dims("i"), ot.dim("m", size=1), ot.input("x", (64, 32))
    w = ot.recurrent("w", shape=(32, 32), over=(i, m))
    y = ot.tanh(x @ w) - 0.1
    w[0, 0] = 0.01 * ot.arange(32)
    w[i, m + 1] = w[i, m] - 1e-3 * (x.T @ y)
    w[i + 1, 0] = w[i, -1] * 0.5 + 1e-3 * (x.T @ y)[i, -1]
    program = ot.Program(y=y[i, 0], last=w[i, -1])
    assert "for m = " not in show_plan(planned(program))
    given = {"x": np.sin(np.arange(2048.0)).reshape(64, 32), "I": 3}
    with_loop = program.compile(exact=True, without=["single steps"])(**given)
    for name, values in program.compile(exact=True)(**given).items():
        np.testing.assert_array_equal(values, with_loop[name])


def test_results_keep_dimensions_of_one_step() -> None:
    m, x = ot.dim("m", size=1), ot.input("x", (64,))
    found = ot.Program(y=x * 2.0 + ot.index(m)).compile()(x=np.ones(64))
    assert found["y"].shape == (1, 64)

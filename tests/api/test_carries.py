"""Values carried through nested loops: every boundary, every way to read them."""

import itertools

import numpy as np
import pytest

import ostinato as ot

i, e, m, seed = ot.dims("i e m seed")


def value(of: ot.Tensor, **arguments: object) -> object:
    """Return what a tensor is, as nested lists."""
    return ot.Program(value=of).interpret(**arguments)["value"].tolist()


def visited(*sizes: int) -> list[tuple[int, ...]]:
    """Return the points of nested loops in the order of the loops."""
    return list(itertools.product(*map(range, sizes)))


@pytest.mark.parametrize("sizes", [(2, 3, 4), (3, 1, 2), (2, 2, 1), (1, 3, 1), (1, 1, 1)], ids=str)
def test_a_carry_holds_the_value_before_each_step_of_nested_loops(
    sizes: tuple[int, ...],
) -> None:
    x = ot.carry("x", 1, over=(i, e, m))
    x.step(2 * x - i + 3 * e + m)
    before = np.zeros(sizes, "int32")
    current = 1
    for point in visited(*sizes):
        before[point] = current
        current = 2 * current - point[0] + 3 * point[1] + point[2]
    program = ot.Program(before=x, final=x.final)
    found = program.interpret(**dict(zip("IEM", sizes, strict=True)))
    assert found["before"].tolist() == before.tolist()
    assert found["final"] == current


def count() -> ot.Carry:
    """Return the number of steps before each step."""
    made = ot.carry("count", 0, over=(i, e, m))
    made.step(made + 1)
    return made


def test_reads_at_the_start_of_inner_loops() -> None:
    x = count()
    sizes = {"I": 3, "E": 2, "M": 2}
    assert value(x[i, 0, 0], **sizes) == [0, 4, 8]
    assert value(x.at(e=0, m=0), **sizes) == [0, 4, 8]
    assert value(x[i, e, 0], **sizes) == [[0, 2], [4, 6], [8, 10]]
    assert value(x[-1, 0, 0], **sizes) == 8
    assert value(x[:, 0, 0], **sizes) == [0, 4, 8]
    assert value(x[0, 0, 0]) == 0


def test_reads_at_other_points() -> None:
    x = count()
    sizes = {"I": 2, "E": 2, "M": 2}
    assert value(x[i, 1, 1], **sizes) == [3, 7]
    assert value(x[i, 0, m], **sizes) == [[0, 1], [4, 5]]
    assert value(x[0, e, 0], **sizes) == [0, 2]
    assert value(x.after, **sizes) == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]


def test_the_value_after_a_step_can_be_read_before_the_step_is_written() -> None:
    x = ot.carry("x", 0, over=(i, m))
    doubled = 2 * x.after
    x.step(x + 1)
    assert value(doubled, I=2, M=2) == [[2, 4], [6, 8]]
    assert value(x.final, I=2, M=2) == 4


def test_the_order_of_loops_is_that_of_the_call_not_of_the_declaration() -> None:
    inner, outer = ot.dims("inner outer")
    x = ot.carry("x", 0, over=(outer, inner))
    x.step(x + 1)
    assert value(x, OUTER=2, INNER=3) == [[0, 3], [1, 4], [2, 5]]


def test_one_loop_is_a_plain_recurrence() -> None:
    x = ot.carry("x", 1.0, over=i)
    x.step(0.5 * x)
    assert value(x, I=3) == [1.0, 0.5, 0.25]


def test_each_seed_carries_its_own_value() -> None:
    x = ot.carry("x", ot.index(seed) * 100, over=(i, m), each=seed)
    x.step(x + 1)
    assert value(x[seed, :, :], SEED=2, I=2, M=2) == [[[0, 1], [2, 3]], [[100, 101], [102, 103]]]
    assert value(x.final, SEED=2, I=2, M=2) == [4, 104]
    assert value(x.at(m=0), SEED=2, I=2, M=2) == [[0, 100], [2, 102]]


def test_a_record_is_carried_as_a_whole() -> None:
    start = ot.Record(level=ot.zeros((2,)), age=ot.constant(0))
    state = ot.carry("state", start, over=(i, m))
    state.step(ot.Record(level=state.level + 0.5, age=state.age + 1))
    assert value(state.final.level, I=2, M=2) == [2.0, 2.0]
    assert value(state.at(m=0).age, I=2, M=2) == [0, 2]
    assert value(state.after.age, I=1, M=2) == [[1, 2]]
    assert state.age.node.label == "state_age"


def test_shape_and_type_are_those_of_like() -> None:
    x = ot.carry("x", 0, over=(i, m), like=ot.zeros((3,), "float64"))
    x.step(x + 1)
    assert (x.shape, x.dtype) == ((3,), "float64")
    assert value(x.final, I=1, M=2) == [2.0, 2.0, 2.0]


def test_gradients_pass_through_all_steps_to_the_initial_value() -> None:
    start = ot.input("start")
    x = ot.carry("x", start, over=(i, m))
    x.step(x * x)
    assert value(ot.grad(x.final, start), start=2.0, I=1, M=2) == 32.0  # d x**4
    second = ot.grad(ot.grad(x.final, start), start)
    assert value(second, start=1.0, I=2, M=1) == 12.0


def test_the_start_of_an_iteration_is_a_constant_for_losses_of_its_steps() -> None:
    w = ot.carry("w", 3.0, over=(i, m))
    loss = w * w[i, 0]
    w.step(w - ot.grad(loss, w))
    assert value(w, I=1, M=3) == [[3.0, 0.0, -3.0]]

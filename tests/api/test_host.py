"""Python functions inside programs: what they get, when they run, what they give."""

# A lambda that a host call is given has arguments without types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import GradientError
from ostinato.pdg.functions import Array

i, b, t = ot.dims("i b t")
Run = Callable[..., dict[str, Array]]


def interpreted(program: ot.Program, **arguments: object) -> dict[str, Array]:
    return program.interpret(**arguments)


def compiled(program: ot.Program, **arguments: object) -> dict[str, Array]:
    return program.compile(threads=2)(**arguments)


both = pytest.mark.parametrize("run", [interpreted, compiled])


def one(made: object) -> ot.Tensor:
    assert isinstance(made, ot.Tensor)
    return made


def several(made: object) -> Sequence[ot.Tensor]:
    assert isinstance(made, tuple)
    return cast(Sequence[ot.Tensor], made)


@both
def test_a_function_gets_the_value_at_the_point(run: Run) -> None:
    x = ot.input("x", shape=(2,), over=(b, t))
    y = one(ot.host(lambda v: v.sum() * 10, x))
    values = np.arange(12).reshape(2, 3, 2)
    np.testing.assert_array_equal(run(ot.Program(y=y), x=values)["y"], values.sum(-1) * 10)


@both
def test_a_pure_function_runs_where_it_is_needed_only(run: Run) -> None:
    seen: list[float] = []
    x = ot.input("x", over=t)

    def note(v: Array) -> Array:
        seen.append(float(v))
        return -v

    y = one(ot.host(note, x[t + 1]))
    result = run(ot.Program(y=ot.where((t >= 1) & (t < t.size - 3), y, 0.0)), x=np.arange(6.0))
    assert sorted(seen) == [2.0, 3.0]
    assert result["y"].tolist() == [0.0, -2.0, -3.0, 0.0, 0.0, 0.0]


@both
def test_several_results_keep_their_types_exactly(run: Run) -> None:
    big = 2**53 + 1
    made = several(
        ot.host(
            lambda: ([1.5, 2.5], -big, True, 2**32 - 1),
            shape=(((2,), "float64"), ((), "int64"), ((), "bool"), ((), "uint32")),
        )
    )
    found = run(ot.Program(a=made[0], b=made[1], c=made[2], d=made[3]))
    assert found["a"].tolist() == [1.5, 2.5] and found["b"].item() == -big
    assert found["c"].item() is True and found["d"].item() == 2**32 - 1
    assert [str(found[n].dtype) for n in "abcd"] == ["float64", "int64", "bool", "uint32"]


@both
def test_over_gives_all_points_of_a_dimension_at_once(run: Run) -> None:
    x, w = ot.input("x", shape=(2,), over=(b, t)), ot.input("w", over=t)
    shapes: list[tuple[int, ...]] = []

    def step(rows: Array, scale: Array) -> tuple[Array, Array]:
        shapes.append((*rows.shape, *scale.shape))
        return rows * scale[:, None], rows.sum(1) > 3

    y, big = several(ot.host(step, x, w, shape=(((2,), "float32"), ((), "bool")), over=b))
    values, scale = np.arange(12.0).reshape(2, 3, 2), np.array([1.0, 2.0, 3.0])
    found = run(ot.Program(y=y, big=big), x=values, w=scale)
    assert shapes == [(2, 2, 2)] * 3
    np.testing.assert_array_equal(found["y"], values * scale[None, :, None])
    np.testing.assert_array_equal(found["big"], values.sum(-1) > 3)


@both
def test_ordered_calls_run_everywhere_in_the_order_of_steps(run: Run) -> None:
    seen: list[tuple[int, int]] = []

    def note(k: Array, j: Array) -> int:
        seen.append((int(k), int(j)))
        return 0

    y = one(ot.host(note, ot.index(b), ot.index(t), dtype="int32", effects="ordered"))
    run(ot.Program(first=y[0, 1]), B=2, T=3)
    assert seen == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


@both
def test_calls_that_share_a_word_take_turns(run: Run) -> None:
    seen: list[str] = []

    def say(text: str) -> Callable[..., float]:
        def call(*_: Array) -> float:
            seen.append(text)
            return 0.0

        return call

    start = one(ot.host(say("reset"), ot.index(i), effects="env"))
    first = one(ot.host(say("a"), ot.index(i), ot.index(t), effects="env"))
    second = one(ot.host(say("b"), ot.index(i), ot.index(t), effects="env"))
    end = one(ot.host(say("end"), ot.index(i), effects="env"))
    run(ot.Program(y=second + first, z=end, s=start), I=2, T=2)
    assert seen == ["reset", "a", "b", "a", "b", "end"] * 2


@both
def test_a_logger_runs_in_every_program_that_has_what_it_is_given(run: Run) -> None:
    seen: list[float] = []
    x, z = ot.input("x", over=t), ot.input("z", over=t)
    ot.host(lambda v: seen.append(float(v)), x * 2, shape=None, effects="log")
    run(ot.Program(y=x[:].sum()), x=[1, 2])
    assert seen == [2.0, 4.0]
    run(ot.Program(y=z[:].sum()), z=[1, 2])
    assert seen == [2.0, 4.0]


@both
def test_state_that_a_function_keeps_follows_the_steps(run: Run) -> None:
    total = [0.0]

    def add(v: Array) -> float:
        total[0] += float(v)
        return total[0]

    s = ot.recurrent("s", over=t)
    s[0] = 1.0
    s[t + 1] = 0.5 * one(ot.host(add, s, effects="total"))
    assert run(ot.Program(s=s), T=4)["s"].tolist() == [1.0, 0.5, 0.75, 1.125]


@both
def test_arguments_cannot_be_written(run: Run) -> None:
    x = ot.input("x", over=t)
    y = one(ot.host(lambda v: v.flags.writeable, x, dtype="bool"))
    assert run(ot.Program(y=y), x=[1.0])["y"].tolist() == [False]


@both
@pytest.mark.parametrize("reverse", [False, True])
def test_a_function_may_return_one_buffer_at_every_call(run: Run, reverse: bool) -> None:
    image, reward = np.empty(3, "float32"), np.empty((), "float32")

    def shown(k: Array) -> tuple[Array, Array]:
        image[...] = (k, 10 * k, -k)
        reward[...] = 0.5 * k
        return image, reward

    x = ot.input("x", over=t, dtype="float32")
    seen, gain = several(ot.host(shown, x, shape=(((3,), "float32"), ((), "float32"))))
    past = ot.recurrent("past", (3,), over=t)
    past[0 if not reverse else -1] = 0.0
    if reverse:
        past[t - 1] = past[t] + seen
    else:
        past[t + 1] = past[t] + seen
    values = np.array([1, 2, 4, 8], "float32")
    found = run(ot.Program(seen=seen, gain=gain, sums=past), x=values)
    wanted = np.outer(values, [1, 10, -1])
    np.testing.assert_array_equal(found["seen"], wanted)
    np.testing.assert_array_equal(found["gain"], 0.5 * values)
    sums = np.cumsum(wanted[::-1] if reverse else wanted, 0)
    around = np.concatenate([np.zeros((1, 3)), sums[:-1]])
    np.testing.assert_array_equal(found["sums"], around[::-1] if reverse else around)


@both
def test_a_function_may_return_what_it_was_given(run: Run) -> None:
    x = ot.recurrent("x", (4,), over=t)
    x[0] = ot.arange(4).cast("float32")
    kinds = ((4,), "float32"), ((4,), "float32")
    turned, same = several(ot.host(lambda v: (v[::-1], v), x, shape=kinds))
    x[t + 1] = turned + 1.0
    found = run(ot.Program(x=x, same=same, turned=turned), T=3)
    wanted = [[0, 1, 2, 3], [4, 3, 2, 1], [2, 3, 4, 5]]
    np.testing.assert_array_equal(found["x"], wanted)
    np.testing.assert_array_equal(found["same"], wanted)
    np.testing.assert_array_equal(found["turned"], np.flip(wanted, 1))


@both
def test_a_function_knows_its_point(run: Run) -> None:
    x = ot.input("x", over=(b, t))
    y = one(ot.host(lambda v: 10 * ot.debug.point()["b"] + ot.debug.point()["t"], x))
    found = run(ot.Program(y=y), x=np.zeros((2, 2)))["y"]
    assert found.tolist() == [[0.0, 1.0], [10.0, 11.0]]


@both
def test_a_window_that_grows_is_given_at_its_length(run: Run) -> None:
    x = ot.input("x", over=t)
    y = one(ot.host(lambda v: float(len(v)) + float(v[-1]), x[: t + 1]))
    assert run(ot.Program(y=y), x=[0.5, 0.25, 0.0])["y"].tolist() == [1.5, 2.25, 3.0]


def test_a_gradient_stops_at_a_call_that_it_does_not_need() -> None:
    x = ot.input("x")
    stopped = ot.stop_gradient(one(ot.host(lambda v: v * v, x)))
    assert ot.Program(g=ot.grad(stopped * x, x)).interpret(x=3.0)["g"].item() == 9.0


def test_a_gradient_through_a_call_is_refused() -> None:
    x = ot.input("x")
    squared = one(ot.host(np.square, x))
    with pytest.raises(GradientError, match="passes through the host call `square`"):
        ot.grad(squared, x)


def test_two_programs_of_one_text_call_their_own_functions() -> None:
    def program(k: float) -> ot.Program:
        return ot.Program(y=one(ot.host(lambda v: k * float(v), ot.input("x"), name="times")))

    two, three = program(2.0).compile(), program(3.0).compile()
    assert two(x=1.0)["y"].item() == 2.0 and three(x=1.0)["y"].item() == 3.0

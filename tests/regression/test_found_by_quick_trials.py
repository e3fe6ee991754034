"""What the quick mode of the fuzzer found; each test names the class that it stands for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ostinato as ot
from ostinato.language.dims import Dimension, IndexExpression
from ostinato.rewrite.registry import RuleSet
from tests.property.judge import Trial
from tests.property.programs import Recipe, Replay, Step, arguments
from tests.property.quick import quick


def parts(t: Dimension, x: ot.Tensor) -> dict[str, ot.Tensor]:
    return {
        "of_both": x[t // 2 : t + 1],
        "beside_the_bound": x[ot.maximum(t - 2, 0) : ot.minimum(2 * t, t.size)],
        "of_remainders": x[: t % 3 + t % 2],
        "of_constants": x[t : ot.minimum(t + 2**59, t.size)],
    }


@pytest.mark.parametrize("steps", [1, 2, 3, 8])
@pytest.mark.parametrize("which", ["of_both", "beside_the_bound", "of_remainders", "of_constants"])
def test_an_output_is_padded_to_its_longest(which: str, steps: int) -> None:
    t = ot.dims("t")
    program = ot.Program(y=parts(t, ot.input("x", over=t))[which])
    given = {"x": np.arange(float(steps))}
    run, expected = program.compile(), program.interpret(**given)["y"]
    assert run(**given)["y"].tolist() == expected.tolist()
    records = [record.y.tolist() for record in run.stream(over=t, **given)]
    assert records == expected.tolist()
    assert run(**given)["y"].shape == expected.shape


@pytest.mark.parametrize("fold", ["sum", "prod", "max"])
def test_a_range_may_be_empty_without_being_written_so(fold: str) -> None:
    t = ot.dims("t")
    values = ot.sin(ot.input("x", over=t))[t : ot.minimum(t, t.size)]
    program = ot.Program(y=getattr(values, fold)(0))
    given = {"x": np.arange(3.0)}
    assert program.compile()(**given)["y"].tolist() == program.interpret(**given)["y"].tolist()


@pytest.mark.parametrize("which", ["product", "running", "twice", "of_recurrence", "random", "end"])
def test_values_that_only_an_empty_range_reads_are_computed(which: str) -> None:
    t = ot.dims("t")
    x = ot.input("x", (2,), over=t)
    sine, empty = ot.sin(x), slice(t, ot.minimum(t, t.size))
    rising = ot.recurrent("r", (2,), over=t)
    rising[t == 0] = x
    rising[True] = 0.5 * rising[t - 1] + sine
    made = {
        "product": lambda: sine[empty].T @ ot.cos(x)[empty],
        "running": lambda: ot.cumsum(sine[empty], 0).sum(0),
        "twice": lambda: sine * 2.0 + ot.exp(sine[empty]).sum(0),
        "of_recurrence": lambda: rising[empty].max(0),
        "random": lambda: (x + ot.random.normal((2,), over=t))[empty].sum(0),
        "end": lambda: sine[ot.maximum(t, t.size) :].sum(0),
    }
    program = ot.Program(y=made[which]())
    given = {"x": np.arange(6.0).reshape(3, 2)}
    assert np.allclose(program.compile()(**given)["y"], program.interpret(**given)["y"])


@pytest.mark.parametrize("padding", [0, 1, 3])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_checks_pass_in_the_gradient_of_a_convolution(padding: int, stride: int) -> None:
    x = ot.input("x", (7,))
    weight = ot.constant([[[0.5, -1.0, 2.0]]])
    y = ot.conv1d(x.reshape(1, -1), weight, padding=padding, stride=stride)
    program = ot.Program(g=ot.grad((y * y).sum(), x))
    given = {"x": np.arange(7.0)}
    found, expected = program.compile(checks=True)(**given)["g"], program.interpret(**given)["g"]
    assert np.allclose(found, expected)


@pytest.mark.parametrize("far", [2**21, 2**31, 2**59])
@pytest.mark.parametrize("forward", [True, False])
def test_memory_does_not_follow_the_constant_of_a_shift(far: int, forward: bool) -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    ot.stop(t, when=x > 3.0)

    def moved(d: Dimension) -> IndexExpression:
        if forward:
            return ot.maximum(ot.minimum(d + far, d.size - 1), 0)
        return ot.maximum(d - far, 0)

    doubled = x * 2.0
    program = ot.Program(stopped=doubled.at(t=moved(t)), plain=ot.sin(x).at(b=moved(b)))
    given = {"x": np.arange(6.0).reshape(2, 3)}
    run, expected = program.compile(), program.interpret(**given)
    found = run(**given)
    assert all(np.allclose(found[name], expected[name]) for name in expected)
    memory = run.explain().memory
    assert memory is not None
    assert memory.predicted_peak_bytes < 2**16


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("step", [2, 3])
def test_a_slice_of_every_other_element_that_is_empty_has_a_gradient(step: int, steps: int) -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    some = x[: t + 1][..., 1::step]
    program = ot.Program(g=ot.grad((some * some).sum(0)[:].sum(0), x))
    given = np.arange(1.0, steps + 1, dtype="float32")
    reads = [len(range(t, steps)) * ((t - 1) % step == 0 and t > 0) for t in range(steps)]
    expected = 2 * given * np.array(reads)
    assert program.interpret(x=given)["g"].tolist() == expected.tolist()
    assert program.compile(checks=["values", "addresses"])(x=given)["g"].tolist() == (
        expected.tolist()
    )


@pytest.mark.parametrize("rules", [RuleSet(()), ot.rules.exact(), None])
def test_a_product_over_an_axis_without_elements_is_zero(rules: RuleSet | None) -> None:
    s = ot.dims("s")
    x = ot.input("x", (0,), over=s)
    past = x[: s + 1]
    near = ot.cos(past @ x)
    h = ot.recurrent("h", over=s)
    h[0] = x[0] @ x[0]
    h[s + 1] = 0.5 * h + x[s + 1] @ x[s + 1] + 1.0
    program = ot.Program(
        near=near, slope=ot.grad(near.sum()[:].sum(0), x), sums=ot.cumsum(x[:] @ x[:].T, 0), h=h
    )
    given = {"x": np.zeros((3, 0))}
    found, expected = program.compile(rules=rules)(**given), program.interpret(**given)
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("rules", [RuleSet(()), None])
@pytest.mark.parametrize("fn", ["argmax", "argmin"])
def test_the_only_element_of_an_axis_is_at_0(fn: str, rules: RuleSet | None) -> None:
    s = ot.dims("s")
    x, rows = ot.input("x", over=s), ot.input("rows", (3, 1), over=s)
    h = ot.recurrent("h", dtype="int32", over=s)
    h[0] = getattr(rows[0, 0], fn)(0) + 5
    h[s + 1] = h + getattr(x[s : s + 1][s + 1], fn)(0)
    program = ot.Program(
        step=getattr(x[s : s + 1] * 2.0, fn)(0),
        column=getattr(rows, fn)(-1) * 0.5,
        row=getattr(rows, fn)(0),
        h=h,
    )
    given = {"x": [1.5, 2.5, -3.5], "rows": np.arange(9.0).reshape(3, 3, 1) - 3.25}
    found, expected = program.compile(rules=rules)(**given), program.interpret(**given)
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_shuffled_vectors_of_addresses_are_checked_lane_by_lane() -> None:
    """A mask takes one lane from another tensor: checks of addresses did not know the form."""
    steps = (
        Step("inside_else_number", a=2, b=2, dim=3, c=2, fold="var"),
        Step("attention_over_half_open", a=2, b=3, c=1, fold="logsumexp"),
    )
    inputs = (((0,), ()), ((0,), ()), ((0,), (17,)))
    recipe = Recipe(inputs, steps, 1, 1, ("float32",) * 3, wild=True)
    trial = Trial(recipe, (511,), seed=355, quick=True, exact=True, rules="some")
    quick(replace(trial, watched="addresses"))


def test_a_sort_reads_a_recurrence_whose_cases_are_apart_as_a_whole() -> None:
    # its rows were choices between the cases: "an operand of argsort has no memory"
    steps = (
        Step(op="huge_recurrence", a=0, b=0, dim=3, c=3, fold="logsumexp"),
        Step(op="sorted", a=1, b=0, dim=1, c=2, fold="mean"),
    )
    recipe = Recipe((((0,), (2, 3)),), steps, 1, 1, ("float32",), wild=True)
    quick(Trial(recipe, (821,), threads=1, seed=56, quick=True, rules="no vectorize"))


@pytest.mark.filterwarnings("ignore:rewriting left a part")
def test_a_mask_of_pairs_of_steps_holds_for_those_that_are_read() -> None:
    # "no order of loops": it was to be computed for pairs with later steps
    steps = (
        Step("stopped", a=0, b=0, dim=0, c=2),
        Step("prompt_of_constant_length", a=1, b=1, dim=3, c=1),
    )
    recipe = Recipe((((0, 1), ()),), steps, 1, 2, ("float32",), mode="second", wild=True)
    quick(Trial(recipe, (799,), seed=10, quick=True, rules="some"))


@pytest.mark.filterwarnings("ignore:rewriting left a part")
def test_pairs_that_are_read_over_another_dimension() -> None:
    """Planning made copies without an end: a dim that only readers have has a step."""
    trial = Trial(
        recipe=Recipe(
            inputs=(((0,), ()),),
            steps=(
                Step(op="pairs_read_outside", a=0, b=0, dim=0, c=2, fold="prod"),
                Step(op="dropped", a=1, b=1, dim=0, c=1, fold="argmax"),
                Step(op="quadrants", a=2, b=2, dim=2, c=3, fold="prod"),
            ),
            outputs=1,
            dims=2,
            dtypes=("float32",),
            mode="values",
            wild=True,
        ),
        extents=(11, 904),
        threads=2,
        hints={},
        widths={"s": 8},
        without=("fuse", "domain"),
        checks=(),
        seed=546,
        quick=True,
        special=False,
        exact=True,
        rules="some",
        watched="",
        left_out=(
            "joined products",
            "tiles of ranges",
            "layout",
            "products",
            "late updates",
            "value numbering",
            "hoisted steps",
            "fewer slots",
            "guards",
            "slices",
            "computing again",
            "padding of tiles",
        ),
    )
    quick(trial)


def test_a_kept_value_without_elements_has_no_price() -> None:
    """Its bytes, which are none, divided the price of computing it again."""
    trial = Trial(
        Recipe(
            inputs=(((0, 1), ()), ((0, 1), (0,)), ((0, 1), (2, 0, 3))),
            steps=(
                Step("stopped", a=2, b=2, dim=2, c=1, fold="weighted"),
                Step("twice", a=3, b=3, dim=0, c=1, fold="mean"),
            ),
            outputs=1,
            dims=2,
            dtypes=("float32", "float32", "float32"),
            mode="values",
            wild=True,
        ),
        extents=(440,),
        threads=1,
        without=("incremental",),
        seed=215,
        quick=True,
        special=True,
        rules="no vectorize",
        memory=0.2,
    )
    quick(trial)


def test_a_range_that_nobody_needs_may_end_before_it_begins() -> None:
    b = ot.dims("b")
    x = ot.input("x", over=b)
    y = ot.where(b % 3 == 1, 1.0, x[b // 2 : b + 1][b - b // 2])
    loss = (y * y).sum()[:].sum()
    program = ot.Program(g=ot.grad(loss, x), loss=loss)
    run = program.compile(checks="addresses", rules=ot.rules.without(*ot.rules.families))
    meant = program.interpret(x=[1, 2, 3, 4, 5])["g"]
    np.testing.assert_allclose(run(x=[1, 2, 3, 4, 5])["g"], meant, rtol=1e-6)


MANY_PIECES = {
    "a slice of a slice of every half step": Recipe(
        (((0,), (2, 3)), ((0, 1, 2), ())),
        (Step("half", 1, 1, 2, 2, "logsumexp"), Step("slice_of_slice", 2, 2, 1, 1, "weighted")),
        2, 3, ("float32", "float32"), "gradient", True,
    ),
    "remainders of remainders": Recipe(
        (((0,), (3,)),),
        (Step("all_at_slice", 0, 0, 3, 1, "max"), Step("kept", 0, 0, 1, 3, "prod"),
         Step("round_down", 2, 2, 2, 1, "mean"), Step("between", 3, 3, 3, 3, "max")),
        1, 1, ("float32",), "gradient", True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MANY_PIECES)
def test_a_gradient_that_is_needed_at_points_of_many_pieces_is_made(name: str) -> None:
    recipe = MANY_PIECES[name]
    replay = Replay(recipe, recipe.dtypes[0])
    program = replay.program()
    given = arguments(replay, {"B": 5, "S": 3, "T": 4, "U": 2}, 1)
    taken = {n: v for n, v in given.items() if n in program.inputs or n in program.extents}
    meant, found = program.interpret(**taken), program.compile(checks="addresses")(**taken)
    for output, value in meant.items():
        np.testing.assert_allclose(found[output], value, rtol=1e-4, atol=1e-4)


def test_an_exact_product_has_the_bits_of_its_sum() -> None:
    """Segments of a loop took a product as a sum: its terms were rounded twice, not once."""
    b, t = ot.dims("b t")
    y = ot.input("x", (3, 37), over=(b, t)) @ ot.input("w", (37, 18))
    program, rng = ot.Program(y=y, z=ot.tanh(y) + 1.0), np.random.default_rng(3)
    given = {
        "x": rng.normal(size=(5, 7, 3, 37)).astype(np.float32),
        "w": rng.normal(size=(37, 18)).astype(np.float32),
    }
    product = program.compile(exact=True)
    as_sum = program.compile(exact=True, without=["products"])
    assert str(product.explain().schedule) != str(as_sum.explain().schedule)
    expected, found = product(**given), as_sum(**given)
    assert all(found[name].tobytes() == value.tobytes() for name, value in expected.items())


def test_cases_of_segments_are_split_at_steps_of_which_there_are_fewer_in_the_last() -> None:
    """An assertion failed: the last segment's steps are as many as its number leaves."""
    recipe = Recipe(
        inputs=(((0, 1, 2), (1,)),),
        steps=(Step("ahead_of_left", a=0, b=0, dim=1, c=3, fold="discounted"),),
        outputs=2, dims=3, mode="gradient", wild=True,
    )  # fmt: skip
    quick(Trial(
        recipe, extents=(242, 865), threads=3, hints={}, widths={},
        without=("vectorize", "view", "matmul"), checks=(), seed=999, quick=True,
        rules="no vectorize", watched="memory",
        left_out=("merged cases", "transposed copies", "late updates", "padding of tiles"),
    ))  # fmt: skip


def test_a_row_that_a_minimum_picks_is_one_row() -> None:
    """A plan of transfers was refused by its proof: the call stands at row min(2 b + 1, B) - 1."""
    recipe = Recipe(
        inputs=(((0, 1), (1,)),),
        steps=(Step("doubling", a=0, b=0, dim=2, c=1, fold="max"),),
        outputs=1, dims=2, dtypes=("float32",), wild=True,
    )  # fmt: skip
    quick(Trial(
        recipe, extents=(579,), threads=3, hints={}, widths={}, without=(), checks=(), seed=10,
        quick=True, special=True, exact=True, rules="exact", watched="memory", left_out=(),
        memory=0.0,
    ))  # fmt: skip


def test_a_computed_step_of_a_computed_step_asks_for_no_extent_of_its_own() -> None:
    b, t = ot.dims("b t")
    x, seen = ot.input("x", (2,), over=t), ot.input("seen", over=t)
    low = ot.maximum(t - 2, 0)
    near = ot.minimum(ot.index(low) + (seen[...] * 5.0).cast("int32") % 3, ot.index(t))
    chosen = x.at(t=near, within=(low, t + 1))[:][ot.input("order", dtype="int32", over=b)]
    program = ot.Program(y=chosen * 2.0)
    rng = np.random.default_rng(0)
    given = {"x": rng.random((7, 2)), "seen": rng.random(7), "order": [3, 0, 6, 6]}
    found = program.compile()(**given)["y"]
    np.testing.assert_array_equal(found, program.interpret(**given)["y"])


def test_a_value_beside_one_of_a_single_step_is_computed_again() -> None:
    quick(Trial(
        Recipe((((0,), ()),), (
            Step("stopped", 0, 0, 2, 2, "logsumexp"), Step("over_few_steps", 1, 1, 2, 2, "max"),
        ), 1, 2, ("float32",), "values", wild=True),
        extents=(219,), threads=1, hints={}, widths={}, without=(), checks=(), seed=796,
        quick=True, special=False, exact=False, rules="some", watched="", left_out=(),
        memory=0.2,
    ))  # fmt: skip

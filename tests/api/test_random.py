"""Draws: ranges, independence of the rest of the program, and categorical frequencies."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.pdg.errors import DtypeError, ShapeError


def test_a_seed_and_a_program_fix_every_draw() -> None:
    def draw(seed: int) -> npt.NDArray[Any]:
        t = ot.dims("t")
        u = ot.random.uniform((3,), -1.0, 1.0, over=t)
        return ot.Program(u=u).interpret(T=50, seed=seed)["u"]

    assert np.array_equal(draw(0), draw(0))
    assert not np.array_equal(draw(0), draw(1))
    assert draw(0).min() >= -1 and draw(0).max() < 1 and abs(draw(0).mean()) < 0.2


def test_calls_draw_different_numbers() -> None:
    t = ot.dims("t")
    program = ot.Program(u=ot.random.uniform(over=t), v=ot.random.uniform(over=t))
    out = program.interpret(T=4)
    assert not np.array_equal(out["u"], out["v"])


def test_bounds_may_be_tensors() -> None:
    t = ot.dims("t")
    u = ot.random.uniform((), ot.index(t), t + 1.0, over=t)
    out = ot.Program(u=u).interpret(T=6)["u"]
    assert np.array_equal(np.floor(out), np.arange(6))


MU, SCALE = (3, 1), (2,)


def with_parameters(name: str, a: ot.Tensor, b: ot.Tensor, **more: Any) -> ot.Tensor:
    """Draws of which a and b decide the distribution."""
    match name:
        case "uniform":
            return ot.random.uniform(low=a, high=a + b, **more)
        case "normal":
            return ot.random.normal(mean=a, std=b, **more)
        case "exponential":
            return ot.random.exponential(scale=a * a + b, **more)
        case "gumbel":
            return ot.random.gumbel(location=a, scale=b, **more)
        case _:
            return ot.random.laplace(location=a, scale=b, **more)


WITH_PARAMETERS = ("uniform", "normal", "exponential", "gumbel", "laplace")


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_draws_are_independent_at_every_point_and_element_of_their_parameters(name: str) -> None:
    b, t = ot.dims("b t")
    mu, scale = ot.input("mu", MU, over=t), ot.input("scale", SCALE)
    given = {"mu": np.zeros((5, *MU), np.float32), "scale": np.ones(SCALE, np.float32)}
    same = ot.Program(y=with_parameters(name, mu, scale)).interpret(**given)["y"]
    assert same.shape == (5, 3, 2) and len(np.unique(same)) == same.size
    more = ot.Program(y=with_parameters(name, mu, scale, shape=(4, 3, 2), over=b)).interpret(
        B=2, **given
    )["y"]
    assert more.shape == (2, 5, 4, 3, 2) and len(np.unique(more)) == more.size


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_a_shape_that_parameters_do_not_fit_is_refused(name: str) -> None:
    mu, scale = ot.input("mu", MU), ot.input("scale", SCALE)
    with pytest.raises(ShapeError, match=r"draws of shape \(2,\) whose parameters have shape "):
        with_parameters(name, mu, scale, shape=(2,))


def test_gradients_flow_to_the_parameters_of_normal_draws() -> None:
    mu, std = ot.input("mu", (3,)), ot.input("std", (3,))
    drawn = ot.random.normal(mean=mu, std=std)
    program = ot.Program(x=drawn, mu=ot.grad(drawn.sum(), mu), std=ot.grad(drawn.sum(), std))
    found = program.interpret(mu=[1.0, 2.0, 3.0], std=[0.5, 0.5, 0.5])
    assert found["mu"].tolist() == [1.0] * 3
    np.testing.assert_allclose(found["x"], [1, 2, 3] + 0.5 * found["std"], rtol=1e-5)


def test_bounds_of_integers_may_be_tensors() -> None:
    i, k = ot.dims("i k")
    low, high = ot.input("low", (3,), "int32", over=i), ot.input("high", dtype="int64")
    program = ot.Program(y=ot.random.integers(low, high, over=k, dtype="int64"))
    lows = np.array([[-5, 0, 9], [10, 11, -(2**30)]])
    for run in (program.interpret, program.compile()):
        found = run(low=lows.astype(np.int32), high=np.int64(10), K=400)["y"]
        assert found.shape == (2, 400, 3) and found.dtype == np.int64
        for row, column in np.ndindex(2, 3):
            drawn, least = found[row, :, column], lows[row, column]
            assert drawn.min() >= least and drawn.max() < max(least + 1, 10)
            assert len(np.unique(drawn)) == np.clip(10 - least, 1, 400)


def test_real_bounds_of_integers_are_refused() -> None:
    with pytest.raises(DtypeError, match="a bound of random integers, `x`, is float32"):
        ot.random.integers(0, ot.input("x"))


def test_normal_draws_have_the_given_moments() -> None:
    x = ot.random.normal((4000,), 2.0, 3.0, dtype="float64")
    out = ot.Program(x=x).interpret()["x"]
    assert out.dtype == np.float64
    assert abs(out.mean() - 2) < 0.15 and abs(out.std() - 3) < 0.15


def test_a_permutation_has_every_number_once_in_another_order_at_every_point() -> None:
    t = ot.dims("t")
    out = ot.Program(p=ot.random.permutation(5, over=t, shape=2)).interpret(T=40)["p"]
    assert out.dtype == np.int32 and out.shape == (40, 2, 5)
    assert np.array_equal(np.sort(out, -1), np.broadcast_to(np.arange(5), out.shape))
    firsts = np.bincount(out[..., 0].ravel(), minlength=5)
    assert firsts.min() > 5 and len(np.unique(out.reshape(80, 5), axis=0)) > 40


def test_the_24_orders_of_four_are_equally_likely() -> None:
    t = ot.dims("t")
    out = ot.Program(p=ot.random.permutation(4, over=t)).interpret(T=12_000, seed=5)["p"]
    counts = np.unique(out @ [64, 16, 4, 1], return_counts=True)[1]
    assert len(counts) == 24
    assert ((counts - 500.0) ** 2 / 500).sum() < 49.7  # 23 degrees of freedom: 1 of 1000


def test_every_number_is_anywhere_in_a_long_permutation() -> None:
    n, runs = 256, 2000
    rows = ot.random.permutation(n, shape=runs)
    out = ot.Program(p=rows).interpret(seed=2)["p"].astype(int)
    where = np.zeros((n, n))
    np.add.at(where, (np.arange(n)[None], out), 1.0)
    freedom = (n - 1) ** 2
    squares = ((where - runs / n) ** 2).sum() * n / runs * (n - 1) / n
    assert abs(squares - freedom) < 5 * np.sqrt(2 * freedom)
    falls = (np.diff(out, axis=-1) < 0).mean()
    assert abs(falls - 0.5) < 5 * np.sqrt(1 / 12 / (n * runs))


@pytest.mark.parametrize("n", [4, 5, 16, 33])
def test_half_of_the_permutations_are_even(n: int) -> None:
    rows = ot.Program(p=ot.random.permutation(n, shape=4000)).interpret(seed=n)["p"]
    falls = (rows[:, :, None] > rows[:, None, :])[:, *np.triu_indices(n, 1)].sum(-1)
    assert abs((falls % 2).mean() - 0.5) < 5 * np.sqrt(0.25 / 4000)


def test_a_permutation_may_be_as_long_as_a_dimension() -> None:
    t = ot.dims("t")
    out = ot.Program(p=ot.random.permutation(t.size)).interpret(T=6)["p"]
    assert sorted(out.tolist()) == list(range(6))


def test_categorical_draws_follow_the_probabilities() -> None:
    t = ot.dims("t")
    logits = ot.log(ot.constant([0.2, 0.5, 0.3])) + 0.0 * ot.index(t)
    out = ot.Program(a=ot.random.categorical(logits)).interpret(T=2000)["a"]
    assert out.dtype == np.int32
    np.testing.assert_allclose(np.bincount(out) / 2000, [0.2, 0.5, 0.3], atol=0.04)


def test_categorical_draws_once_per_place_of_the_other_axes() -> None:
    rows = ot.random.categorical(ot.zeros((8, 4)))
    out = ot.Program(a=rows).interpret()["a"]
    assert out.shape == (8,) and len(set(out.tolist())) > 1


def test_a_certain_outcome_is_always_drawn() -> None:
    t = ot.dims("t")
    logits = ot.one_hot(ot.index(t) % 3, 3) * 200.0
    out = ot.Program(a=ot.random.categorical(logits)).interpret(T=9)["a"]
    assert out.tolist() == [0, 1, 2] * 3


@pytest.mark.parametrize("seed", [2**32, 5 << 32, 2**63 + 1, 2**64 - 1])
def test_a_seed_of_64_bits_draws_what_the_definition_says_and_no_other_seed_does(seed: int) -> None:
    over = ot.dims("a b c d")  # the last coordinate is in the key
    program = ot.Program(u=ot.random.uniform((2,), over=over), n=ot.random.normal((3,)))
    run, sizes = program.compile(), dict.fromkeys("ABCD", 2)
    expected, found = program.interpret(seed=seed, **sizes), run(seed=seed, **sizes)
    np.testing.assert_array_equal(found["u"], expected["u"])
    np.testing.assert_allclose(found["n"], expected["n"], rtol=1e-6)
    others = [seed >> 32, seed & 0xFFFFFFFF, (seed ^ seed >> 32) & 0xFFFFFFFF]
    assert all(not np.array_equal(run(seed=k, **sizes)["u"], found["u"]) for k in others)


LARGEST = (16390493, 28454778, 34531142)  # seeds whose first draw is 1 - 2**-24


@pytest.mark.parametrize(("places", "possible"), [(2, 1), (4, 3), (8, 7), (32, 20), (200, 120)])
def test_what_has_no_probability_is_never_drawn(places: int, possible: int) -> None:
    """Probabilities add up to 1 but for rounding, and the largest draw lay behind their sum."""
    logits = ot.input("logits", (places,))
    program = ot.Program(y=ot.random.categorical(logits))
    runs = program.interpret, program.compile(), program.compile(exact=True)
    rows = np.random.default_rng(0).normal(0.0, 2.0, (12, places)).astype(np.float32)
    rows[:, possible:] = -np.inf
    drawn = [f(logits=row, seed=seed)["y"] for f in runs for row in rows for seed in LARGEST]
    assert max(drawn) == possible - 1


def test_a_draw_from_ragged_steps_is_one_of_them() -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    ot.stop(t, when=x > 9.0)
    program = ot.Program(y=ot.random.categorical(x[b, :]), length=ot.length(t))
    rows = np.random.default_rng(0).normal(0.0, 2.0, (12, 9)).astype(np.float32)
    rows[np.arange(12), 2 + np.arange(12) % 5] = 9.5
    for f in (program.interpret, program.compile()):
        for seed in LARGEST:
            found = [f(x=row[None], seed=seed) for row in rows]
            assert all(each["y"] < each["length"] for each in found)
    drawn = program.compile()(x=np.repeat(rows[:1], 400, 0))["y"]
    assert drawn.max() == 2

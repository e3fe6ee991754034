"""Draws follow their distributions: Kolmogorov's distance and moments, with fixed seeds."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot

Array = npt.NDArray[Any]
N = 4000
LIMIT = 1.95  # of sqrt(N) times Kolmogorov's distance: exceeded once in a thousand samples


def draws(tensor: ot.Tensor, seed: int = 0, **arguments: Any) -> Array:
    return ot.Program(y=tensor).interpret(seed=seed, **arguments)["y"]


def each(fn: Callable[[float], float]) -> Callable[[Array], Array]:
    return np.vectorize(fn, otypes=[np.float64])


def laplace(x: Array) -> Array:
    return np.asarray(0.5 + 0.5 * np.sign(x - 1) * -np.expm1(-np.abs(x - 1) / 2))


def erlang(x: Array) -> Array:
    return np.asarray(1 - np.exp(-x) * (1 + x + x * x / 2))


DISTRIBUTIONS: dict[str, tuple[Callable[[], ot.Tensor], Callable[[Array], Array]]] = {
    "exponential": (lambda: ot.random.exponential(N, 2.0), lambda x: -np.expm1(-x / 2)),
    "gumbel": (lambda: ot.random.gumbel(N, 1.0, 0.5), lambda x: np.exp(-np.exp(-(x - 1) / 0.5))),
    "laplace": (lambda: ot.random.laplace(N, 1.0, 2.0), laplace),
    "gamma 3": (lambda: ot.random.gamma(3.0, shape=N), erlang),
    "gamma 1": (lambda: ot.random.gamma(1.0, 2.0, N), lambda x: -np.expm1(-x / 2)),
    "gamma 0.5": (lambda: ot.random.gamma(0.5, shape=N), each(lambda x: math.erf(math.sqrt(x)))),
    "beta 2 3": (
        lambda: ot.random.beta(2.0, 3.0, N),
        lambda x: 6 * x**2 - 8 * x**3 + 3 * x**4,
    ),
    "beta 0.5 0.5": (
        lambda: ot.random.beta(0.5, 0.5, N),
        lambda x: 2 / np.pi * np.arcsin(np.sqrt(x)),
    ),
    "dirichlet": (
        lambda: ot.random.dirichlet(ot.ones((N, 3)))[:, 1],
        lambda x: 1 - (1 - x) ** 2,
    ),
    "integers": (lambda: ot.random.integers(0, 2**20, N).cast("float64") / 2**20, lambda x: x),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_draws_follow_their_distribution(name: str) -> None:
    make, cumulative = DISTRIBUTIONS[name]
    x = np.sort(draws(make()).astype(np.float64))
    expected = cumulative(x)
    above = np.arange(1, N + 1) / N - expected
    below = expected - np.arange(N) / N
    assert math.sqrt(N) * max(above.max(), below.max()) < LIMIT


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws_have_the_type_that_is_asked_for(dtype: str) -> None:
    for fn in (ot.random.exponential, ot.random.gumbel, ot.random.laplace):
        assert draws(fn(3, dtype=dtype)).dtype == dtype
    alpha = ot.ones((3,), dtype)
    assert draws(ot.random.gamma(alpha)).dtype == draws(ot.random.beta(alpha, 2.0)).dtype == dtype
    assert draws(ot.random.integers(0, 9, 3, dtype="int64")).dtype == np.int64


def test_large_concentrations_have_their_moments() -> None:
    x = draws(ot.random.gamma(ot.full((N,), 50.0)))
    assert abs(x.mean() - 50) < 0.5 and abs(x.var() - 50) < 5


def test_tiny_concentrations_stay_finite() -> None:
    x = draws(ot.random.beta(ot.full((200,), 1e-3), 1e-3))
    assert np.isfinite(x).all() and 60 < (x > 0.5).sum() < 140
    p = draws(ot.random.dirichlet(ot.full((50, 4), 1e-3)))
    np.testing.assert_allclose(p.sum(-1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("alpha", [1e-3, 0.01, 0.5, 2.0, 1e6])
def test_draws_lie_inside_of_their_range(dtype: str, alpha: float) -> None:
    """Half of the draws of beta with 0.01 were 0 or 1, where its density has no logarithm."""
    both = ot.full((2000,), alpha, dtype)
    gamma, part = ot.random.gamma(both, 0.5), ot.random.beta(both, alpha)
    shares = ot.random.dirichlet(both.reshape(500, 4))
    program = ot.Program(gamma=gamma, part=part, shares=shares)
    for f in (program.interpret, program.compile()):
        found = f()
        assert (found["gamma"] > 0).all() and np.isfinite(found["gamma"]).all()
        assert (found["part"] > 0).all() and (found["part"] < 1).all()
        assert (found["shares"] > 0).all()
        np.testing.assert_allclose(found["shares"].sum(-1), 1.0, rtol=1e-5)


def test_integers_are_even_and_inside() -> None:
    counts = np.bincount(draws(ot.random.integers(-2, 4, 6000)) + 2, minlength=6)
    assert counts.size == 6 and np.abs(counts - 1000).max() < 110
    assert draws(ot.random.integers(5, 6, 4)).tolist() == [5, 5, 5, 5]


def test_booleans_have_their_probability() -> None:
    p = ot.constant([0.0, 0.1, 0.75, 1.0])
    x = draws(ot.random.bernoulli(p, shape=(N, 4)))
    assert x.dtype == bool
    np.testing.assert_allclose(x.mean(0), [0.0, 0.1, 0.75, 1.0], atol=0.025)


def test_parameters_may_change_from_point_to_point() -> None:
    t = ot.dims("t")
    scale = ot.index(t) + 1.0
    x = draws(ot.random.gamma(100.0 * scale, 1.0 / scale), T=40)
    assert x.shape == (40,) and np.all(np.abs(x - 100) < 50) and len(np.unique(x)) == 40


def test_draws_are_independent_over_further_dimensions() -> None:
    b, t = ot.dims("b t")
    alpha = ot.index(t) + 1.0
    x = draws(ot.random.gamma(alpha, over=b), B=3, T=4)
    assert len(np.unique(x)) == 12
    assert np.array_equal(x, draws(ot.random.gamma(alpha, over=b), B=5, T=4)[:3])


def test_gradients_flow_to_locations_and_scales() -> None:
    scale = ot.input("scale")
    total = ot.random.gumbel(3, 0.0, scale).sum() + ot.random.gamma(2.0, scale)
    program = ot.Program(y=total, g=ot.grad(total, scale))
    found = program.interpret(scale=2.0)
    np.testing.assert_allclose(found["g"] * 2.0, found["y"], rtol=1e-6)


def test_no_gradient_flows_to_a_concentration() -> None:
    alpha = ot.input("alpha", (3,))
    total = ot.random.gamma(alpha).sum() + ot.random.dirichlet(alpha)[0]
    assert draws(ot.grad(total, alpha)).tolist() == [0.0, 0.0, 0.0]

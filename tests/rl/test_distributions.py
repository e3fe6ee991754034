"""Every distribution against SciPy's: densities, entropy, divergences, draws and gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import rl
from ostinato.pdg.errors import ArgumentError, ShapeError

Array = npt.NDArray[Any]
_STATS: Any = import_module("scipy.stats")  # it has no types
_INTEGRATE: Any = import_module("scipy.integrate")
N = 20_000


@dataclass(frozen=True)
class Case:
    """A distribution of two parameters, and what one number of it has in SciPy.

    Its first parameter is ``scale * p + start`` of a number p around 0.
    """

    made: Callable[[ot.Tensor, ot.Tensor], rl.Distribution]
    known: Callable[[float, float], Any]
    first: tuple[float, float]
    second: tuple[float, float]
    support: tuple[float, float]


CONTINUOUS = {
    "normal": Case(
        rl.Normal,
        lambda mean, log_std: _STATS.norm(mean, np.exp(log_std)),
        (0.3, -1.2),
        (0.4, -0.7),
        (-np.inf, np.inf),
    ),
    "beta": Case(
        lambda a, b: rl.Beta(a, b, low=-2.0, high=3.0),
        lambda a, b: _STATS.beta(a, b, -2.0, 5.0),
        (1.5, 4.0),
        (2.5, 1.2),
        (-2.0, 3.0),
    ),
}


def of(case: Case, first: Sequence[float], second: Sequence[float]) -> rl.Distribution:
    a, b = (ot.constant(x, "float64") for x in (first, second))
    return case.made(a, b)


def value(x: ot.Tensor, **arguments: object) -> Array:
    return ot.Program(y=x).interpret(**arguments)["y"]


def many(x: ot.Tensor, **arguments: object) -> Array:
    """Values of thousands of steps: machine code, which the interpreter would take seconds for."""
    return ot.Program(y=x).compile()(**arguments)["y"]


@pytest.mark.parametrize("name", CONTINUOUS)
def test_log_densities_and_entropies_of_vectors_are_sums(name: str) -> None:
    case = CONTINUOUS[name]
    policy = of(case, case.first, case.second)
    known = [case.known(*pair) for pair in zip(case.first, case.second, strict=True)]
    at = [float(each.ppf(q)) for each, q in zip(known, (0.2, 0.9), strict=True)]
    expected = sum(each.logpdf(x) for each, x in zip(known, at, strict=True))
    np.testing.assert_allclose(value(policy.log_prob(ot.constant(at, "float64"))), expected)
    np.testing.assert_allclose(value(policy.entropy()), sum(each.entropy() for each in known))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_divergences_are_integrals(name: str) -> None:
    case = CONTINUOUS[name]
    pairs = zip(_rows(case.first), _rows(case.second), strict=True)
    mine, yours = (of(case, a, b) for a, b in pairs)
    p, q = (case.known(*pair) for pair in zip(case.first, case.second, strict=True))

    def gain(x: float) -> float:
        return float(p.pdf(x) * (p.logpdf(x) - q.logpdf(x)))

    expected = _INTEGRATE.quad(gain, *np.clip(case.support, -20, 20), limit=200)[0]
    np.testing.assert_allclose(value(mine.kl(yours)), expected, rtol=1e-5)
    np.testing.assert_allclose(value(mine.kl(mine)), 0.0, atol=1e-12)


def _rows(pair: tuple[float, float]) -> list[list[float]]:
    return [[x] for x in pair]


@pytest.mark.parametrize("name", CONTINUOUS)
def test_draws_follow_the_distribution(name: str) -> None:
    case = CONTINUOUS[name]
    t = ot.dims("t")
    first = ot.input("first", (2,), over=t)
    policy = case.made(first, ot.constant(case.second))
    drawn = many(policy.sample(), first=np.tile(np.array(case.first, np.float32), (N, 1)))
    for k, pair in enumerate(zip(case.first, case.second, strict=True)):
        assert _STATS.kstest(drawn[:, k], case.known(*pair).cdf).pvalue > 1e-3


def squashed(low: float = -2.0, high: float = 6.0) -> rl.SquashedNormal:
    mean, log_std = ot.constant([0.5, -1.0], "float64"), ot.constant([0.0, -1.0], "float64")
    return rl.SquashedNormal(mean, log_std, low, high)


def test_the_density_of_a_squashed_normal_is_that_of_the_change_of_variables() -> None:
    action = np.array([3.0, -1.5])
    u = np.arctanh((action + 2.0) / 4.0 - 1.0)
    inner = _STATS.norm([0.5, -1.0], np.exp([0.0, -1.0])).logpdf(u)
    expected = (inner - np.log(4.0 * (1.0 - np.tanh(u) ** 2))).sum()
    found = value(squashed().log_prob(ot.constant(action, "float64")))
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_a_draw_of_a_squashed_normal_has_its_density_at_the_edge_too() -> None:
    t = ot.dims("t")
    mean = ot.input("mean", (1,), "float64", over=t)
    policy = rl.SquashedNormal(mean, ot.constant([0.0], "float64"))
    action = policy.sample()
    program = ot.Program(action=action, log_prob=rl.log_prob(action), mode=policy.mode)
    out = program.interpret(mean=np.array([[0.0], [30.0], [-300.0]]))
    assert np.isfinite(out["log_prob"]).all() and abs(out["action"][1, 0]) == 1.0
    np.testing.assert_allclose(out["mode"][:, 0], np.tanh([0.0, 30.0, -300.0]))
    inside = np.arctanh(out["action"][0, 0])
    expected = _STATS.norm(0, 1).logpdf(inside) - np.log(1 - np.tanh(inside) ** 2)
    np.testing.assert_allclose(out["log_prob"][0], expected, rtol=1e-6)


def test_the_entropy_of_a_squashed_normal_is_right_on_average() -> None:
    t = ot.dims("t")
    mean = ot.input("mean", (1,), "float64", over=t)
    policy = rl.SquashedNormal(mean, ot.constant([-0.5], "float64"), low=0.0, high=3.0)
    found = many(policy.entropy(), mean=np.full((N, 1), 0.4)).mean()
    u = np.random.default_rng(0).normal(0.4, np.exp(-0.5), 400_000)
    slope = np.log(1.5 * (1 - np.tanh(u) ** 2))
    np.testing.assert_allclose(
        found, _STATS.norm(0, np.exp(-0.5)).entropy() + slope.mean(), atol=0.02
    )


def test_a_divergence_of_squashed_distributions_is_that_of_what_is_squashed() -> None:
    other = rl.SquashedNormal(
        ot.constant([0.1, 0.2], "float64"), ot.constant([0.3, 0.4], "float64")
    )
    mine = squashed()
    np.testing.assert_allclose(value(mine.kl(other)), value(mine.normal.kl(other.normal)))


PART = np.array([0.1, 2.0, -1.0, 0.5, 0.0])


def softmax(x: Array) -> Array:
    return np.asarray(np.exp(x) / np.exp(x).sum())


def test_parts_of_a_multi_discrete_action_are_independent() -> None:
    policy = rl.MultiDiscrete(ot.constant(PART, "float64"), sizes=(2, 3))
    p, q = softmax(PART[:2]), softmax(PART[2:])
    table = [value(policy.log_prob(ot.constant([a, b]))) for a in range(2) for b in range(3)]
    np.testing.assert_allclose(table, np.log(np.outer(p, q)).ravel())
    entropy = -sum((x * np.log(x)).sum() for x in (p, q))
    np.testing.assert_allclose(value(policy.entropy()), entropy)
    assert value(policy.mode).tolist() == [p.argmax(), q.argmax()]
    other = rl.MultiDiscrete(ot.constant(PART[::-1], "float64"), sizes=(2, 3))
    r, s = softmax(PART[::-1][:2]), softmax(PART[::-1][2:])
    expected = (p * np.log(p / r)).sum() + (q * np.log(q / s)).sum()
    np.testing.assert_allclose(value(policy.kl(other)), expected)


def test_draws_of_discrete_distributions_are_as_frequent_as_they_are_probable() -> None:
    t = ot.dims("t")
    logits = ot.input("logits", (5,), over=t)
    given = np.tile(PART.astype(np.float32), (N, 1))
    several = many(rl.MultiDiscrete(logits, (2, 3)).sample(), logits=given)
    for k, part in enumerate((PART[:2], PART[2:])):
        found = np.bincount(several[:, k], minlength=len(part)) / N
        np.testing.assert_allclose(found, softmax(part), atol=0.015)
    switches = many(rl.Bernoulli(logits).sample(), logits=given)
    assert switches.dtype == np.int32
    np.testing.assert_allclose(switches.mean(0), 1 / (1 + np.exp(-PART)), atol=0.015)


def test_switches() -> None:
    policy = rl.Bernoulli(ot.constant(PART, "float64"))
    p = 1 / (1 + np.exp(-PART))
    action = np.array([1, 0, 1, 1, 0])
    expected = _STATS.bernoulli(p).logpmf(action).sum()
    np.testing.assert_allclose(value(policy.log_prob(ot.constant(action))), expected)
    np.testing.assert_allclose(value(policy.entropy()), _STATS.bernoulli(p).entropy().sum())
    assert value(policy.mode).tolist() == (p > 0.5).astype(int).tolist()
    other, q = rl.Bernoulli(ot.constant(-PART, "float64")), 1 - p
    divergence = (p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).sum()
    np.testing.assert_allclose(value(policy.kl(other)), divergence)


def test_switches_that_are_certain_have_finite_logarithms() -> None:
    policy = rl.Bernoulli(ot.constant([1000.0, -1000.0]))
    assert value(policy.log_prob(ot.constant([1, 0]))) == 0.0
    assert value(policy.log_prob(ot.constant([0, 1]))) == -2000.0
    assert value(policy.entropy()) == 0.0


def test_categorical_divergence_and_mode() -> None:
    p, q = softmax(PART), softmax(PART[::-1])
    mine, other = (rl.Categorical(ot.constant(x, "float64")) for x in (PART, PART[::-1]))
    np.testing.assert_allclose(value(mine.kl(other)), (p * np.log(p / q)).sum())
    assert value(mine.mode) == 1


def test_gradients_flow_through_reparametrised_draws_only() -> None:
    mean, log_std = ot.input("mean", (2,)), ot.input("log_std", (2,))
    policies = (rl.Normal(mean, log_std), rl.SquashedNormal(mean, log_std))
    for policy in policies:
        still, moves = policy.sample(), policy.rsample()
        program = ot.Program(
            drawn=moves,
            still=ot.grad(still.sum(), mean),
            moves=ot.grad(moves.sum(), mean),
            score=ot.grad(rl.log_prob(still), mean),
        )
        out = program.interpret(mean=[0.1, 0.2], log_std=[0.0, -1.0])
        assert not out["still"].any() and out["moves"].all() and out["score"].all()


WRONG: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a normal number": (
        lambda: rl.Normal(ot.constant(0.0), ot.constant(0.0)),
        ShapeError,
        "a distribution over vectors with the parameter the constant 0.0, a scalar",
    ),
    "too few logits": (
        lambda: rl.MultiDiscrete(ot.input("w", (4,)), sizes=(2, 3)),
        ShapeError,
        "logits `w` of 4 for choices of (2, 3)\n  Give 5 logits, as many as choices.",
    ),
    "a box the wrong way round": (
        lambda: rl.SquashedNormal(ot.zeros(1), ot.zeros(1), low=1.0, high=-1.0),
        ArgumentError,
        "actions between 1.0 and -1.0\n  Give the lower bound first.",
    ),
    "two kinds": (
        lambda: rl.Categorical(ot.zeros(2)).kl(rl.Bernoulli(ot.zeros(2))),
        ArgumentError,
        "the divergence of a Categorical from a Bernoulli\n"
        "  Compare two distributions of one kind.",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_told(name: str) -> None:
    mistake, kind, text = WRONG[name]
    with pytest.raises(kind) as caught:
        mistake()
    assert text in str(caught.value)

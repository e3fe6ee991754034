"""Folds over ranges that follow the point: written plainly, computed in linear time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.rewrite.optimize import RewriteOptions, optimize

t = ot.dims("t")
T = 24
x, f, g = (ot.input(name, over=t) for name in "xfg")
v = ot.input("v", shape=(3,), over=t)
w = ot.input("w", shape=(2,), over=t)
holds = ot.input("holds", dtype="bool", over=t)
logit = ot.input("logit", over=t)
Arrays = Mapping[str, npt.NDArray[np.generic]]

PAST, COMING = slice(None, t + 1), slice(t, None)
BEFORE, AFTER = slice(None, t), slice(t + 1, None)


def softmax_mean(part: slice) -> ot.Tensor:
    return (ot.softmax(logit[part], 0)[..., None] * v[part]).sum(0)


FORMS: dict[str, ot.Tensor] = {
    **{f"{fold} so far": getattr(x[PAST], fold)(0) for fold in ("sum", "mean", "max", "prod")},
    **{f"{fold} to come": getattr(x[COMING], fold)(0) for fold in ("sum", "mean", "min", "prod")},
    **{f"{fold} before": getattr(x[BEFORE], fold)(0) for fold in ("sum", "max", "min", "prod")},
    **{f"{fold} after": getattr(v[AFTER], fold)(0) for fold in ("sum", "max", "min", "prod")},
    "any so far": holds[PAST].any(0),
    "all to come": holds[COMING].all(0),
    "any before": holds[BEFORE].any(0),
    "sum of some": ot.where(holds[PAST], x[PAST], 0.0).sum(0),
    "mean of some": (x[PAST] * holds[PAST].cast("float32")).sum(0) / holds[PAST].sum(0),
    "sum of sums": x[PAST].sum(0)[PAST].sum(0),
    "weights of both steps": (f * g[PAST] * x[PAST]).sum(0),
    "quotients of both steps": (g[PAST] / (f * f + 1.0) * x[PAST]).sum(0),
    "logsumexp so far": ot.logsumexp(x[PAST], 0),
    "logsumexp of vectors": ot.logsumexp(v[PAST], 0),
    "logsumexp to come": ot.logsumexp(x[COMING], 0),
    "softmax mean": (ot.softmax(logit[PAST], 0) * x[PAST]).sum(0),
    "softmax mean of vectors": softmax_mean(PAST),
    "softmax mean to come": softmax_mean(COMING),
    "variance so far": x[PAST].var(0),
    "deviation of vectors to come": v[COMING].std(0),
    "variance before": x[BEFORE].var(0),
    "unbiased variance": ((x[PAST] - x[PAST].mean(0)) ** 2).sum(0) / ot.index(t).cast("float32"),
    "covariance": ((x[PAST] - x[PAST].mean(0)) * (g[PAST] - g[PAST].mean(0))).mean(0),
    "outer products": v[PAST].T @ w[PAST],
    "linear attention": (v @ v[PAST].T) @ w[PAST],
    "linear attention by columns": (v[PAST] @ v) @ w[PAST],
    "linear attention to come": (v @ v[COMING].T) @ w[COMING],
    "softmax product": ot.softmax(logit[PAST], 0) @ v[PAST],
}


def arguments(program: ot.Program, special: bool) -> Arrays:
    """Numbers, or the same with infinities and a NaN among the last ones."""
    rng = np.random.default_rng(0)
    shapes = {"v": (T, 3), "w": (T, 2), "holds": (T,)}
    drawn = {name: rng.normal(size=shapes.get(name, (T,))) for name in sorted(program.inputs)}
    if special:
        for name in drawn.keys() & {"x", "v", "logit"}:
            drawn[name][0], drawn[name][9] = -np.inf, -np.inf
            drawn[name][17], drawn[name][20] = np.inf, np.nan
    kept = {name: a > 0 if name == "holds" else a.astype("float32") for name, a in drawn.items()}
    return {name: np.asarray(a) for name, a in kept.items()}


def price(value: ot.Tensor, steps: int) -> float:
    options = RewriteOptions(hints={"T": steps})
    return optimize(ot.Program(y=value).pdg, options).report.price_after


@pytest.mark.parametrize("name", FORMS)
def test_the_predicted_time_is_linear_in_the_steps(name: str) -> None:
    assert price(FORMS[name], 8192) < 2.5 * price(FORMS[name], 4096)


@pytest.mark.parametrize("name", [n for n in FORMS if "both" not in n])
def test_the_compiled_form_agrees_with_the_interpreter_also_of_infinities(name: str) -> None:
    program = ot.Program(y=FORMS[name])
    compiled = program.compile(hints={"T": 4096})
    for special in (False, True):
        given = arguments(program, special)
        with np.errstate(all="ignore"):
            expected, found = program.interpret(**given)["y"], compiled(**given)["y"]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


WINDOWS: dict[str, Callable[[int], slice]] = {
    "past": lambda n: slice(ot.maximum(t - (n - 1), 0), t + 1),
    "coming": lambda n: slice(t, ot.minimum(t + n, t.size)),
}


@pytest.mark.parametrize("side", WINDOWS)
def test_an_infinity_leaves_a_long_window_of_sums(side: str) -> None:
    program = ot.Program(y=x[WINDOWS[side](301)].sum(0))
    given = np.ones(700, "float32")
    given[350] = np.inf
    found = program.compile(hints={"T": 100_000})(x=given)["y"]
    np.testing.assert_array_equal(found, program.interpret(x=given)["y"])
    assert np.isfinite(found[[0, -1]]).all() and np.isinf(found[350])


VARIANCES: dict[str, slice] = {
    "so far": PAST,
    "to come": COMING,
    **{f"window {name}": make(300) for name, make in WINDOWS.items()},
}


@pytest.mark.parametrize("name", VARIANCES)
def test_a_variance_beside_a_large_mean_keeps_its_digits(name: str) -> None:
    program = ot.Program(y=x[VARIANCES[name]].var(0))
    given = (1000.0 + np.random.default_rng(0).normal(size=700)).astype("float32")
    exact = program.interpret(x=given.astype("float64"))["y"]
    found = program.compile(hints={"T": 100_000})(x=given)["y"]
    np.testing.assert_allclose(found, exact, rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize("side", WINDOWS)
def test_long_windows_take_a_few_steps_more_than_short_ones(side: str) -> None:
    short, long = (price(x[WINDOWS[side](n)].max(0), 100_000) for n in (1000, 16_000))
    assert long < 2 * short


def sliding(name: str, part: slice) -> ot.Tensor:
    """Softmax-weighted sums of a window."""
    match name:
        case "logsumexp":
            return ot.logsumexp(v[part], 0)
        case "mean":
            return (x[part] * ot.softmax(logit[part], 0)).sum(0)
        case _:
            return ot.softmax(logit[part], 0) @ v[part]


@pytest.mark.parametrize(
    ("name", "side"), [("logsumexp", "coming"), ("mean", "past"), ("vectors", "coming")]
)
def test_a_softmax_over_a_sliding_window_is_joined_from_halves(name: str, side: str) -> None:
    short, long = (price(sliding(name, WINDOWS[side](n)), 100_000) for n in (1000, 16_000))
    assert long < 2 * short


@pytest.mark.parametrize("special", [False, True], ids=["numbers", "infinities"])
@pytest.mark.parametrize("name", ["mean", "vectors"])
def test_a_compiled_softmax_over_windows_agrees(name: str, special: bool) -> None:
    side = "coming" if special else "past"
    program = ot.Program(y=sliding(name, WINDOWS[side](33)), z=sliding(name, WINDOWS[side](8)))
    given = arguments(program, special)
    with np.errstate(all="ignore"):
        expected = program.interpret(**given)
        found = program.compile(hints={"T": 100_000})(**given)
    for each in "yz":
        np.testing.assert_allclose(found[each], expected[each], rtol=1e-4, atol=1e-5)


def n_step(n: int) -> ot.Tensor:
    """The discounted rewards of n steps, and the discounted value behind them."""
    reward, end = x[t : ot.minimum(t + n, t.size)], ot.minimum(t + n, t.size - 1)
    steps = ot.arange(reward.shape[0]).cast("float32")
    behind = ot.where(ot.index(t) + n < t.size, 0.99**n * g[end], 0.0)
    return (0.99**steps * reward).sum(0) + behind


def test_returns_of_many_steps_take_a_few_steps_more_than_of_few() -> None:
    short, long = (price(n_step(n), 100_000) for n in (1000, 16_000))
    assert long < 2 * short


@pytest.mark.parametrize("steps", [1, 7, 64, 300])
def test_compiled_returns_of_n_steps_agree_with_the_interpreter(steps: int) -> None:
    program = ot.Program(y=n_step(steps))
    rng = np.random.default_rng(steps)
    given = {name: rng.normal(size=400).astype("float32") for name in ("x", "g")}
    found = program.compile(hints={"T": 100_000})(**given)["y"]
    np.testing.assert_allclose(found, program.interpret(**given)["y"], rtol=1e-4, atol=1e-4)


def test_large_logits_do_not_overflow_the_online_form() -> None:
    program = ot.Program(y=FORMS["softmax mean"])
    given = {
        "logit": np.linspace(-1e4, 1e4, T, dtype="float32"),
        "x": np.arange(T, dtype="float32"),
    }
    found = program.compile(hints={"T": 4096})(**given)["y"]
    np.testing.assert_allclose(found, np.arange(T), rtol=1e-6)

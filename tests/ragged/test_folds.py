"""Folds of slices of ragged episodes equal loops over true lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from tests.ragged.episodes import PATTERNS, Array, draws, each, episodes, lengths, padded, spoiled

Fold = Callable[[ot.Tensor], ot.Tensor]


def log_sum(row: Array) -> Any:
    return np.log(np.exp(row).sum())


FOLDS: dict[str, tuple[Fold, Callable[[Array], Any]]] = {
    "sum": (lambda x: x.sum(), np.sum),
    "mean": (lambda x: x.mean(), np.mean),
    "prod": (lambda x: x.prod(), np.prod),
    "max": (lambda x: x.max(), np.max),
    "min": (lambda x: x.min(), np.min),
    "argmax": (lambda x: x.argmax(0), np.argmax),
    "argmin": (lambda x: x.argmin(), np.argmin),
    "var": (lambda x: x.var(), np.var),
    "std": (lambda x: x.std(), np.std),
    "any": (lambda x: (x > 0.5).any(), lambda row: (row > 0.5).any()),
    "all": (lambda x: (x > -0.5).all(), lambda row: (row > -0.5).all()),
    "both": (
        lambda x: ((x > -0.5) & ~(x > 0.5)).sum(),
        lambda row: ((row > -0.5) & ~(row > 0.5)).sum(),
    ),
    "either": (lambda x: ((x > 0.5) | (x < 0)).all(), lambda r: ((r > 0.5) | (r < 0)).all()),
    "bits": (
        lambda x: ((10 * x).cast("int32") & 3).max(),
        lambda row: ((10 * row).astype("int32") & 3).max(),
    ),
    "count": (lambda x: (x > 0).sum(), lambda row: (row > 0).sum()),
    "logsumexp": (lambda x: ot.logsumexp(x), log_sum),
    "of logarithms": (lambda x: ot.log(x * x).sum(), lambda row: np.log(row * row).sum()),
    "of quotients": (lambda x: (1 / x).max(), lambda row: (1 / row).max()),
    "of exponentials": (lambda x: ot.exp(x).mean(), lambda row: np.exp(row).mean()),
    "dot": (lambda x: x @ x, lambda row: row @ row),
}


def run(done: Array, x: Array, make: Callable[[ot.Tensor, Any, Any], dict[str, ot.Tensor]]) -> Any:
    """The outputs of a program of ``x``, interpreted, and equal when compiled."""
    b, t = ot.dims("b t")
    ends = ot.input("ends", dtype="bool", over=(b, t))
    value = ot.input("value", over=(b, t))
    ot.stop(t, when=ends)
    program = ot.Program(**make(value, b, t))
    found = program.interpret(ends=done, value=x)
    machine = program.compile()(ends=done, value=x)
    for name, array in found.items():
        np.testing.assert_allclose(machine[name], array, rtol=1e-5, atol=1e-6, err_msg=name)
    for name, array in found.lengths.items():
        np.testing.assert_array_equal(machine.lengths[name], array)
    return found


@pytest.mark.parametrize("pattern", PATTERNS)
def test_folds_of_an_episode_see_its_steps_only(pattern: str) -> None:
    done = PATTERNS[pattern]
    x = draws(done)
    found = run(
        done,
        spoiled(x, done),
        lambda v, b, t: {f"f{k}": fold(v[b, :]) for k, (fold, _) in enumerate(FOLDS.values())},
    )
    for k, (name, (_, by_hand)) in enumerate(FOLDS.items()):
        expected = each(episodes(x, done), by_hand)
        np.testing.assert_allclose(found[f"f{k}"], expected, 1e-4, 1e-5, err_msg=name)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("garbage", [np.nan, np.inf, -np.inf])
def test_what_is_left_of_an_episode_ends_with_it(pattern: str, garbage: float) -> None:
    done = PATTERNS[pattern]
    x = draws(done)
    found = run(
        done,
        spoiled(x, done, garbage),
        lambda v, b, t: {
            "rest": v[b, t:].sum(0),
            "best": v[b, t:].max(0),
            "discounted": ot.discounted_sum(v[b, t:], 0.5),
            "growing": ot.discounted_sum(v[b, t:], 1.5),
        },
    )
    rows = episodes(x, done)
    size = done.shape[1]

    def suffixes(fn: Callable[[Array], Any]) -> Array:
        return padded([np.array([fn(r[k:]) for k in range(len(r))]) for r in rows], size)

    np.testing.assert_allclose(found["rest"], suffixes(np.sum), 1e-4, 1e-5)
    np.testing.assert_allclose(found["best"], suffixes(np.max), 1e-4, 1e-5)
    for name, gamma in (("discounted", 0.5), ("growing", 1.5)):
        expected = suffixes(lambda r, g=gamma: (r * g ** np.arange(len(r))).sum())  # type: ignore[misc]
        np.testing.assert_allclose(found[name], expected, 1e-4, 1e-5)
    assert found.lengths["rest"].tolist() == lengths(done)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_folds_over_episodes_and_steps_count_live_steps(pattern: str) -> None:
    done = PATTERNS[pattern]
    x = draws(done)
    found = run(
        done,
        spoiled(x, done),
        lambda v, b, t: {
            "mean": v[:, :].mean(),
            "flat": v[:, :].reshape(-1).var(),
            "of_means": v[:, :].mean(1).mean(),
            "column_means": v[:, :].mean(0),
            "at_a_step": v[:, t].mean(),
        },
    )
    rows = episodes(x, done)
    joined = np.concatenate(rows)
    columns = [np.mean([r[k] for r in rows if k < len(r)]) for k in range(max(map(len, rows)))]
    expected = padded([np.array(columns, "float32")], done.shape[1])[0]
    np.testing.assert_allclose(found["mean"], joined.mean(), 1e-4, 1e-5)
    np.testing.assert_allclose(found["flat"], joined.var(), 1e-4, 1e-5)
    np.testing.assert_allclose(found["of_means"], np.mean([r.mean() for r in rows]), 1e-4, 1e-5)
    np.testing.assert_allclose(found["column_means"], expected, 1e-4, 1e-5)
    assert found.lengths["column_means"] == len(columns)
    np.testing.assert_allclose(found["at_a_step"][: len(columns)], columns, 1e-4, 1e-5)


def test_the_largest_of_equal_infinities_is_a_live_one() -> None:
    done = np.array([[0, 1, 0]], bool)
    x = np.full((1, 3), -np.inf, "float32")
    found = run(done, x, lambda v, b, t: {"at": ot.flip(v[b, :], 0).argmax(0)})
    assert found["at"].tolist() == [1]


def test_the_first_of_live_nans_is_the_largest_and_the_least() -> None:
    done = np.array([[0, 0, 1, 0]], bool)
    x = np.array([[5.0, np.nan, np.nan, 7.0]], "float32")
    found = run(done, x, lambda v, b, t: {"at": v[b, :].argmax(0), "least": v[b, :].argmin(0)})
    assert (found["at"].tolist(), found["least"].tolist()) == ([1], [1])


def test_the_largest_of_no_steps_is_at_0() -> None:
    done = np.array([[0, 1, 0], [0, 0, 0]], bool)
    x = np.array([[1.0, 2.0, 5.0], [1.0, 2.0, 5.0]], "float32")
    found = run(
        done, x, lambda v, b, t: {"none": v[b, t.size :].argmax(0), "rest": v[b, t:].argmin(0)}
    )
    assert found["none"].tolist() == [0, 0]
    assert found["rest"].tolist() == [[0, 0, 0], [0, 0, 0]]


def test_probabilities_of_an_episode_add_up_to_one() -> None:
    done = PATTERNS["mixed"]
    x = draws(done)
    found = run(
        done,
        spoiled(x, done),
        lambda v, b, t: {"p": ot.softmax(v[b, :]), "log_p": ot.log_softmax(v[b, :])},
    )
    rows = episodes(x, done)
    expected = padded([np.exp(r) / np.exp(r).sum() for r in rows], 4)
    np.testing.assert_allclose(found["p"], expected, 1e-5)
    logs = padded([r - np.log(np.exp(r).sum()) for r in rows], 4)
    np.testing.assert_allclose(found["log_p"], logs, 1e-5, 1e-6)
    assert found.lengths["p"].tolist() == lengths(done)


@pytest.mark.parametrize(
    ("factor", "rule"),
    [(0.9, "decaying-sum"), (1.1, "decay-where"), (None, "")],
)
def test_returns_of_ragged_episodes_are_one_backward_pass(factor: float | None, rule: str) -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    gamma: Any = ot.input("gamma") if factor is None else factor
    ot.stop(t, when=x < 0)
    run = ot.Program(G=ot.discounted_sum(x[b, t:], gamma)).compile()
    fired = run.explain().rules
    if rule:
        assert fired[f"incremental/{rule}"] > 0
    else:  # an input may be infinite
        assert not fired.get("incremental/decay-where")
    given = {"gamma": 4.0} if factor is None else {}
    found = run(x=[[1, -1, *[np.nan] * 200], [2, 3, -1, *[np.inf] * 199]], **given)["G"]
    g = given.get("gamma", factor)
    assert g is not None
    np.testing.assert_allclose(found[:, 0], [1 - g, 2 + 3 * g - g * g], 1e-5)
